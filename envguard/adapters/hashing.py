"""Bytes of an environment's files, digested. No pipe or device is opened, nothing raised.

A link is followed only where a wheel claims a file (uv's symlink mode links to its cache), and only to hold what
it leads to against that claim.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from envguard.planning.held import Seen

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

LARGE = 1 << 20
"""Bytes from which a file is worth a thread: below it, two threads are slower than one (measured)."""
SHA256 = frozenset({"sha256"})
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FLAGS = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


Root = int | str
"""A folder that paths are taken from: a descriptor on it, or its path where the system has no such calls."""


def at(path: str, root: Root | None) -> tuple[str, int | None]:
    """Path and ``dir_fd`` for a path that is taken from a folder."""
    if isinstance(root, str):
        return os.path.join(root, path), None  # noqa: PTH118 - odd names must not raise
    return path, root


class Wanted(NamedTuple):
    """A file to digest: ``path`` is taken from ``root``, or absolute without one."""

    path: str
    size: int
    algorithms: frozenset[str]
    root: Root | None = None
    claimed: bool = False
    """Where it is a link: whether what it leads to is wanted too."""


def open_file(path: str, root: Root | None = None, *, follow: bool = False) -> int:
    """A descriptor on a regular file; OSError for anything else. ``follow``: a link to one will do."""
    place, folder = at(path, root)
    try:
        handle = os.open(place, _FLAGS & ~_NO_LINK if follow else _FLAGS, dir_fd=folder)
    except OSError as problem:
        if problem.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "it is a symbolic link") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(None, "something that is no file")
    return handle


def read_file(path: str, root: Root | None = None, *, cap: int, follow: bool = False) -> bytes:
    """A regular file's bytes. OSError, also when there are more than ``cap``."""
    handle = open_file(path, root, follow=follow)
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
    return _digested(handle, wanted)


def _digested(handle: int, wanted: Wanted) -> Seen:
    """Of a descriptor, which is closed."""
    try:
        if wanted.size < LARGE and wanted.algorithms == SHA256:
            return Seen({"sha256": hashlib.sha256(_read_all(handle)).hexdigest()})
        states = [hashlib.new(name, usedforsecurity=False) for name in wanted.algorithms]
        _update(handle, states)
    except OSError as problem:
        return Seen({}, problem.strerror or str(problem))
    finally:
        os.close(handle)
    return Seen({state.name: state.hexdigest() for state in states})


class LargeFiles:
    """Large files, digested by two threads while the rest is looked at: hashing lets other threads run."""

    def __init__(self, wanted: Iterable[Wanted]) -> None:
        self._wanted = sorted(wanted, key=lambda one: -one.size)
        self._threads: ThreadPoolExecutor | None = None
        self._results: dict[Wanted, Future[Seen]] = {}

    def __enter__(self) -> LargeFiles:
        if self._wanted and (os.cpu_count() or 1) > 1:
            from concurrent.futures import ThreadPoolExecutor

            self._threads = ThreadPoolExecutor(2)
            self._results = {one: self._threads.submit(see, one) for one in self._wanted}
        return self

    def __exit__(self, *_: object) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def see(self, wanted: Wanted) -> Seen:
        """The digest of one of them, waited for; of any other file, made now."""
        result = self._results.get(wanted)
        return see(wanted) if result is None else result.result()


def _update(handle: int, states: Iterable[hashlib._Hash]) -> None:
    piece = memoryview(bytearray(LARGE))
    with os.fdopen(handle, "rb", buffering=0, closefd=False) as stream:
        while count := stream.readinto(piece):
            for state in states:
                state.update(piece[:count])


def _read_all(handle: int, cap: int | None = None) -> bytes:
    """All bytes, or one more than ``cap``. Less than was asked for is the end of a regular file."""
    pieces = []
    left = cap + 1 if cap is not None else None
    while left is None or left > 0:
        asked = LARGE if left is None else min(left, LARGE)
        piece = os.read(handle, asked)
        pieces.append(piece)
        if len(piece) < asked:
            break
        if left is not None:
            left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _see_link(wanted: Wanted) -> Seen | None:
    try:
        place, folder = at(wanted.path, wanted.root)
        leads = os.readlink(place, dir_fd=folder)
    except OSError:
        return None
    digests = {"sha256": hashlib.sha256(b"link to " + os.fsencode(leads)).hexdigest()}
    return Seen(digests, behind=_behind(wanted) if wanted.claimed else None)


def _behind(wanted: Wanted) -> Mapping[str, str]:
    """Digests of the file that a link leads to; none where it leads to no file."""
    try:
        handle = open_file(wanted.path, wanted.root, follow=True)
    except OSError:
        return {}
    return _digested(handle, wanted).digests
