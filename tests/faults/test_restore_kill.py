"""A restore that is killed: the old environment works, nothing lives on, and the same command succeeds."""

from __future__ import annotations

import itertools
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters import in_use, process
from envguard.adapters.environments import EnvironmentFolders
from envguard.adapters.uv import Uv
from envguard.errors import InstallFailedError
from envguard.model.digest import Digest
from envguard.model.drift import Outcome
from envguard.model.lock import Lock
from envguard.model.policy import Policy
from envguard.model.target import Target
from envguard.operations.prove import prove
from tests.fakes.restoring import ThisPython, World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux"),
]

MOMENTS = 20


class Scene:
    """A target that leads to an old environment, and a restore of a newer lock that is to be killed."""

    def __init__(self, root: Path) -> None:
        self.world = World(root)
        self.target = root / ".venv"
        self.old = self._lock("1.0")
        self.new = self._lock("2.0")
        environment = self.world.restore(self.old, self.target).environment
        assert environment is not None
        self.first = environment
        self.before = tree(environment)

    def _lock(self, version: str) -> Lock:
        modules = {f"demo/part{number}.py": f"VALUE = {number}\n" * 50 for number in range(40)}
        files = {"demo/__init__.py": f"VERSION = {version!r}\n", **modules}
        wheels = [self.world.wheel("demo", version, files=files), self.world.wheel("other", version)]
        self.world.serve(wheels)
        return self.world.lock(wheels)

    def restore(self, **changes: Any) -> None:
        """The command that is killed, and then given again."""
        result = self.world.restore(self.new, self.target, **changes)
        assert result.environment is not None

    def check(self) -> None:
        """What must hold after every kill."""
        self._nothing_lives_on()
        assert tree(self.first) == self.before, "the old environment was touched"
        locks = {"1.0": self.old, "2.0": self.new}
        environments = [self.target, *(entry.folder for entry in self.world.environments.restored())]
        for environment in environments:
            (module,) = environment.glob("lib/*/site-packages/demo/__init__.py")
            version = module.read_text().split("'")[1]
            assert self._proven(locks[version], environment), environment
        assert self.first in environments

    def again(self) -> None:
        """The same command succeeds, and leaves nothing of the killed one."""
        self.restore()
        assert "2.0" in next(self.target.glob("lib/*/site-packages/demo/__init__.py")).read_text()
        assert [name for name in self.world.left() if name.startswith(".")] == []
        self.check()

    def back(self) -> None:
        """As before the kill, for the next."""
        self.world.environments.switch(self.first, self.target)
        for entry in self.world.environments.restored():
            if entry.folder != self.first:
                shutil.rmtree(entry.folder)
        shutil.rmtree(self.world.folder / ".wheels", ignore_errors=True)

    def _proven(self, lock: Lock, environment: Path) -> bool:
        proof = prove(
            lock,
            Target(environment / "bin" / "python", "test"),
            left_out=frozenset(),
            policy=Policy(),
            today=date(2026, 11, 29),
            prober=self.world.prober,
            store=self.world.store,
            progress=self.world.progress,
        )
        return proof.report.outcome is Outcome.MATCH

    def _nothing_lives_on(self) -> None:
        """A child of a child may need an instant to notice."""
        end = time.monotonic() + 5
        while users := [user for path in self.world.folder.glob(".attempt-*") for user in in_use.occupants(path)]:
            assert time.monotonic() < end, f"still there: {users}"
            time.sleep(0.01)


def tree(folder: Path) -> Digest:
    """Names, kinds, modes and bytes of everything in a folder."""
    seen = []
    for path in sorted(folder.rglob("*")):
        content = (
            str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        )
        seen.append((str(path.relative_to(folder)), path.lstat().st_mode, Digest.of(content)))
    return Digest.of(repr(seen).encode())


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def forked(act: Callable[[], object]) -> int:
    """A child that does it, silently, and ends: its process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    """A child's exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_killed_at_moments_spread_over_its_duration(scene: Scene) -> None:
    started = time.monotonic()
    assert ended(forked(scene.restore)) == 0
    duration = time.monotonic() - started
    scene.check()
    scene.back()
    fired = 0
    for moment in range(MOMENTS):
        pid = forked(scene.restore)
        time.sleep(duration * (moment + 0.5) / MOMENTS)
        os.kill(pid, signal.SIGKILL)
        fired += ended(pid) == -signal.SIGKILL
        scene.check()
        scene.again()
        scene.back()
    assert fired >= MOMENTS // 2


