"""The stat index: what a look at an environment came to, kept outside it, and used only where nothing has changed.

Two files an environment. The index has a digest a folder and what was told of that folder; the details have size,
times, inode and sha256 of every file, read only when a folder differs, so that only changed files are hashed.
Nothing is kept of a folder or file that changed too shortly before the look: a later change could leave the same
times. A damaged, foreign or older index is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from envguard import __version__
from envguard.adapters import files, folders
from envguard.adapters.hashing import open_file
from envguard.adapters.site import Installed
from envguard.model.digest import Digest
from envguard.model.facts import FileFact, FileKind, SharedPath
from envguard.model.target import Layout

ABSENT = b"absent"
"""Digest of a folder that isn't there."""

_SCHEMA = f"envguard stat index 1 {__version__}"
_CAP = 512 << 20
_COARSE = 2_000_000_000
_FINE = 100_000_000
_UNKNOWN_CLOCK = 2 * 86_400_000_000_000
_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "overlay", "bcachefs", "apfs"})

FileDetail = tuple[int, int, int, int, bytes]
"""Size, mtime, ctime, inode and sha256 of a file."""
Details = dict[str, dict[str, FileDetail]]
T = TypeVar("T")


@dataclass(slots=True)
class UnitKept:
    """What one folder came to: valid while its digest is this and the RECORDs say the same."""

    digest: bytes
    facts: tuple[FileFact, ...] = ()
    seen: int = 0
    """Files held against RECORD."""
    owners: tuple[str, ...] = ()
    """Keys of the distributions that have files in it."""


@dataclass(slots=True)
class Kept:
    """A whole index."""

    content: bytes = b""
    """Digest of all that RECORDs say."""
    units: dict[str, UnitKept] = field(default_factory=dict)
    distributions: dict[str, tuple[bytes, Installed]] = field(default_factory=dict)
    shared: tuple[SharedPath, ...] = ()
    placed: tuple[str, ...] = ()
    """Names of owned files outside the libraries."""
    torch: tuple[bytes, tuple[Any, ...]] | None = None
    """What torch's build came to, and the digest of what that was read from."""


