"""The guard on a real torch, on the CPU; what 2.13 masks is unmasked by the program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.conftest import Ended, Programs

pytestmark = [pytest.mark.torch, pytest.mark.slow]

RACE = Path(__file__).parent / "programs" / "race.py"
NESTED = "FX to symbolically trace"
"""The race that is shown. Threads that compile at once without the guard may lose others of torch's too, by chance
(``envguard/runtime/marks.py`` has one), so nothing is said of other errors where there is no guard."""


def seen(ended: Ended) -> dict[str, Any]:
    """What the race program saw."""
    assert ended.code == 0, ended.err
    answer: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    return answer


@pytest.mark.parametrize(
    "run", [1, pytest.param(2, marks=pytest.mark.nightly), pytest.param(3, marks=pytest.mark.nightly)]
)
class TestRace:
    def test_without_the_guard_an_innocent_thread_fails(self, real: Programs, run: int) -> None:
        answer = seen(real.run(RACE, ENVGUARD_GUARD="off"))

        assert any(NESTED in error for error in answer["errors"])

    def test_with_it_none_does(self, real: Programs, run: int) -> None:
        ended = real.run(RACE)
        answer = seen(ended)

        assert (answer["errors"], answer["errors_after"], answer["flag"]) == ({}, {}, False)
        assert answer["calls"] > 100
        assert ended.log["guard"]["flag"] == "guard"
        assert all(ended.log["guard"]["followed"].values())
        assert (ended.log["totals"]["dense_calls"], ended.log["end"]["flag_stuck"]) == (0, False)
        assert ended.log["totals"]["fx_traces"] > 0
        assert {row["thread"] for row in ended.log["counts"]} == {"MainThread", "cold-0", "cold-1", "cold-2"}
        assert ended.log["hazards"] == []


class TestHiddenSetting:
    def test_without_the_guard_attention_runs_dense_and_nobody_says_so(self, real: Programs) -> None:
        ended = real.run(RACE, "soft", ENVGUARD_GUARD="observe")

        assert not any(NESTED in error for error in seen(ended)["errors"])
        assert ended.log["totals"]["dense_calls"] > 0
        assert "dangerous-setting" in {hazard["hazard"] for hazard in ended.log["hazards"]}

    def test_with_it_the_setting_is_refused_in_every_thread(self, real: Programs) -> None:
        ended = real.run(RACE, "soft")
        answer = seen(ended)

        assert sum(answer["errors"].values()) == 3
        assert all("error_on_nested_fx_trace = False is refused" in error for error in answer["errors"])
        assert (ended.log["totals"]["dense_calls"], answer["flag"]) == (0, False)


def test_the_guard_can_be_put_in_place_by_hand_after_a_compile(real: Programs) -> None:
    program = """
import torch
function = torch.compile(lambda x: torch.sin(x) * 2)
print(function(torch.ones(2)).shape)
from envguard.runtime import guard
with guard.first_step("cpu"): torch.compile(lambda x: x * 3)(torch.ones(2))
print(guard.report()["guard"]["flag"], guard.report()["totals"]["fx_traces"] > 0)
"""

    ended = real.run(program, PYTHONPATH=str(Path(__file__).parents[2]))

    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-1] == "guard True"


def test_a_flag_that_stuck_is_told_and_with_the_guard_does_no_harm(real: Programs) -> None:
    program = """
import contextlib, torch
import torch.fx._symbolic_trace as tracing
torch.compiler._compile_session_context = lambda *a, **k: contextlib.nullcontext()
function = torch.compile(lambda x: x * 2, backend="eager")
x = torch.ones(2)
function(x)
vars(tracing)["_is_fx_tracing_flag"] = True   # as interleaved threads leave it
try: print(function(x))
except RuntimeError as error: print(str(error)[:12])
from envguard.runtime import guard
try: guard.warm(); print("warm")
except guard.GuardRefusedError as error: print(error)
"""
    observed, guarded = real.run(program, ENVGUARD_GUARD="observe"), real.run(program)

    assert observed.out == "Detected tha\nwarm\n"
    assert observed.log["end"]["flag_stuck"] is True
    assert "sticky-flag" in {hazard["hazard"] for hazard in observed.log["hazards"]}
    assert guarded.out == "tensor([2., 2.])\nwarm\n"


STEP = """
import sys, torch
from envguard.runtime import guard
function = torch.compile(lambda x: torch.sin(x) * 2 + x)
def step(size):
    x = torch.randn(size, requires_grad=True)
    function(x).sum().backward()
