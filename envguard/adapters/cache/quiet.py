"""Whether somebody is writing a cache right now."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_MOST_LOCKS = 10_000
YOUNG = 60.0
"""Seconds: a temporary file younger than this is one being written; an older one was left by a killed process."""


def held_locks(folder: Path) -> int:
    """How many of ``locks/*.lock`` a process holds (torch's FileLock is flock(2))."""
    try:
        import fcntl
    except ImportError:
        return 0
    held = 0
    try:
        with os.scandir(folder / "locks") as entries:
            for number, entry in enumerate(entries):
                if number >= _MOST_LOCKS:
                    break
                if entry.name.endswith(".lock") and entry.is_file(follow_symlinks=False):
                    held += _is_held(entry.path, fcntl.flock, fcntl.LOCK_SH | fcntl.LOCK_NB, fcntl.LOCK_UN)
    except OSError:
        return held
    return held


def _is_held(path: str, flock: object, shared: int, unlock: int) -> bool:
    handle = -1
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        assert callable(flock)  # noqa: S101
        flock(handle, shared)
        flock(handle, unlock)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        if handle >= 0:
            with contextlib.suppress(OSError):
                os.close(handle)
    return False


def is_temporary(name: str) -> bool:
    """Whether a name is one that torch or Triton writes to before they rename it."""
    return (name.startswith(".") and name.endswith(".tmp")) or name.startswith("tmp.pid_")