class Sweep:
    """Kills its own process before or after the N-th thing that a restore does to the disk or to a child."""

    WATCHED = (
        *((Path, name) for name in ("rename", "replace", "symlink_to", "unlink", "mkdir", "write_bytes")),
        (shutil, "rmtree"),
        (os, "fsync"),
        (process, "run"),
    )

    def __init__(self, kill_at: int | None) -> None:
        self.kill_at = kill_at
        self.count = 0

    def install(self) -> None:
        for owner, name in self.WATCHED:
            setattr(owner, name, self._watched(getattr(owner, name)))

    def _watched(self, whole: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._event()
            result = whole(*arguments, **named)
            self._event()
            return result

        return call

    def _event(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def swept(scene: Scene, kill_at: int) -> int:
    def act() -> None:
        Sweep(kill_at).install()
        scene.restore()

    return ended(forked(act))


def test_killed_before_and_after_every_step_on_disk(scene: Scene) -> None:
    """Odd numbers: before a step, or after the one before it, which is the same to a disk."""
    fired = 0
    for number in itertools.count(1, 2):
        scene.back()
        if swept(scene, number) != -signal.SIGKILL:
            break
        fired += 1
        scene.check()
        if fired % 4 == 0:
            scene.again()
    assert fired > 20, "a restore does more than that"
    scene.again()


class Writing(ThisPython):
    """A uv that never stops writing into the environment that it was given."""

    SCRIPT = """#!/bin/sh
case "$*" in
*sync*) while :; do echo x >> "{sign}"; sleep 0.01; done ;;
*) exec "{uv}" "$@" ;;
esac
"""

    def __init__(self, folder: Path) -> None:
        self.sign = folder / "writing"
        program = folder / "uv"
        program.write_text(self.SCRIPT.format(sign=self.sign, uv=Uv()._found()))
        program.chmod(0o755)
        super().__init__(program)


def test_killed_while_uv_writes(scene: Scene, tmp_path: Path) -> None:
    installer = Writing(tmp_path)
    pid = forked(lambda: scene.restore(installer=installer))
    end = time.monotonic() + 30
    while not installer.sign.exists():
        assert time.monotonic() < end, "uv never began"
        time.sleep(0.01)
    attempts = [user for path in scene.world.folder.glob(".attempt-*") for user in in_use.occupants(path)]
    assert attempts, "uv is not seen while it works: the next check would prove nothing"
    os.kill(pid, signal.SIGKILL)
    assert ended(pid) == -signal.SIGKILL
    scene.check()
    size = installer.sign.stat().st_size
    time.sleep(0.1)
    assert installer.sign.stat().st_size == size, "uv still writes"
    scene.again()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_stopped_by_a_signal_while_uv_writes(scene: Scene, tmp_path: Path, number: int) -> None:
    installer = Writing(tmp_path)

    def act() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        scene.restore(installer=installer)

    pid = forked(act)
    while not installer.sign.exists():
        time.sleep(0.01)
    os.kill(pid, number)
    assert ended(pid) != 0
    scene.check()
    if number == signal.SIGINT:
        assert scene.world.left() == sorted([scene.first.name, ".wheels"]), "an interrupted attempt cleans up"
    scene.again()


def test_two_at_once_both_succeed_one_after_the_other(scene: Scene, tmp_path: Path) -> None:
    scene.world.environments = EnvironmentFolders(scene.world.folder.parent, wait=120.0)
    children = [forked(scene.restore) for _ in range(2)]
    assert [ended(pid) for pid in children] == [0, 0]
    scene.check()
    made = [entry.folder for entry in scene.world.environments.restored()]
    assert len(made) == 3
    assert scene.target.readlink() in made
    assert [name for name in scene.world.left() if name.startswith(".")] == []


def test_a_disk_that_is_full_is_told_and_changes_nothing(scene: Scene) -> None:
    """A limit on the size of files stands for it: the first large file of a wheel can't be written."""

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        with pytest.raises(InstallFailedError):
            scene.restore()

    assert ended(forked(act)) == 0
    scene.check()
    assert scene.target.readlink() == scene.first
    scene.again()
