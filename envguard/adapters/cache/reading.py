"""A cache folder → which keys there are, of which devices; what else lies there; whether it stood still."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.adapters.cache import quiet
from envguard.adapters.hashing import open_file, read_file
from envguard.model.cache import UNKNOWN_DEVICE, CacheKeys, Graph, KeySource, keys_by_device
from envguard.model.observed import Absent, Observed, Unobserved, Value

if TYPE_CHECKING:
    from envguard.adapters.cache.entry_text import EntryText

_GRAPH = re.compile(r"f[a-z2-7]{51}")
_AUTOGRAD = re.compile(r"a[a-z2-7]{51}")
_TRITON = re.compile(r"[A-Z2-7]{52}")
_CODE = re.compile(r"c[a-z2-7]{51}\..+")
_MOST_GRAPHS = 300
_STOP = b"."
"""The opcode that ends every pickle."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a cache is looked at: entries of folders, bytes of entries."""

    names: int = 300_000
    read: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Reading:
    """A cache as it was seen."""

    keys: Observed[CacheKeys]
    counts: tuple[tuple[str, int], ...] = ()
    size: int = 0
    newest: float | None = None
    remarks: tuple[str, ...] = ()
    quiet: bool = True


class _FullError(Exception):
    """More names than are looked at."""


@dataclass(slots=True)
class _Seen:
    now: float
    limits: Limits
    texts: bool = True
    names: int = 0
    read: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    size: int = 0
    newest: float | None = None
    links: int = 0
    foreign: int = 0
    young: int = 0
    left: int = 0
    unreadable: int = 0
    folders: dict[str, int] = field(default_factory=dict)
    """Path → mtime in ns, of every folder that holds keys."""
    devices: dict[str, set[str]] = field(default_factory=dict)
    triton: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)
    graphs: dict[str, Graph] = field(default_factory=dict)


def read_cache(
    folder: Path, now: float, *, triton: Path | None = None, texts: bool = True, limits: Limits | None = None
) -> Reading:
    """Look at a cache. ``now``: seconds since 1970. Nothing is followed out of it, nothing loaded or raised.

    ``texts``: read the entries too, which tells their devices and what they were keyed with; without it only
    names, and whether each entry ends as a pickle does; what isn't keys is not measured.
    """
    try:
        root = folder.stat()
        if not stat.S_ISDIR(root.st_mode):
            return Reading(Unobserved(f"{folder} is no folder"))
        os.listdir(folder)  # noqa: PTH208 - one look whether it can be read at all
    except FileNotFoundError:
        return Reading(Absent())
    except OSError as problem:
        return Reading(Unobserved(f"{folder}: {problem.strerror}"))
    seen = _Seen(now, limits or Limits(), texts)
    keys = _keys(folder, triton, seen)
    partly = _others(folder, seen) if texts else ()
    written = _being_written(folder, seen)
    return Reading(
        keys=keys,
        counts=tuple(sorted((kind, number) for kind, number in seen.counts.items() if number)),
        size=seen.size,
        newest=seen.newest,
        remarks=(*written, *_ownership(root), *partly, *_remarks(seen)),
        quiet=not written,
    )


def _keys(folder: Path, triton: Path | None, seen: _Seen) -> Observed[CacheKeys]:
    try:
        texts = dict(_entries(folder, seen))
        for place in (folder / "triton", *([triton] if triton else [])):
            _triton(place, seen)
    except _FullError:
        return Unobserved(f"{folder} holds more than {seen.limits.names:,} names; they were not all looked at")
    except OSError as problem:
        return Unobserved(f"{problem.filename or folder}: {problem.strerror}")
    _attribute(texts, seen)
    if not seen.devices and not seen.triton and not seen.damaged:
        return Absent()
    return Value(
        CacheKeys(
            source=KeySource.FOUND,
            devices=keys_by_device({device: tuple(keys) for device, keys in seen.devices.items()}),
            triton=tuple(sorted(seen.triton)),
            damaged=tuple(sorted(seen.damaged)),
            graphs=tuple(seen.graphs.values()),
        )
    )


