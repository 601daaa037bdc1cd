"""Which files of a cache are kept: only of a quiet one, only its user's, nothing through links."""

from __future__ import annotations

import fcntl
import json
import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envguard.adapters.cache import capture
from envguard.adapters.cache.folders import CacheFolders
from envguard.errors import CacheUnsafeError, EnvguardError, InUseError
from envguard.model.cache_files import CachePlace, FoundFile
from tests.adapters.cache.world import autograd_entry, autograd_key, code, graph_entry, graph_key, put, triton_key

OTHER = 65534


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A warm cache with everything in it that torch leaves."""
    folder = tmp_path / "cache"
    graph_entry(folder, 1, code("cuda:0"))
    graph_entry(folder, 2, code("cuda:1"))
    autograd_entry(folder, 1, {"x": 1})
    key = triton_key(1)
    for index in ("0", "1"):
        put(folder / "triton" / index / key / "k.cubin", b"cubin")
        put(
            folder / "triton" / index / key / "__grp__k.json",
            json.dumps({"child_paths": {"k.cubin": f"/elsewhere/{key}/k.cubin"}}).encode(),
        )
        put(folder / "triton" / index / key / "launcher.so", b"\x7fELF")
    put(folder / "ab" / ("c" + "a" * 51 + ".py"), b"code")
    put(folder / "ab" / ("c" + "a" * 51 + ".so"), b"\x7fELF")
    put(folder / "ab" / "0123.best_config", b"{}")
    put(folder / "locks" / "x.lock", b"")
    put(folder / "notes.txt", b"mine")
    return folder


def place(cache: Path) -> CachePlace:
    return CachePlace(cache, cache / "triton")


def paths(cache: Path) -> list[str]:
    return [file.path for file in capture.listing(place(cache), time.time()).files]


def left(cache: Path) -> dict[str, int]:
    return dict(capture.listing(place(cache), time.time()).left)


def the(cache: Path, start: str) -> FoundFile:
    return next(file for file in capture.listing(place(cache), time.time()).files if file.path.startswith(start))


def test_what_is_kept(cache: Path) -> None:
    key, graphs = triton_key(1), (graph_key(1), graph_key(2))
    assert paths(cache) == [
        "ab/0123.best_config",
        "ab/c" + "a" * 51 + ".so",
        f"aotautograd/{autograd_key(1)}/entry",
        *(f"fxgraph/{graph[1:3]}/{graph}/entry" for graph in graphs),
        f"triton/{key}/__grp__k.json",
        f"triton/{key}/k.cubin",
    ]
    assert left(cache) == {"files that no other place could use": 4}


def test_triton_in_a_folder_of_its_own(cache: Path, tmp_path: Path) -> None:
    (cache / "triton" / "0").rename(tmp_path / "own")
    found = capture.listing(CachePlace(cache, tmp_path / "own"), time.time())
    assert f"triton/{triton_key(1)}/k.cubin" in [file.path for file in found.files]


@pytest.mark.parametrize("held", [True, False])
def test_a_held_lock_means_that_it_is_being_written(cache: Path, held: bool) -> None:
    with (cache / "locks" / "x.lock").open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if not held:
            fcntl.flock(stream, fcntl.LOCK_UN)
            assert paths(cache)
            return
        with pytest.raises(InUseError, match="1 of its locks held"):
            paths(cache)


def test_a_young_temporary_file_too_and_an_old_one_is_left_out(cache: Path) -> None:
    key = graph_key(1)
    temporary = put(cache / "fxgraph" / key[1:3] / key / ".1.2.tmp", b"half")
    with pytest.raises(InUseError, match="being written"):
        paths(cache)
    os.utime(temporary, (0, 0))
    assert left(cache)["temporary files"] == 1
    assert not any("tmp" in path for path in paths(cache))


def test_links_are_never_followed(cache: Path, tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", b"key.")
    key = graph_key(3)
    (cache / "fxgraph" / key[1:3] / key).mkdir(parents=True)
    (cache / "fxgraph" / key[1:3] / key / "entry").symlink_to(secret)
    (cache / "aotautograd" / ("a" + "z" * 51)).symlink_to(tmp_path)
    assert left(cache)["links"] == 2
    assert not any(key in path for path in paths(cache))


def test_a_folder_that_becomes_a_link_after_the_look(cache: Path, tmp_path: Path) -> None:
    file = the(cache, "aotautograd/")
    assert capture.content(file) is not None
    folder = cache / "aotautograd"
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    assert capture.content(file) is None


def test_a_file_that_changed_since_the_look(cache: Path) -> None:
    file = the(cache, "fxgraph/")
    (cache / file.inside).write_bytes(pickle.dumps("another", 4))
    assert capture.content(file) is None
    (cache / file.inside).unlink()
    assert capture.content(file) is None


@pytest.mark.parametrize(
    ("start", "content", "whole"),
    [
        ("fxgraph/", pickle.dumps({}), True),
        ("fxgraph/", pickle.dumps({})[:-1], False),
        ("aotautograd/", b"", False),
        ("ab/0123", b"", False),
        ("triton/", b"{}", True),
    ],
)
def test_what_is_cut_off_is_not_kept(cache: Path, start: str, content: bytes, whole: bool) -> None:
    file = the(cache, start)
    (cache / file.inside).write_bytes(content)
    folders = CacheFolders(cache, cache)
    assert (folders.content(the(cache, start)) is not None) is whole


@contextmanager
def stale(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A file system that lost what a handle led to, as NFS does."""
    hit: list[str] = []
    whole = os.open

    def open_(path: object, flags: int, *more: object, **named: object) -> int:
        if str(path).endswith(name):
            hit.append(str(path))
            raise OSError(116, "Stale file handle")
        return whole(path, flags, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", open_)
    yield hit
    monkeypatch.setattr(os, "open", whole)


def test_a_stale_handle_leaves_the_file_out(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = the(cache, "aotautograd/")
    with stale("entry", monkeypatch) as hit:
        assert capture.content(file) is None
    assert hit


def test_a_stale_folder_is_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: object) -> None:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(capture, "_refuse", lambda *_: None)
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(EnvguardError, match="can't be read: Stale file handle"):
        paths(cache)


def test_no_cache(tmp_path: Path) -> None:
    with pytest.raises(EnvguardError, match="there is no compile cache"):
        paths(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvguardError, match="not a folder"):
        paths(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert paths(tmp_path / "empty") == []


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_one_that_others_may_write_in(cache: Path, mode: int) -> None:
    cache.chmod(mode)
    with pytest.raises(CacheUnsafeError, match="not yours alone"):
        paths(cache)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
def test_another_users_cache_and_another_users_file(cache: Path) -> None:
    file = cache / the(cache, "aotautograd/").inside
    os.chown(file, OTHER, OTHER)
    assert left(cache)["files of another user"] == 1
    assert not any(path.startswith("aotautograd") for path in paths(cache))
    os.chown(cache, OTHER, OTHER)
    with pytest.raises(CacheUnsafeError, match="belongs to another user"):
        paths(cache)


def test_special_files_are_not_opened(cache: Path) -> None:
    os.mkfifo(cache / "ab" / ("c" + "b" * 51 + ".so"))
    assert left(cache)["special files"] == 1


def test_a_hundred_thousand_names(tmp_path: Path) -> None:
    """Counted and left, without reading one of them."""
    folder = tmp_path / "cache" / "ab"
    folder.mkdir(parents=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        for number in range(100_000):
            os.mknod(f"x{number}", dir_fd=handle)
    finally:
        os.close(handle)
    assert left(tmp_path / "cache") == {"files that no other place could use": 100_000}
