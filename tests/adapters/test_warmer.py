"""Starts of a warmup: what they are told, what they tell, and that none outlives its deadline."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from envguard.adapters.warmer import TargetWarmer, _last_lines
from envguard.errors import WarmupFailedError
from envguard.model.cache_files import CachePlace
from envguard.model.target import Target
from envguard.model.warm_run import Ran, Start

KEY = "f" + "a" * 51
SLEEP = "import time; time.sleep(600)"
TRACE = f"""
import json, os
def trace(name, rank=None, **payload):
    head = {{"artifact": {{"name": name, "encoding": "json"}}}}
    if rank is not None: head["rank"] = rank
    line = "V1129 19:53:52.560000 1 torch/x.py:1] " + json.dumps(head) + "\\n"
    path = os.path.join(os.environ["TORCH_TRACE"], "dedicated_log_torch_trace_%d.log" % os.getpid())
    with open(path, "a") as stream: stream.write(line + "\\t" + json.dumps(payload) + "\\n")
KEY = "{KEY}"
"""


def start(tmp_path: Path, script: str, **more: object) -> Ran:
    file = tmp_path / "train.py"
    file.write_text(TRACE + script)
    place = CachePlace(tmp_path / "cache" / "inductor", tmp_path / "cache" / "triton")
    whole = {"command": (sys.executable, str(file)), "devices": ("cuda:1",), "deadline": 30, **more}
    target = Target(Path(sys.executable), "test")
    return TargetWarmer(os.environ, tmp_path, grace=1.0).run(Start(target, place, **whole))  # type: ignore[arg-type]


def test_what_a_process_looked_up(tmp_path: Path) -> None:
    seen = start(
        tmp_path,
        "trace('fx_graph_cache_miss', key=KEY)\ntrace('aotautograd_cache_bypass', cache_bypass_reason='DDP')\n",
    )
    assert seen.code == 0
    (process,) = seen.processes
    assert process.rank is None
    assert [(one.cache, one.state, one.key, one.reason) for one in process.lookups] == [
        ("fxgraph", "miss", f"fxgraph/{KEY}", None),
        ("aotautograd", "bypass", None, "DDP"),
    ]


def test_every_rank_is_seen_also_one_that_was_killed(tmp_path: Path) -> None:
    seen = start(
        tmp_path,
        "import signal\n"
        "for rank in (1, 0):\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        trace('fx_graph_cache_hit', rank=rank, key=KEY)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    os.waitpid(child, 0)\n",
    )
    assert [process.rank for process in seen.processes] == [0, 1]


def test_what_it_is_told(tmp_path: Path) -> None:
    names = (
        "ENVGUARD_DEVICE ENVGUARD_RANK ENVGUARD_COMPILE_CACHE_DIR TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR MORE"
    )
    script = f"for name in '{names}'.split(): print(os.environ[name])\n"
    seen = start(tmp_path, script, rank=3, variables={"MORE": "more", "TRITON_CACHE_DIR": "/tmp"})
    cache = tmp_path / "cache"
    assert seen.last_lines == (
        "cuda:1", "3", f"{cache}/inductor", f"{cache}/inductor", f"{cache}/triton", "more"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"failure": {"detail": "no cuda:9"}}', ("no cuda:9",)),
        ('{"failure": null}', ()),
        ('{"failure"', ("<a>", '{"failure"', "<b>")),
        ("[1]", ("<a>", "[1]", "<b>")),
        ('{"failure": {"other": 1}}', ("<a>", '{"failure": {"other": 1}}', "<b>")),
        ('{"failure": "text"}', ("<a>", '{"failure": "text"}', "<b>")),
    ],
)
def test_an_answer_that_was_torn_is_shown_as_it_came(
    tmp_path: Path, answer: str, expected: tuple[str, ...]
) -> None:
    (tmp_path / "marks").write_text('["<a>", "<b>"]')
    assert _last_lines(tmp_path, f"<a>\n{answer}\n<b>\n") == expected


def test_its_code_and_its_last_words(tmp_path: Path) -> None:
    seen = start(tmp_path, "print('one')\nraise SystemExit('no CUDA today')\n")
    assert (seen.code, seen.last_lines[-1]) == (1, "no CUDA today")


def test_dense_attention_is_heard(tmp_path: Path) -> None:
    seen = start(
        tmp_path, "import sys; sys.stderr.write('flex_attention called without torch.compile() - this')\n"
    )
    assert seen.warnings == ("attention ran dense: flex_attention was not compiled",)
    seen = start(tmp_path, "print('torch._dynamo hit config.recompile_limit (8)')\n")
    assert "recompile limit" in seen.warnings[0]


@pytest.mark.parametrize("stubborn", [False, True], ids=["polite", "stubborn"])
def test_a_run_that_never_ends(tmp_path: Path, stubborn: bool) -> None:
    """Its children go too, though they made a session of their own, as torchrun's workers do."""
    ignore = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if stubborn else ""
    script = (
        f"{ignore}import subprocess, sys, time\n"
        "trace('fx_graph_cache_miss', key=KEY)\n"
        f"code = {ignore + SLEEP!r}\n"
        "child = subprocess.Popen([sys.executable, '-c', code], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    began = time.monotonic()
    seen = start(tmp_path, script, deadline=2)
    assert time.monotonic() - began < 60
    assert seen.code is None
    assert len(seen.processes) == 1, "what it told before counts"
    pid = int((tmp_path / "pid").read_text())
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_child_that_was_left_behind_is_ended(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid))\n"
    )
    assert start(tmp_path, script).code == 0
    assert not _runs(int((tmp_path / "pid").read_text()))


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WarmupFailedError, match="can't be started: No such file"):
        start(tmp_path, "", command=("/nowhere/torchrun", "x"))