class StatIndex:
    """The two files of one environment. ``also`` is whatever else its results depend on."""

    def __init__(self, layout: Layout, also: str, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else folders.cache() / "stat"
        self._key = f"{_SCHEMA}\n{_identity(layout)}\n{also}"
        name = hashlib.blake2b(_identity(layout).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        self.index_file = self._folder / f"{name}.index"
        self.details_file = self._folder / f"{name}.details"

    def load(self) -> Kept:
        """What was kept; an empty index when there is none that can be trusted."""
        return self._load(self.index_file, _kept, Kept)

    def load_details(self) -> Details:
        """Every file's last stat and sha256."""
        return self._load(self.details_file, _details, dict)

    def save(self, kept: Kept, details: Details | None) -> None:
        """Replace the index, and the details where there are new ones. What can't be written isn't missed."""
        if sys.platform == "win32":
            return  # nothing is ever settled there
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if details is not None:
                self._save(self.details_file, details)
            self._save(self.index_file, _plain(kept))

    def _load(self, file: Path, shape: Callable[[Any], T], empty: Callable[[], T]) -> T:
        content = _trusted(file)
        if content is None:
            return empty()
        head = self._head(content[_HEAD_SIZE:])
        if content[:_HEAD_SIZE] != head:
            return empty()
        try:
            return shape(marshal.loads(content[_HEAD_SIZE:]))  # noqa: S302 - plain values only, own file, checked
        except (ValueError, TypeError, EOFError, KeyError, IndexError, AttributeError):
            return empty()

    def _save(self, file: Path, value: Any) -> None:
        content = marshal.dumps(value, 2)
        files.write(file, self._head(content) + content, mode=0o600, durable=False)

    def _head(self, content: bytes) -> bytes:
        key = hashlib.blake2b(self._key.encode("utf-8", "surrogateescape"), digest_size=32).digest()
        return hashlib.blake2b(content, digest_size=_HEAD_SIZE, key=key).digest()


_HEAD_SIZE = 32


def settled(latest: int, stamp: int) -> bool:
    """Whether a file that changed at ``latest`` (ctime, ns) can't change again without another ctime.

    ``stamp`` is the file system's own time before it was read. Times in whole seconds come from coarse clocks.
    """
    return latest + (_FINE if latest % 1_000_000_000 else _COARSE) < stamp


def clock(places: Iterable[Path]) -> int:
    """The time, in ns, by the clocks of the file systems that ``places`` are on, or an earlier one."""
    if sys.platform == "win32":
        return 0  # its ctime is the time of creation: nothing is ever settled
    devices = set()
    for place in places:
        with contextlib.suppress(OSError):
            devices.add(place.stat().st_dev)
    return min(map(_clock, devices), default=0)


def _clock(device: int) -> int:
    beside = folders.cache() / "stat"
    with contextlib.suppress(OSError):
        beside.mkdir(mode=0o700, parents=True, exist_ok=True)
        if beside.stat().st_dev == device:
            return _touched(beside)
    with contextlib.suppress(OSError):
        if _is_local(device):
            return time.time_ns()
    return time.time_ns() - _UNKNOWN_CLOCK


def _touched(folder: Path) -> int:
    mark = folder / f".clock.{os.getpid()}.{time.monotonic_ns()}"
    handle = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return os.fstat(handle).st_ctime_ns
    finally:
        os.close(handle)
        mark.unlink()


def _is_local(device: int) -> bool:
    """Whether a device's times come from this kernel's clock (proc(5), mountinfo)."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_bytes().decode("utf-8", "replace").splitlines():
        fields = line.split(" ")
        if len(fields) > 2 and fields[2] == wanted and "-" in fields:
            return fields[fields.index("-") + 1] in _LOCAL
    return False


def _identity(layout: Layout) -> str:
    """What tells one environment from every other, also from one of the same path on another host."""
    try:
        seen = os.stat(layout.prefix)  # noqa: PTH116
        marks = [seen.st_dev, seen.st_ino]
    except OSError:
        marks = []
    node = os.uname().nodename if hasattr(os, "uname") else ""
    real = [os.path.realpath(part) for part in (layout.prefix, *layout.libraries, layout.scripts)]
    return "\n".join([node, str(layout.prefix), *map(str, marks), *real])


def _trusted(file: Path) -> bytes | None:
    """A file's bytes, when only this user could have written it."""
    try:
        handle = open_file(os.fspath(file))
        with os.fdopen(handle, "rb") as stream:
            seen = os.fstat(handle)
            own = not hasattr(os, "geteuid") or seen.st_uid == os.geteuid()
            return stream.read() if own and not seen.st_mode & 0o022 and seen.st_size <= _CAP else None
    except OSError:
        return None


def _plain(kept: Kept) -> tuple[Any, ...]:
    return (
        kept.content,
        {
            key: (unit.digest, tuple(map(fact_to_plain, unit.facts)), unit.seen, unit.owners)
            for key, unit in kept.units.items()
        },
        {key: (digest, tuple(installed)) for key, (digest, installed) in kept.distributions.items()},
        tuple((shared.path, shared.owners, shared.agree) for shared in kept.shared),
        kept.placed,
        kept.torch,
    )


def _kept(plain: Any) -> Kept:
    content, units, distributions, shared, placed, torch = plain
    return Kept(
        content=content,
        units={
            key: UnitKept(digest, tuple(map(fact_from_plain, facts)), seen, owners)
            for key, (digest, facts, seen, owners) in units.items()
        },
        distributions={key: (digest, Installed._make(parts)) for key, (digest, parts) in distributions.items()},
        shared=tuple(SharedPath(*parts) for parts in shared),
        placed=placed,
        torch=torch,
    )


def _details(plain: Any) -> Details:
    if not isinstance(plain, dict):
        raise TypeError("not details")
    return plain


def fact_to_plain(fact: FileFact) -> tuple[Any, ...]:
    """A fact as marshal can write it."""
    return (
        fact.path,
        fact.kind.value,
        fact.root,
        fact.sha256.hex if fact.sha256 else None,
        fact.mode,
        fact.owners,
        fact.expected.hex if fact.expected else None,
        fact.detail,
    )


def fact_from_plain(plain: tuple[Any, ...]) -> FileFact:
    """The fact again."""
    path, kind, root, sha256, mode, owners, expected, detail = plain
    return FileFact(
        path=path,
        kind=FileKind(kind),
        root=root,
        sha256=Digest(sha256) if sha256 else None,
        mode=mode,
        owners=owners,
        expected=Digest(expected) if expected else None,
        detail=detail,
    )
