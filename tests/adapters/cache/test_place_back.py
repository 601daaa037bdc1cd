"""A cache is put back: whole or not at all, private, and nothing that was there is lost."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from envguard.adapters.cache import place_back
from envguard.adapters.cache.folders import CacheFolders, beside
from envguard.adapters.store import DirectoryStore
from envguard.errors import CacheUnsafeError, EnvguardError, InUseError, StoreError
from envguard.model.cache_files import CachedFile, PutBack
from envguard.model.digest import Digest
from tests.adapters.cache.world import autograd_key, graph_key, triton_key
from tests.repositories import run as git

GROUP = f"triton/{triton_key(1)}/__grp__k.json"
CONTENT = {
    f"fxgraph/{graph_key(1)[1:3]}/{graph_key(1)}/entry": b"graph.",
    f"aotautograd/{autograd_key(1)}/entry": b"autograd.",
    "ab/c" + "a" * 51 + ".so": b"\x7fELF",
    GROUP: b'{"child_paths":{"k.cubin":"k.cubin"}}',
    f"triton/{triton_key(1)}/k.cubin": b"cubin",
}
FILES = [
    CachedFile(path, Digest.of(content), len(content), path.endswith(".so"))
    for path, content in sorted(CONTENT.items())
]


class Nobody:
    """Progress that is told to nobody."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Nothing."""


