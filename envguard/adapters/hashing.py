"""Bytes of an environment's files, digested. No link is followed, no pipe or device opened, nothing raised."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from envguard.planning.held import Seen

LARGE = 1 << 20
"""Bytes from which a file is worth a thread: below it, two threads are slower than one (measured)."""
_PIECE = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Wanted(NamedTuple):
    """A file to digest: ``path`` is relative to the folder that ``root`` is open on, or absolute without one."""

    path: str
    size: int
    algorithms: frozenset[str]
    root: int | None = None


def open_file(path: str, root: int | None = None) -> int:
    """A descriptor on a regular file; OSError for anything else."""
    handle = os.open(path, _FLAGS, dir_fd=root)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(None, "something that is no file")
    return handle


def read_file(path: str, root: int | None = None, *, cap: int) -> bytes:
    """A regular file's bytes. OSError, also when there are more than ``cap``."""
    handle = open_file(path, root)
    try:
        content = _read_all(handle, cap)
    finally:
        os.close(handle)
    if len(content) > cap:
        raise OSError(None, f"it has more than {cap} bytes")
    return content


def see(wanted: Wanted) -> Seen:
    """Digest one file; of a link, where it leads to."""
    try:
        handle = open_file(wanted.path, wanted.root)
    except OSError as problem:
        return _see_link(wanted) or Seen({}, problem.strerror or str(problem))
    try:
        states = [hashlib.new(name, usedforsecurity=False) for name in wanted.algorithms]
        if wanted.size < LARGE:
            while piece := os.read(handle, LARGE):
                for state in states:
                    state.update(piece)
        else:
            _update_large(handle, states)
    except OSError as problem:
        return Seen({}, problem.strerror or str(problem))
    finally:
        os.close(handle)
    return Seen({state.name: state.hexdigest() for state in states})


def see_all(wanted: Sequence[Wanted], done: Callable[[int], None]) -> list[Seen]:
    """Digest files, in their order; two threads share the large ones. ``done`` is told how many are."""
    results: list[Seen | None] = [None] * len(wanted)
    large = []
    for number, one in enumerate(wanted):
        if one.size >= LARGE:
            large.append(number)
        else:
            results[number] = see(one)
            if number % 256 == 0:
                done(number - len(large))
    large.sort(key=lambda number: -wanted[number].size)
    for number, seen in zip(large, _in_two_threads([wanted[number] for number in large]), strict=True):
        results[number] = seen
    done(len(wanted))
    return [seen if seen is not None else Seen({}, "not read") for seen in results]


def _in_two_threads(wanted: Sequence[Wanted]) -> Iterator[Seen]:
    if len(wanted) < 2 or (os.cpu_count() or 1) < 2:
        yield from map(see, wanted)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        yield from threads.map(see, wanted)


def _update_large(handle: int, states: Iterable[hashlib._Hash]) -> None:
    piece = memoryview(bytearray(_PIECE))
    while count := os.readv(handle, [piece]):
        for state in states:
            state.update(piece[:count])


def _read_all(handle: int, cap: int) -> bytes:
    pieces = []
    left = cap + 1
    while left > 0 and (piece := os.read(handle, min(left, LARGE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _see_link(wanted: Wanted) -> Seen | None:
    try:
        leads = os.readlink(wanted.path, dir_fd=wanted.root)
    except OSError:
        return None
    return Seen({"sha256": hashlib.sha256(b"link to " + os.fsencode(leads)).hexdigest()})
