"""The outer proof: whole commands, killed or refused by the kernel at their n-th system call of a kind."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.toy import Ended, Toy

STRACE = shutil.which("strace")
CALLS = (
    "write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,"
    "mkdir,mkdirat,symlink,symlinkat"
)
SAMPLES = 5
"""Moments of each command in CI; the nightly task takes all."""


def _works() -> bool:
    if STRACE is None:
        return False
    ended = subprocess.run([STRACE, "-o", os.devnull, "true"], capture_output=True, check=False)
    return ended.returncode == 0


pytestmark = pytest.mark.skipif(not _works(), reason="needs strace, and leave to trace")


def script(what: str, number: int, trace: Path, calls: str) -> list[str]:
    """strace with one fault, at the n-th of these calls in the main process's files (not its pipes)."""
    assert STRACE is not None
    return [
        STRACE,
        "-f",
        "-qq",
        "-o",
        str(trace),
        "-e",
        f"trace={calls}",
        "-e",
        f"inject={calls}:{what}:when={number}",
    ]


def _made(folder: Path, command: str) -> Toy:
    """A toy in the state in which the command has work to do."""
    toy = Toy(folder).make().graphs()
    if command != "snapshot":
        toy.snapshot("--archive")
    if command in ("gc", "load"):
        toy.run("cache", "save", toy.lock)
    if command == "gc":
        for number in range(3):
            _put(toy, f"garbage {number}".encode())
    return toy


def _put(toy: Toy, content: bytes) -> None:
    program = "import sys; from pathlib import Path; from envguard.adapters.store import DirectoryStore\n"
    program += "DirectoryStore(Path(sys.argv[1])).put(sys.argv[2].encode())"
    subprocess.run([sys.executable, "-c", program, toy.store, content.decode()], check=True, timeout=60)


COMMANDS: dict[str, tuple[str, ...]] = {
    "snapshot": ("snapshot", "-o", "lockfiles/good.toml", "--offline", "--archive"),
    "gc": ("store", "gc", "--grace", "0s"),
    "load": ("cache", "load", "lockfiles/good.toml", "--trust-cache"),
    "save": ("cache", "save", "lockfiles/good.toml"),
}


class Scene:
    """A template that each fault gets a copy of."""

    def __init__(self, folder: Path, command: str) -> None:
        self.command = COMMANDS[command]
        self.folder = folder
        self.place, self.template = folder / "place", folder / "template"
        _made(self.place, command)
        shutil.copytree(self.place, self.template, symlinks=True)

    def fresh(self) -> Toy:
        """In one place always, since scripts hold their paths."""
        if self.place.exists():
            shutil.rmtree(self.place)
        shutil.copytree(self.template, self.place, symlinks=True)
        return Toy(self.place)

    def made(self, calls: str = CALLS) -> int:
        """How many of the calls the command makes."""
        toy, trace = self.fresh(), self.folder / "trace"
        assert STRACE is not None
        toy.run(*self.command, under=[STRACE, "-f", "-qq", "-o", str(trace), "-e", f"trace={calls}"])
        return sum(1 for line in trace.read_text(errors="replace").splitlines() if "(" in line)

    def hurt(self, what: str, number: int, calls: str = CALLS) -> tuple[Toy, Ended, bool]:
        """The command with a fault; whether it fired, by strace's own word."""
        toy, trace = self.fresh(), self.folder / "trace"
        trace.unlink(missing_ok=True)
        ended = toy.run(*self.command, under=script(what, number, trace, calls), code=None)
        text = trace.read_text(errors="replace")
        return toy, ended, "(INJECTED)" in text or "killed by SIGKILL" in text


@pytest.fixture(scope="module", params=list(COMMANDS))
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp(f"killed-{request.param}"), request.param)
    yield made
    shutil.rmtree(made.folder, ignore_errors=True)


def check(scene: Scene, toy: Toy) -> None:
    """I1, I2, I3 at once; then I5 and I6: the same command succeeds."""
    assert toy.damaged() == []
    if toy.lock.exists():
        toy.run("verify", toy.lock, "--metadata", code=0)
        if scene.command[:2] != ("cache", "save"):
            toy.check()
    toy.run(*scene.command)
    toy.check()
    toy.run("verify", toy.lock)
    entries = list((toy.data / "caches").rglob("entry"))
    assert all(entry.stat().st_size for entry in entries)


def _killed(scene: Scene, step: int) -> None:
    total = scene.made()
    assert total >= 8
    fired = 0
    for number in range(1, total + 1, step):
        toy, ended, hit = scene.hurt("signal=SIGKILL", number)
        if not hit:  # threads and children come in another order each time, and may need fewer
            continue
        assert ended.code != 0
        fired += 1
        check(scene, toy)
    assert fired >= max(2, total // step // 3)


def test_killed_at_some_calls(scene: Scene) -> None:
    _killed(scene, max(1, scene.made() // SAMPLES))


@pytest.mark.nightly
def test_killed_at_every_call(scene: Scene) -> None:
    _killed(scene, 1)


REFUSALS = [
    (errno.ENOSPC, "fsync"),
    (errno.EIO, "fsync"),
    (errno.EACCES, "mkdir,mkdirat"),
    (errno.EROFS, "rename,renameat,renameat2"),
    (errno.EDQUOT, "fchmod,fsync"),
]


def _refused(scene: Scene, number: int, calls: str, steps: list[int]) -> None:
    fired = 0
    for step in steps:
        toy, ended, hit = scene.hurt(f"error={errno.errorcode[number]}", step, calls)
        if not hit:
            continue
        fired += 1
        assert "Traceback" not in ended.whole, ended.whole
        assert ended.code in (0, 3), (ended.code, ended.whole)
        if ended.code == 3:
            assert "error[" in ended.err
        check(scene, toy)
    made = scene.made(calls)
    assert fired >= min(1, made), "no fault fired"


@pytest.mark.parametrize(("number", "calls"), REFUSALS, ids=[errno.errorcode[number] for number, _ in REFUSALS])
def test_refused_once(scene: Scene, number: int, calls: str) -> None:
    """A call that fails once: in words and with exit 3, or done without it."""
    _refused(scene, number, calls, [1, 3])


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "calls"), REFUSALS, ids=[errno.errorcode[number] for number, _ in REFUSALS])
def test_refused_at_every_call(scene: Scene, number: int, calls: str) -> None:
    _refused(scene, number, calls, list(range(1, 40)))
