"""Walks folders: what is in them, by one digest a folder over names, sizes, times, inodes and modes."""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a walk ahead runs where nothing else is imported yet
    from envguard.adapters.hashing import Root
    from envguard.planning.held import Entry

_OPEN = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_COMPILED = "__pycache__"
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
"""Whether folders can be held open while others swap them for links: not on Windows."""


class Unit(NamedTuple):
    """One folder, or one list of files, as it is now."""

    digest: bytes
    latest: int
    """The latest ctime in it, in ns."""
    entries: tuple[Entry, ...] | None
    """Sorted by name; None where the digest is the known one."""
    problem: str | None = None
    """Why it can't be read."""


class Job(NamedTuple):
    """A folder to judge, by its key."""

    key: str
    unit: Unit


def digest_of(entries: list[Entry], more: bytes = b"") -> bytes:
    """One digest of sorted entries; ``more`` is what else it depends on."""
    return hashlib.blake2b(marshal.dumps(entries, 0), digest_size=16, key=more[:64]).digest()


@contextmanager
def opened(folder: str) -> Iterator[Root]:
    """A folder to walk, which may be reached through links. OSError."""
    if not _BY_DESCRIPTOR:
        os.listdir(folder)  # noqa: PTH208 - a folder that can't be listed is told here
        yield folder
        return
    handle = os.open(folder, _OPEN & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        yield handle
    finally:
        os.close(handle)


def walk(
    root: Root,
    known: Callable[[str], bytes | None],
    *,
    start: Iterable[str] = ("",),
    skip: frozenset[str] = frozenset(),
    deep: bool = True,
) -> Iterator[tuple[str, Unit]]:
    """Each folder below ``start`` (paths relative to ``root``) with its unit; links aren't followed.

    Entries are kept only where the digest isn't ``known(path)``. A ``__pycache__`` also depends on the folder that
    holds it. Top-level names in ``skip`` aren't entered.
    """
    nothing = Unit(b"", 0, ())
    waiting = [(path, nothing) for path in start]
    while waiting:
        path, above = waiting.pop()
        unit, folders = _look(root, path, above if path.endswith(_COMPILED) else nothing, known)
        yield path, unit
        if deep:
            inside = [name for name in folders if path or name not in skip]
            waiting.extend((f"{path}/{name}" if path else name, unit) for name in inside)


def _look(root: Root, path: str, above: Unit, known: Callable[[str], bytes | None]) -> tuple[Unit, list[str]]:
    entries: list[Entry] = []
    folders: list[str] = []
    try:
        latest = max(_read(root, path, entries, folders), above.latest)
    except OSError as problem:
        return _unreadable(problem), []
    entries.sort()
    digest = digest_of(entries, above.digest)
    return Unit(digest, latest, None if digest == known(path) else tuple(entries)), folders


def _read(root: Root, path: str, entries: list[Entry], folders: list[str]) -> int:
    """Take in one folder's entries; the latest ctime. OSError."""
    if isinstance(root, str):
        with os.scandir(os.path.join(root, path)) as found:  # noqa: PTH118 - odd names must not raise
            return _take(found, entries, folders)
    handle = os.open(path or ".", _OPEN, dir_fd=root)
    try:
        with os.scandir(handle) as found:
            return _take(found, entries, folders)
    finally:
        os.close(handle)


def _take(found: Iterable[os.DirEntry[str]], entries: list[Entry], folders: list[str]) -> int:
    add = entries.append
    latest = 0
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
            add((entry.name, 0, 0, 0, 0, stat.S_IFDIR))
            continue
        try:
            seen = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since it was listed
            continue
        changed = seen.st_ctime_ns
        if stat.S_ISLNK(seen.st_mode):
            with contextlib.suppress(OSError):
                one = _followed(entry.name, seen, entry.stat(follow_symlinks=True))
                latest = max(latest, one[3])
                add(one)
                continue
        if changed > latest:
            latest = changed
        add((entry.name, seen.st_size, seen.st_mtime_ns, changed, seen.st_ino, seen.st_mode))
    return latest


def _followed(name: str, link: os.stat_result, file: os.stat_result) -> Entry:
    """A link to a file changes with the file, any other by itself."""
    changed = max(link.st_ctime_ns, file.st_ctime_ns)
    if not stat.S_ISREG(file.st_mode):
        return name, link.st_size, link.st_mtime_ns, link.st_ctime_ns, link.st_ino, link.st_mode
    mode = stat.S_IFLNK | stat.S_IMODE(file.st_mode)
    return name, file.st_size, file.st_mtime_ns, changed, file.st_ino, mode


def listed(paths: Mapping[str, str], known: bytes | None) -> Unit:
    """A unit of single files: ``paths`` maps a name to where it lies. What isn't there is left out."""
    entries: list[Entry] = []
    for name, place in paths.items():
        try:
            seen = os.lstat(place)
        except (OSError, ValueError):
            continue
        if stat.S_ISLNK(seen.st_mode):
            with contextlib.suppress(OSError):
                entries.append(_followed(name, seen, os.stat(place)))  # noqa: PTH116 - odd names must not raise
                continue
        entries.append((name, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, seen.st_mode))
    entries.sort()
    digest = digest_of(entries)
    latest = max((entry[3] for entry in entries), default=0)
    return Unit(digest, latest, None if digest == known else tuple(entries))


def _unreadable(problem: OSError) -> Unit:
    return Unit(b"", 0, (), problem.strerror or str(problem))
