"""Folders that only this user can change, reached step by step: a cache that somebody else can write is his code.

Each step is opened relative to the one before (openat) and never through a link of another user, so that what was
checked is what is used.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from envguard.errors import CacheUnsafeError, EnvguardError

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_LINKS = 40


def open_private(folder: Path, *, make: bool) -> int:
    """A handle of a folder that this user owns and nobody else can write, by a path of such folders.

    ``make``: what is missing is made, 0700. FileNotFoundError without it; CacheUnsafeError, EnvguardError.
    """
    try:
        handle = _walk(folder.absolute(), make=make, links=_LINKS)
        try:
            _check(os.fstat(handle), folder, last=True)
        except BaseException:
            os.close(handle)
            raise
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise EnvguardError(
            f"this folder can't be used: {problem.strerror or problem}", where=str(folder), hint=_HINT
        ) from None
    return handle


def open_inside(parent: int, name: str, *, make: bool) -> int:
    """A folder in an open one; links are refused. OSError."""
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
    return os.open(name, _FOLDER, dir_fd=parent)


def own(status: os.stat_result) -> bool:
    """Whether something is this user's, or root's."""
    return status.st_uid in (os.geteuid(), 0)


def unsafe(status: os.stat_result) -> str | None:
    """Why somebody else could change what is in a folder of this user's, in words."""
    if status.st_uid != os.geteuid():
        return f"it belongs to another user (uid {status.st_uid})"
    if status.st_mode & 0o022:
        return f"others may write in it (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _walk(path: Path, *, make: bool, links: int) -> int:
    if links == 0:
        raise CacheUnsafeError("too many links lead there", where=str(path), hint=_HINT)
    handle, seen = os.open(path.anchor, _FOLDER), Path(path.anchor)
    try:
        for number, name in enumerate(path.parts[1:], 2):
            seen = seen / name
            _check(os.fstat(handle), seen.parent, last=False)
            link = _link(handle, name, seen)
            if link is not None:
                rest = Path(os.path.normpath(seen.parent / link)).joinpath(*path.parts[number:])
                following = _walk(rest, make=make, links=links - 1)
                os.close(handle)
                return following
            inner = open_inside(handle, name, make=make)
            os.close(handle)
            handle = inner
    except BaseException:
        os.close(handle)
        raise
    return handle


def _link(handle: int, name: str, seen: Path) -> str | None:
    """Where a step leads when it is a link of this user or root."""
    try:
        status = os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if not own(status):
        raise CacheUnsafeError(
            f"a link of another user (uid {status.st_uid}) leads there", where=str(seen), hint=_HINT
        )
    return os.readlink(name, dir_fd=handle)


def _check(status: os.stat_result, seen: Path, *, last: bool) -> None:
    reason = unsafe(status)
    if not last and own(status):
        sticky = bool(status.st_mode & stat.S_ISVTX)  # as /tmp: others can add to it, and not rename what is ours
        reason = reason if status.st_mode & 0o022 and not sticky else None
    if reason is not None:
        raise CacheUnsafeError(
            f"a cache is code, and this folder is not yours alone: {reason}", where=str(seen), hint=_HINT
        )


_HINT = "name a folder of your own, 0700, in ENVGUARD_DATA_DIR"