def test_the_scratch_folder_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    start(tmp_path, "trace('fx_graph_cache_miss', key=KEY)\n")
    assert list((tmp_path / "scratch").iterdir()) == []


class TestSteps:
    """A command that would go on is ended after K steps of its optimizer."""

    @pytest.fixture
    def torch(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A torch of which only the hook exists."""
        optim = tmp_path / "lib" / "torch" / "optim"
        optim.mkdir(parents=True)
        (optim.parent / "__init__.py").write_text(
            "class cuda:\n    is_available = staticmethod(lambda: False)\nfrom torch import optim\n"
        )
        (optim / "__init__.py").write_text("from torch.optim.optimizer import step\n")
        (optim / "optimizer.py").write_text(
            "hooks = []\nregister_optimizer_step_post_hook = hooks.append\n"
            "def step():\n    for hook in hooks: hook(None, (), {})\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))

    def test_it_ends_cleanly(self, tmp_path: Path, torch: None) -> None:
        script = (
            "import torch\n"
            "try:\n"
            "    for number in range(1000):\n"
            "        print('step', number)\n"
            "        torch.optim.step()\n"
            "finally:\n"
            "    print('cleaned up')\n"
        )
        seen = start(tmp_path, script, steps=3)
        assert seen.code == 0
        assert seen.last_lines == ("step 0", "step 1", "step 2", "cleaned up")

    def test_ranks_leave_together(self, tmp_path: Path, torch: None) -> None:
        """One that leaves early takes those down that still receive from it."""
        script = (
            "import torch\n"
            "class Group:\n"
            "    on = True\n"
            "    is_available = is_initialized = classmethod(lambda group: group.on)\n"
            "    barrier = staticmethod(lambda: print('barrier'))\n"
            "    destroy_process_group = staticmethod(lambda: print('left'))\n"
            "torch.distributed = Group\n"
            "try:\n"
            "    torch.optim.step()\n"
            "finally:\n"
            "    print('cleaned up')\n"
        )
        assert start(tmp_path, script, steps=1).last_lines == ("barrier", "cleaned up", "left")
        left_itself = start(tmp_path, script + "    Group.on = False\n", steps=1)
        assert left_itself.last_lines == ("barrier", "cleaned up")

    def test_without_steps_nothing_is_injected(self, tmp_path: Path, torch: None) -> None:
        seen = start(tmp_path, "import torch\nfor _ in range(9): torch.optim.step()\nprint('all')\n")
        assert seen.last_lines == ("all",)

    def test_the_environments_own_start_up_code_runs_too(self, tmp_path: Path, torch: None) -> None:
        (tmp_path / "lib" / "sitecustomize.py").write_text("import builtins\nbuiltins.MINE = 'mine'\n")
        seen = start(tmp_path, "print(MINE)\n", steps=3)
        assert seen.last_lines == ("mine",)