def _entries(folder: Path, seen: _Seen) -> Iterator[tuple[str, list[EntryText]]]:
    """Every key of graphs and autograd entries, with the text of its whole entries."""
    for shelf in _folders(folder / "fxgraph", seen):
        for key in _folders(shelf, seen):
            if _GRAPH.fullmatch(key.name) and key.name[1:3] == shelf.name:
                yield from _entry("fxgraph", key, seen)
            else:
                seen.foreign += 1
    for key in _folders(folder / "aotautograd", seen):
        if _AUTOGRAD.fullmatch(key.name):
            yield from _entry("aotautograd", key, seen)
        else:
            seen.foreign += 1


def _entry(kind: str, key: Path, seen: _Seen) -> Iterator[tuple[str, list[EntryText]]]:
    """One key's folder: several entries, one for each set of guards; one that is whole is enough for a hit."""
    name = f"{kind}/{key.name}"
    texts, files = [], 0
    try:
        seen.folders[str(key)] = key.stat().st_mtime_ns
        for file in _files(key, seen):
            files += 1
            if (text := _read(Path(file.path), seen)) is not None:
                texts.append(text)
    except OSError as problem:
        if problem.errno not in (errno.EACCES, errno.EPERM, errno.ESTALE, errno.ENOENT):
            raise
        seen.unreadable += 1
    if files:
        seen.counts[kind] += 1
        whole = [text for text in texts if text.problem is None]
        if whole:
            yield name, whole
        else:
            seen.damaged.add(name)


def _read(file: Path, seen: _Seen) -> EntryText | None:
    """None: it can't be read. One that is too large to be looked into counts as whole, its device as unknown."""
    from envguard.adapters.cache.entry_text import LARGEST, EntryText, read_entry  # only where entries are

    try:
        size = file.lstat().st_size
        if size > LARGEST or seen.read + size > seen.limits.read:
            return EntryText(frozenset())
        if not seen.texts:
            return EntryText(frozenset(), problem=None if _ends(file) else "it is cut off")
        seen.read += size
        return read_entry(read_file(str(file), cap=LARGEST), graphs=len(seen.graphs) < _MOST_GRAPHS)
    except OSError:
        seen.unreadable += 1
        return None


def _ends(file: Path) -> bool:
    """Whether the last byte is a pickle's last opcode."""
    handle = open_file(str(file))
    with os.fdopen(handle, "rb") as stream:
        if not stream.seek(0, os.SEEK_END):
            return False
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == _STOP


def _attribute(texts: dict[str, list[EntryText]], seen: _Seen) -> None:
    """Each key to the devices that its entries name; one that names none, to those of the graphs that it names."""
    own = {name: {device for text in found for device in text.devices} for name, found in texts.items()}
    for name, found in texts.items():
        graphs = {f"fxgraph/{key}" for text in found for key in text.named}
        devices = own[name] or {device for graph in graphs for device in own.get(graph, ())}
        for device in devices or {UNKNOWN_DEVICE}:
            seen.devices.setdefault(device, set()).add(name)
        for text in found:
            seen.graphs.update((graph.key, graph) for graph in text.graphs)


def _triton(folder: Path, seen: _Seen) -> None:
    """``triton/<index>/<KEY>``, or ``<KEY>`` at once where TRITON_CACHE_DIR names the folder."""
    for shelf in _folders(folder, seen):
        if _TRITON.fullmatch(shelf.name):
            _triton_key(shelf, seen)
        elif shelf.name.isdecimal():
            for key in _folders(shelf, seen):
                if _TRITON.fullmatch(key.name):
                    _triton_key(key, seen)
                else:
                    seen.foreign += 1
        else:
            seen.foreign += 1


