"""A folder that only its user can change, and every way in which it isn't one."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from envguard.adapters.cache.secure_folder import open_inside, open_private
from envguard.errors import CacheUnsafeError, EnvguardError

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")
OTHER = 65534


def opened(folder: Path, *, make: bool = True) -> os.stat_result:
    handle = open_private(folder, make=make)
    try:
        return os.fstat(handle)
    finally:
        os.close(handle)


def test_made_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        seen = opened(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert seen.st_mode & 0o777 == 0o700
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert seen.st_ino == (tmp_path / "a" / "b" / "c").stat().st_ino


def test_not_made_unasked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "a", make=False)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o720, 0o702])
@pytest.mark.parametrize("above", [False, True], ids=["itself", "above it"])
def test_one_that_others_may_write_in(tmp_path: Path, mode: int, above: bool) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(CacheUnsafeError, match="others may write in it") as caught:
        opened(folder / "b" if above else folder)
    assert caught.value.where == str(folder)
    assert not (folder / "b").exists()


def test_a_sticky_one_above_is_fine(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o1777)
    assert opened(tmp_path / "a" / "b").st_mode & 0o777 == 0o700


def test_a_sticky_one_itself_is_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o1777)
    with pytest.raises(CacheUnsafeError):
        opened(tmp_path / "a")


@root_only
@pytest.mark.parametrize("above", [False, True], ids=["itself", "above it"])
def test_another_users(tmp_path: Path, above: bool) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    os.chown(folder, OTHER, OTHER)
    with pytest.raises(CacheUnsafeError, match=r"another user .uid 65534."):
        opened(folder / "b" if above else folder)


def test_a_link_of_ones_own_is_followed_and_what_it_leads_to_is_checked(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")
    assert opened(tmp_path / "link" / "x").st_ino == (tmp_path / "real" / "x").stat().st_ino
    (tmp_path / "real").chmod(0o777)
    with pytest.raises(CacheUnsafeError):
        opened(tmp_path / "link" / "y")


@root_only
def test_a_link_of_another_user(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.chown(tmp_path / "link", OTHER, OTHER, follow_symlinks=False)
    with pytest.raises(CacheUnsafeError, match="a link of another user"):
        opened(tmp_path / "link" / "x")


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(CacheUnsafeError, match="too many links"):
        opened(tmp_path / "a" / "x")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(EnvguardError, match="can't be used"):
        opened(tmp_path / "a" / "b")


def test_inside_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    (tmp_path / "a" / "link").symlink_to(tmp_path)
    handle = open_private(tmp_path / "a", make=False)
    try:
        with pytest.raises(OSError):
            open_inside(handle, "link", make=True)
    finally:
        os.close(handle)


def test_what_was_checked_is_what_is_used(tmp_path: Path) -> None:
    """A folder and a link that trade places all the time: a handle is always the folder's, never the link's."""
    inner, away = tmp_path / "inner", tmp_path / "away"
    away.mkdir(mode=0o700)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad").chmod(0o777)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            inner.mkdir(mode=0o700, exist_ok=True)
            inner.rename(away / "kept")
            inner.symlink_to(tmp_path / "bad")
            inner.unlink()
            (away / "kept").rmdir()

    thread = threading.Thread(target=swap)
    thread.start()
    bad, refused = (tmp_path / "bad").stat().st_ino, 0
    try:
        for _ in range(400):
            try:
                assert opened(inner, make=False).st_ino != bad
            except (CacheUnsafeError, FileNotFoundError, EnvguardError):
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert refused, "the swap never met a look"