def put(folder: Path, files: Sequence[CachedFile] = FILES, *, native: bool = True, **content: bytes) -> PutBack:
    return place_back.put_back(
        beside(folder),
        files,
        lambda file: content.get("all", CONTENT[file.path]),
        native=native,
        progress=Nobody(),
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_lies_where_a_job_looks(tmp_path: Path) -> None:
    done = put(tmp_path / "own")
    assert (done.files, done.replaced, done.unchanged) == (5, (), False)
    graph = tmp_path / "own" / "inductor" / "fxgraph" / graph_key(1)[1:3] / graph_key(1) / "entry"
    assert graph.read_bytes() == b"graph."
    kernel = tmp_path / "own" / "triton" / triton_key(1) / "k.cubin"
    assert json.loads((kernel.parent / "__grp__k.json").read_text()) == {"child_paths": {"k.cubin": str(kernel)}}
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["inductor", "triton"]
    for path in (tmp_path / "own", *(tmp_path / "own").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_again_is_nothing_to_do(tmp_path: Path) -> None:
    put(tmp_path / "own")
    (tmp_path / "own" / "inductor" / "more").write_text("what later runs compiled")
    assert put(tmp_path / "own").unchanged
    assert (tmp_path / "own" / "inductor" / "more").exists()


def test_what_is_there_and_differs_is_kept_aside(tmp_path: Path) -> None:
    put(tmp_path / "own")
    (entry,) = (tmp_path / "own" / "inductor" / "aotautograd").glob("*/entry")
    entry.write_bytes(b"another.")
    done = put(tmp_path / "own")
    assert not done.unchanged
    assert entry.read_bytes() == b"autograd."
    assert [path.name.partition(".replaced-")[0] for path in done.replaced] == ["inductor", "triton"]
    assert b"another." in tree(done.replaced[0]).values()
    entry.write_bytes(b"once more.")
    assert len({*done.replaced, *put(tmp_path / "own").replaced}) == 4, (
        "two within one second have names of their own"
    )


def test_a_moved_cache_has_wrong_lists_and_is_written_anew(tmp_path: Path) -> None:
    put(tmp_path / "own")
    (tmp_path / "own").rename(tmp_path / "moved")
    assert not put(tmp_path / "moved").unchanged


def test_libraries_of_another_processor_are_left_out(tmp_path: Path) -> None:
    done = put(tmp_path / "own", native=False)
    assert (done.files, done.native) == (4, 1)
    assert not list((tmp_path / "own").rglob("*.so"))


def test_other_bytes_change_nothing(tmp_path: Path) -> None:
    put(tmp_path / "own")
    before = tree(tmp_path / "own")
    (entry,) = (tmp_path / "own" / "inductor" / "aotautograd").glob("*/entry")
    entry.write_bytes(b"another.")
    with pytest.raises(EnvguardError, match="other bytes than the lock names"):
        put(tmp_path / "own", all=b"flipped")
    entry.write_bytes(b"autograd.")
    assert tree(tmp_path / "own") == before


def test_a_running_job_is_not_robbed_of_its_cache(tmp_path: Path) -> None:
    locks = tmp_path / "own" / "inductor" / "locks"
    locks.mkdir(parents=True, mode=0o700)
    (tmp_path / "own").chmod(0o700)
    with (locks / "x.lock").open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(InUseError, match="a running process writes"):
            put(tmp_path / "own")
    assert not put(tmp_path / "own").unchanged


def test_a_link_in_the_place_of_the_folder_is_put_aside_not_followed(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "precious").mkdir()
    (tmp_path / "own" / "inductor").symlink_to(tmp_path / "precious")
    done = put(tmp_path / "own")
    assert done.replaced[0].is_symlink()
    assert list((tmp_path / "precious").iterdir()) == []


def test_a_folder_that_others_may_write_in(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own").chmod(0o777)
    with pytest.raises(CacheUnsafeError):
        put(tmp_path / "own")
    assert list((tmp_path / "own").iterdir()) == []


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=3))
    with pytest.raises(StoreError, match=r"needs .* B, has 3 B"):
        put(tmp_path / "own")
    assert list((tmp_path / "own").iterdir()) == []


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.ESTALE, errno.EIO, errno.EDQUOT])
def test_a_fault_in_the_middle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int
) -> None:
    put(tmp_path / "own", FILES[:2])
    before = tree(tmp_path / "own")
    whole, hit = os.open, []

    def open_(path: object, flags: int, *more: object, **named: object) -> int:
        if path == "k.cubin":
            hit.append(path)
            raise OSError(fault, os.strerror(fault))
        return whole(path, flags, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", open_)
    with pytest.raises(StoreError, match=r"could not be put back.*nothing was changed"):
        put(tmp_path / "own")
    monkeypatch.setattr(os, "open", whole)
    assert hit
    assert tree(tmp_path / "own") == before
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["inductor", "triton"]


def test_what_a_killed_writer_left_goes_after_a_day(tmp_path: Path) -> None:
    own, outside = tmp_path / "own", tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("x")
    old, young, link, other = (
        own / name for name in (f".new-{'a' * 16}", f".new-{'b' * 16}", f".new-{'c' * 16}", ".new")
    )
    for folder in (old, young, other):
        (folder / "inductor").mkdir(parents=True)
    link.symlink_to(outside)
    own.chmod(0o700)
    past = time.time() - 2 * 86_400
    for path in (old, other, link):
        os.utime(path, (past, past), follow_symlinks=False)
    put(own)
    assert not old.exists() and (young / "inductor").exists() and other.exists()
    assert (outside / "mine").exists()


def test_thousands_of_folders_need_few_handles(tmp_path: Path) -> None:
    import resource

    files = [
        CachedFile(f"fxgraph/{key[1:3]}/{key}/entry", Digest.of(b"x."), 2) for key in map(graph_key, range(1024))
    ]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (400, hard))
    try:
        done = place_back.put_back(
            beside(tmp_path / "own"), files, lambda _: b"x.", native=True, progress=Nobody()
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert done.files == len(tree(tmp_path / "own")) == 1024


class TestTrust:
    """A lock's word counts when its very bytes are committed, and the store is the user's."""

    @pytest.fixture
    def caches(self, tmp_path: Path) -> CacheFolders:
        store = DirectoryStore(tmp_path / "store")
        store.put(b"x")
        return CacheFolders(tmp_path / "caches", store.root)

    @pytest.fixture
    def lock(self, tmp_path: Path) -> Path:
        file = tmp_path / "project" / "lockfiles" / "good.toml"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x = 1\n")
        git(tmp_path / "project", "init", "-q", ".")
        return file

    def test_tracked_and_clean(self, caches: CacheFolders, lock: Path) -> None:
        git(lock.parent, "add", ".")
        git(lock.parent, "commit", "-q", "-m", "x")
        assert caches.distrust(lock, b"x = 1\n") is None
        assert caches.distrust(lock, b"x = 2\n") == "the lock differs from what is committed to git"

    def test_not_committed(self, caches: CacheFolders, lock: Path) -> None:
        assert caches.distrust(lock, b"x = 1\n") == "the lock is not committed to git"
        (lock.parent / "other").write_text("x")
        git(lock.parent, "add", "other")
        git(lock.parent, "commit", "-q", "-m", "x")
        assert caches.distrust(lock, b"x = 1\n") == "the lock is not committed to git"
        git(lock.parent, "add", ".")
        assert caches.distrust(lock, b"x = 1\n") == "the lock is not committed to git", "staged is no commit"

    def test_no_repository(self, caches: CacheFolders, tmp_path: Path) -> None:
        (tmp_path / "good.toml").write_bytes(b"x")
        assert caches.distrust(tmp_path / "good.toml", b"x") == "the lock is in no git repository"

    def test_a_store_that_others_may_write(self, caches: CacheFolders, lock: Path, tmp_path: Path) -> None:
        git(lock.parent, "add", ".")
        git(lock.parent, "commit", "-q", "-m", "x")
        (tmp_path / "store").chmod(0o777)
        assert "the store is not yours alone: others may write" in str(caches.distrust(lock, b"x = 1\n"))

    def test_no_store(self, lock: Path, tmp_path: Path) -> None:
        assert "the store can't be looked at" in str(
            CacheFolders(tmp_path, tmp_path / "none").distrust(lock, b"x = 1\n")
        )


@pytest.mark.parametrize("name", ["..", "a/b", "", ".x", "a b", "x" * 101])
def test_a_name_that_is_no_folders(tmp_path: Path, name: str) -> None:
    with pytest.raises(EnvguardError, match="can't have a cache of its own"):
        CacheFolders(tmp_path, tmp_path).own(name, "0" * 64)
