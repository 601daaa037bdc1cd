"""Rehearsals in real processes: a small fake target for what goes wrong, the real torch for the race."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from envguard.adapters.rehearser import TargetRehearser
from envguard.model.rehearsal import Actor, Outcome, Part, Pass, Rehearsal, Schedule
from envguard.model.target import Target
from envguard.model.warmup import FlexAttention
from envguard.operations.rehearse import rehearse
from envguard.planning.rehearsal import actors_of

SMALL = FlexAttention(lengths=(128,), heads=2, head_size=32, dtype="float32")
UNMASK = """
import sys
if any("rehearse" in word for word in sys.orig_argv):
    import contextlib, torch
    torch.compiler._compile_session_context = lambda *a, **k: contextlib.nullcontext()
"""
"""What 2.13 does to hide the flag is taken away, so that the flag is as 2.9 to 2.12 have it."""
HANG = """
import sys
if any("rehearse" in word for word in sys.orig_argv):
    import threading, torch
    compiled = torch.compile
    def compile(function, **named):
        real = compiled(function, **named)
        def call(*arguments, **more):
            if threading.current_thread().name == "drafter-0":
                threading.Event().wait()
            return real(*arguments, **more)
        return call
    torch.compile = compile
"""


class Quiet:
    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None: ...


def environ(folder: Path, startup: str = "") -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("ENVGUARD_", "COV_", "TORCH"))
    }
    (folder / "sitecustomize.py").write_text(startup)
    return {**kept, "PYTHONPATH": str(folder)}


def script(folder: Path, text: str) -> Target:
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return Target(file, "named")


def part(target: Target, folder: Path, **changes: object) -> Part:
    schedule = Schedule(actors_of("1t1d", ["cpu"]), SMALL, deadline=0.2)
    return Part(target, replace(schedule, **changes), str(folder), False)  # type: ignore[arg-type]


class TestWhatGoesWrong:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            pytest.param("exit 3", "ended without a word (exit 3): it said nothing", id="silent"),
            pytest.param("echo no torch >&2; exit 1", "ended without a word (exit 1): no torch", id="told"),
            pytest.param('echo "$2{}$3"', "the rehearsal's answer can't be read", id="garbled"),
            pytest.param('echo "$2"', "ended without a word (exit 0)", id="half"),
        ],
    )
    def test_is_said(self, tmp_path: Path, text: str, said: str) -> None:
        target = script(tmp_path, text)

        (answer,) = TargetRehearser(environ(tmp_path), tmp_path).run([part(target, tmp_path)])

        assert isinstance(answer, str) and said in answer

    def test_a_target_that_is_no_program(self, tmp_path: Path) -> None:
        target = Target(tmp_path / "missing", "named")

        (answer,) = TargetRehearser(environ(tmp_path), tmp_path).run([part(target, tmp_path)])

        assert answer == "the target can't be started: No such file or directory"

    def test_a_process_that_never_answers_is_ended_and_counts_as_hung(self, tmp_path: Path) -> None:
        target = script(tmp_path, "echo stuck in C >&2; exec sleep 1000")
        rehearser = TargetRehearser(environ(tmp_path), tmp_path, start=-29.0)

        (answer,) = rehearser.run([part(target, tmp_path)])

        assert isinstance(answer, Pass)
        assert answer.hung == "the whole process" and answer.stacks == "stuck in C\n"

    def test_a_python_without_torch(self, tmp_path: Path) -> None:
        target = Target(Path(sys.executable), "named")

        (answer,) = TargetRehearser(environ(tmp_path), tmp_path).run([part(target, tmp_path)])

        assert answer == "the rehearsal could not start: ModuleNotFoundError: No module named 'torch'"


class TestVariables:
    def told(self, tmp_path: Path, schedule: dict[str, object], **given: str) -> str:
        names = "$PYTHONPATH $ENVGUARD_GUARD $CUDA_VISIBLE_DEVICES $TORCHINDUCTOR_CACHE_DIR $ENVGUARD_RUN_LOG"
        target = script(tmp_path, f'echo "{names}" >&2; exit 1')
        rehearser = TargetRehearser({**environ(tmp_path), **given}, tmp_path)
        answer: Sequence[Pass | str] = rehearser.run([part(target, tmp_path / "cache", **schedule)])
        assert isinstance(answer[0], str)
        return answer[0]

    def test_the_guard_comes_first_and_what_the_job_had_after_it(self, tmp_path: Path) -> None:
        told = self.told(tmp_path, {}, ENVGUARD_RUN_LOG="elsewhere")

        assert f"runtime/site:{tmp_path} on" in told and f"{tmp_path}/cache/inductor" in told
        assert "elsewhere" not in told

    def test_without_the_guard_it_counts(self, tmp_path: Path) -> None:
        assert f"{tmp_path} observe" in self.told(tmp_path, {"guard": False})

    @pytest.mark.parametrize(
        ("visible", "shown"),
        [
            pytest.param({}, "1", id="plain"),
            pytest.param({"CUDA_VISIBLE_DEVICES": "6,7"}, "7", id="through-the-job-s"),
        ],
    )
    def test_a_process_sees_its_device_alone(self, tmp_path: Path, visible: dict[str, str], shown: str) -> None:
        alone = {"processes": True, "actors": (Actor("rank-1", "cuda:1"),)}

        assert f" on {shown} " in self.told(tmp_path, alone, **visible)


@pytest.mark.torch
@pytest.mark.slow
class TestRealTorch:
    def rehearsed(self, torch: Path, folder: Path, startup: str, **changes: object) -> Rehearsal:
        schedule = Schedule(actors_of("1t2d", ["cpu"]), SMALL, deadline=900.0)
        return rehearse(
            Target(torch / "bin" / "python", "named"),
            replace(schedule, **changes),  # type: ignore[arg-type]
            rehearser=TargetRehearser(environ(folder, startup), folder),
            progress=Quiet(),
        )

    @pytest.mark.nightly  # tests/runtime/test_real_torch.py shows the same race at every commit
    def test_without_the_guard_the_race_is_seen(self, torch_environment: Path, tmp_path: Path) -> None:
        rehearsed = self.rehearsed(torch_environment, tmp_path, UNMASK, guard=False)

        found = {verdict.hazard: verdict.outcome for verdict in rehearsed.verdicts}
        assert found["tracing-flag"] is Outcome.SEEN and rehearsed.exit_code == 1
        assert any("symbolically trace" in text for text in rehearsed.passes[0].errors)

    def test_with_it_nothing_is(self, torch_environment: Path, tmp_path: Path) -> None:
        rehearsed = self.rehearsed(torch_environment, tmp_path, UNMASK)

        assert rehearsed.exit_code == 0, rehearsed.verdicts
        cold, warm = rehearsed.passes
        assert cold.misses > 0 == warm.misses and warm.hits > 0 and cold.traces > 0 == warm.traces
        assert (cold.flag, cold.stuck, cold.dense, cold.errors) == ("guard", False, 0, {})

    def test_one_that_hangs_ends_at_its_deadline_with_the_stacks(
        self, torch_environment: Path, tmp_path: Path
    ) -> None:
        rehearsed = self.rehearsed(torch_environment, tmp_path, HANG, deadline=30.0)

        assert rehearsed.exit_code == 1 and len(rehearsed.passes) == 1
        assert rehearsed.passes[0].hung == "staggered starts"
        assert "sitecustomize.py" in rehearsed.passes[0].stacks
        assert rehearsed.verdicts[0].hazard == "shared-device"

    def test_a_device_that_is_not_there(self, torch_environment: Path, tmp_path: Path) -> None:
        target = Target(torch_environment / "bin" / "python", "named")
        missing = part(target, tmp_path, actors=(Actor("target-0", "cuda:99"),))

        (answer,) = TargetRehearser(environ(tmp_path), tmp_path).run([missing])

        assert answer == "there is no cuda:99"
