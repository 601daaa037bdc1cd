"""Real disks that are full, read-only or cut off, and real limits of a process. Mounts need root."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envguard.adapters.store import DirectoryStore
from envguard.model.digest import Digest
from tests.faults.toy import Toy, tree


def _mounts() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    ended = subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "x", "/mnt"], capture_output=True, check=False
    )
    return ended.returncode == 0


MOUNTS = _mounts()
needs_mounts = pytest.mark.skipif(not MOUNTS, reason="needs root, and leave to mount")


@contextlib.contextmanager
def mounted(*arguments: str | Path) -> Iterator[None]:
    subprocess.run(["mount", *map(str, arguments)], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(arguments[-1])], check=True)


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path / "toy").make().graphs()


@needs_mounts
@pytest.mark.parametrize("options", ["size=256k", "size=4m,nr_inodes=12"], ids=["no bytes left", "no inodes left"])
def test_a_disk_that_is_full(toy: Toy, options: str) -> None:
    toy.data.mkdir()
    with mounted("-t", "tmpfs", "-o", f"{options},mode=700", "tmpfs", toy.data):
        if "256k" in options:
            (toy.data / "ballast").write_bytes(b"x" * 200_000)
        ended = toy.run("snapshot", "-o", toy.lock, "--offline", "--archive", code=None)
        assert ended.code == 3, ended.whole
        assert "error[" in ended.err
        assert " free" in ended.err or "no room" in ended.err or "No space" in ended.err
        assert not toy.lock.exists()
        assert toy.damaged() == []
    toy.snapshot("--archive")
    toy.check()


@needs_mounts
def test_a_store_that_can_only_be_read(toy: Toy) -> None:
    toy.snapshot("--archive")
    toy.run("cache", "save", toy.lock)
    with mounted("--bind", toy.data, toy.data):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(toy.data)], check=True)
        before = tree(toy.data)
        toy.run("verify", toy.lock)
        toy.run("verify", toy.lock, "--full")
        toy.run("store", "check", toy.lock)
        toy.run("store", "ls")
        for command in (
            ("store", "gc", "--grace", "0s"),
            ("restore", toy.lock, "--target", toy.root / "x", "--offline"),
        ):
            ended = toy.run(*command, code=None)
            assert "Traceback" not in ended.whole
            assert ended.code == (3 if command[0] == "restore" else 0), ended.whole
        assert tree(toy.data) == before


@needs_mounts
def test_an_environment_that_can_only_be_read(toy: Toy) -> None:
    toy.snapshot()
    with mounted("--bind", toy.project, toy.project):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(toy.project)], check=True)
        toy.run("verify", toy.lock, "--full")
        ended = toy.run("snapshot", "-o", toy.project / "other.toml", "--offline", code=3)
        assert "Read-only" in ended.err


@needs_mounts
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="needs mkfs.ext4")
def test_a_power_cut_after_done_was_said(tmp_path: Path) -> None:
    """The image of a mounted ext4 is copied, which is a cut: all that was reported is on the copy."""
    image, there = tmp_path / "disk", tmp_path / "there"
    there.mkdir()
    with image.open("wb") as stream:
        stream.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True, capture_output=True)
    try:
        subprocess.run(["mount", "-o", "loop", image, there], check=True, capture_output=True)
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"loop devices can't be mounted: {problem.stderr.decode().strip()}")
    cut = tmp_path / "cut"
    try:
        there.chmod(0o700)
        store = DirectoryStore(there / "store")
        put = [store.put(b"object %d" % number * 500) for number in range(20)]
        (there / "never-synced").write_bytes(b"lost " * 5000)
        shutil.copyfile(image, cut)
    finally:
        subprocess.run(["umount", there], check=True)
    with mounted("-o", "loop", cut, there):
        again = DirectoryStore(there / "store")
        assert all(Digest.of(again.read(digest)) == digest for digest in put)
        lost = there / "never-synced"
        assert not lost.exists() or lost.stat().st_size == 0, "the cut lost nothing: nothing is proven"


LIMITS = {
    "files of 2 kB": (resource.RLIMIT_FSIZE, 2_000),
    "20 open files": (resource.RLIMIT_NOFILE, 20),
    "300 MB of memory": (resource.RLIMIT_AS, 300 << 20),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("command", ["snapshot", "verify", "gc", "load"])
def test_a_limit(toy: Toy, name: str, command: str) -> None:
    """Done, or said; never a traceback, and nothing damaged."""
    kind, size = LIMITS[name]
    if command != "snapshot":
        toy.snapshot("--archive")
        toy.run("cache", "save", toy.lock)
    commands = {
        "snapshot": ("snapshot", "-o", toy.lock, "--offline", "--archive"),
        "verify": ("verify", toy.lock, "--full"),
        "gc": ("store", "gc", "--grace", "0s"),
        "load": ("cache", "load", toy.lock, "--trust-cache"),
    }

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(kind, (size, size))

    ended = toy.run(*commands[command], code=None, before=limit)
    assert "Traceback" not in ended.whole, ended.whole
    assert ended.code in (0, 3), ended.whole
    assert toy.damaged() == []
    if command == "snapshot":
        toy.snapshot("--archive")
    toy.check()


@pytest.mark.parametrize("home", ["missing", "read-only", "a file"])
def test_a_home_that_is_no_use(toy: Toy, home: str) -> None:
    """With folders of its own named, none is needed."""
    place = toy.root / "home"
    if home == "a file":
        place.write_text("")
    elif home == "read-only":
        place.mkdir(mode=0o500)
    toy.variables["HOME"] = str(place)
    toy.snapshot()
    toy.run("verify", toy.lock)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a passwd entry")
def test_a_user_without_an_entry(toy: Toy) -> None:
    for path in [toy.root, *toy.root.rglob("*")]:
        os.chown(path, 54_321, 54_321, follow_symlinks=False)
    for above in [*toy.root.parents][:-2]:
        if not above.stat().st_mode & 0o001:
            pytest.skip(f"another user can't get to {above}")
    if not os.access(sys.executable, os.X_OK) or not _reachable(Path(sys.executable).resolve(), 54_321):
        pytest.skip("another user can't start this Python")
    toy.run("verify", "--help", before=lambda: os.setuid(54_321))
    toy.run("snapshot", "-o", toy.lock, "--offline", before=lambda: os.setuid(54_321))
    toy.run("verify", toy.lock, before=lambda: os.setuid(54_321))


def _reachable(path: Path, user: int) -> bool:
    ended = (
        subprocess.run([path, "-c", "import envguard"], preexec_fn=lambda: os.setuid(user), check=False)
        if all(above.stat().st_mode & 0o001 for above in path.parents)
        else None
    )
    return ended is not None and ended.returncode == 0