def _triton_key(folder: Path, seen: _Seen) -> None:
    if any(True for _ in _files(folder, seen)):
        seen.triton.add(f"triton/{folder.name}")
        seen.counts["triton"] = len(seen.triton)


def _others(folder: Path, seen: _Seen) -> tuple[str, ...]:
    """Count and measure what isn't keys: generated code, autotuning results, locks."""
    try:
        for shelf in _folders(folder, seen):
            if shelf.name not in ("fxgraph", "aotautograd", "triton", "locks"):
                for file in _tree(shelf, seen, 0):
                    seen.counts[_kind(file.name)] += 1
    except _FullError:
        return (f"more than {seen.limits.names:,} names: sizes are those of what was looked at",)
    except OSError as problem:
        return (f"{problem.filename}: {problem.strerror}",)
    return ()


def _kind(name: str) -> str:
    if name.endswith(".best_config"):
        return "autotune"
    return "code" if _CODE.fullmatch(name) else "other"


def _tree(folder: Path, seen: _Seen, depth: int) -> Iterator[os.DirEntry[str]]:
    yield from _files(folder, seen)
    if depth < 8:
        for inner in _folders(folder, seen):
            yield from _tree(inner, seen, depth + 1)


def _folders(folder: Path, seen: _Seen) -> list[Path]:
    """Folders in a folder, sorted; none where it isn't there or is a link."""
    found = []
    if folder.is_symlink():
        seen.links += 1
        return []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                _count(seen)
                if entry.is_dir(follow_symlinks=False):
                    found.append(Path(entry.path))
                elif entry.is_symlink() and entry.is_dir():
                    seen.links += 1
        if folder.name in ("fxgraph", "aotautograd") or folder.parent.name == "fxgraph":
            seen.folders[str(folder)] = folder.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found)


def _files(folder: Path, seen: _Seen) -> Iterator[os.DirEntry[str]]:
    """The regular files of a folder that aren't temporary, counted and measured."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            _count(seen)
            if entry.is_symlink():
                seen.links += 1
            elif entry.is_file(follow_symlinks=False):
                told = entry.stat(follow_symlinks=False)
                if quiet.is_temporary(entry.name):
                    young = seen.now - told.st_mtime < quiet.YOUNG
                    seen.young, seen.left = seen.young + young, seen.left + (not young)
                elif not entry.name.startswith("."):
                    seen.size += told.st_size
                    seen.newest = max(seen.newest or 0.0, told.st_mtime)
                    yield entry


def _count(seen: _Seen) -> None:
    seen.names += 1
    if seen.names > seen.limits.names:
        raise _FullError


def _being_written(folder: Path, seen: _Seen) -> tuple[str, ...]:
    held = quiet.held_locks(folder)
    changed = sum(_mtime(path) != before for path, before in seen.folders.items())
    told = (
        (held, "of its locks held by a running process"),
        (seen.young, "temporary files younger than a minute"),
        (changed, "folders changed while they were read"),
    )
    return tuple(f"it is being written: {number:,} {words}" for number, words in told if number)


def _mtime(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return -1


def _ownership(root: os.stat_result) -> tuple[str, ...]:
    told = []
    if hasattr(os, "geteuid") and root.st_uid != os.geteuid():
        told.append(f"it belongs to another user (uid {root.st_uid}), whose code every hit runs")
    if root.st_mode & 0o022:
        told.append("others may write in it: whoever does, runs code in the training")
    return tuple(told)


def _remarks(seen: _Seen) -> Iterator[str]:
    told = (
        (seen.links, "links in it, not followed"),
        (seen.foreign, "folders that are no keys, ignored"),
        (seen.left, "temporary files that a killed process left"),
        (seen.unreadable, "entries that can't be read"),
        (len(seen.damaged), "keys without one whole entry (cut off, or no pickle): a lookup misses them"),
    )
    for number, words in told:
        if number:
            yield f"{number:,} {words}"