with guard.first_step("cpu"): step(16)
guard.warm(sys.argv[1])
step(16)
try: step((4, 4))
except RuntimeError as error: print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "after",
    [
        "error",
        pytest.param("warning", marks=pytest.mark.nightly),
        pytest.param("count", marks=pytest.mark.nightly),
    ],
)
def test_a_compile_after_warm(real: Programs, after: str) -> None:
    ended = real.run(STEP, after)

    assert ended.code == 0, ended.err
    assert ("CompileAfterWarmError <lambda> (" in ended.out) == (after == "error")
    assert ("was compiled after guard.warm() (thread MainThread, device cpu)" in ended.err) == (after == "warning")
    assert ended.log["totals"]["compiles_after_warm"] >= 1
    assert ended.log["first_steps"]["passed"] == 1


def test_a_second_start_is_all_hits_and_the_cache_holds_nothing_of_ours(real: Programs) -> None:
    cold, warm = real.run(STEP, "count"), real.run(STEP, "count")

    assert (cold.log["totals"]["autograd_hits"], cold.log["totals"]["autograd_misses"]) == (0, 2)
    assert (warm.log["totals"]["autograd_hits"], warm.log["totals"]["autograd_misses"]) == (2, 0)
    assert warm.log["totals"]["fx_traces"] == 0 and warm.log["totals"]["compiles"] == 2
    entries = [path for path in Path(real.environ["TORCHINDUCTOR_CACHE_DIR"]).rglob("*") if path.is_file()]
    assert entries and not any(b"envguard" in path.read_bytes() for path in entries)


@pytest.mark.nightly
def test_keys_are_the_same_with_and_without_the_guard(real: Programs) -> None:
    plain = "import torch\nprint(torch.compile(lambda x: torch.sin(x) * 3)(torch.ones(8)).sum())\n" + (
        "from torch._dynamo.utils import counters\nprint(counters['aot_autograd']['autograd_cache_hit'])"
    )
    first, second = real.run(plain, ENVGUARD_GUARD="off"), real.run(plain)

    assert first.out.splitlines()[-1] == "0" and second.out.splitlines()[-1] == "1"


def test_dense_attention_is_an_error_though_the_warning_was_shown(real: Programs) -> None:
    ended = real.run(
        "import torch\nfrom envguard.runtime import guard\n"
        "from torch.nn.attention.flex_attention import flex_attention\nq = torch.randn(1, 2, 64, 32)\n"
        "with guard.dense(): flex_attention(q, q, q)\n"
        "try: flex_attention(q, q, q)\nexcept guard.DenseAttentionError as error: print(error)\n"
        "print(torch.compile(flex_attention)(q, q, q).shape)\n"
    )

    assert ended.code == 0, ended.err
    assert "ran without torch.compile (thread MainThread, device cpu): its scores 1 × 2 × 64 × 64" in ended.out
    assert ended.out.endswith("torch.Size([1, 2, 64, 32])\n")
    assert ended.log["totals"]["dense_calls"] == 2


def test_torchrun(real: Programs) -> None:
    program = real.folder / "train.py"
    program.write_text(
        "import os, sys, torch, torch.distributed as dist\nfrom envguard.runtime import guard\n"
        "dist.init_process_group('gloo')\n"
        "function = torch.compile(lambda x: x * 2, backend='eager')\nfunction(torch.ones(2))\n"
        "guard.warm()\nguard.step(10); guard.step(10)\ndist.destroy_process_group()\n"
        "sys.exit(0)\n"
    )

    ended = subprocess.run(
        [real.python, "-B", "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", program],
        capture_output=True, text=True, env=real.variables(OMP_NUM_THREADS="1"), cwd=real.folder, check=False,
        timeout=240,
    )  # fmt: skip

    assert ended.returncode == 0, ended.stderr
    logs = real.logs()
    found = sorted(f"{log['process']['role']} {log['process']['rank']}" for log in logs)
    assert found == ["launcher None", "run 0", "run 1"]
    assert all(log["totals"]["compiles"] == 1 for log in logs if log["process"]["role"] == "run")
