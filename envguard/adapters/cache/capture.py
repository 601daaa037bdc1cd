"""Which files of a cache may be kept, and their bytes: of one that nobody writes, and never through links."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from envguard.adapters.cache import quiet, secure_folder
from envguard.adapters.cache.reading import read_cache
from envguard.errors import CacheUnsafeError, EnvguardError, InUseError
from envguard.model.cache_files import CachePlace, FoundFile, Listing
from envguard.planning import cache_files

_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_DEEPEST = 4
_MOST = 2_000_000
_SKIPPED = frozenset({"locks"})
_PICKLED = (cache_files.Part.GRAPH, cache_files.Part.AUTOGRAD)


def listing(place: CachePlace, now: float) -> Listing:
    """The files that may be kept. CacheUnsafeError, InUseError, EnvguardError (it isn't there, can't be read)."""
    _refuse(place, now)
    found: dict[str, FoundFile] = {}
    left: Counter[str] = Counter()
    for root, prefix in ((place.inductor, ""), (place.triton, "triton/")):
        if prefix and (root == place.inductor / "triton" or not root.is_dir()):
            continue  # it was seen already
        for inside, status in _files(root, left):
            path = cache_files.kept_as(prefix + inside)
            reason = _left_out(inside, path, status)
            if reason is not None or path is None:
                left[reason or ""] += 1
            elif path not in found:
                found[path] = FoundFile(path, root, inside, _stamp(status), bool(status.st_mode & 0o100))
    return Listing(tuple(found[path] for path in sorted(found)), tuple(sorted(left.items())))


def content(file: FoundFile) -> bytes | None:
    """Its bytes; None when it changed since it was listed, or can't be read."""
    try:
        handle = _open(file)
        with os.fdopen(handle, "rb") as stream:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode) or _stamp(before) != file.stamp:
                return None
            whole = stream.read(before.st_size + 1)  # a buffer of what is asked for is made at once
            return whole if _stamp(os.fstat(handle)) == file.stamp and len(whole) == before.st_size else None
    except OSError:
        return None


def is_whole(file: FoundFile, whole: bytes) -> bool:
    """Whether an entry ends as its kind does: a pickle by its last opcode."""
    if cache_files.part_of(file.path) in _PICKLED:
        return whole.endswith(b".")
    return bool(whole) or not file.path.endswith((".best_config", ".so", ".json"))


def _open(file: FoundFile) -> int:
    """Step by step, so that no folder of its path can be a link."""
    *folders, name = file.inside.split("/")
    handle = os.open(file.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for folder in folders:
            inner = secure_folder.open_inside(handle, folder, make=False)
            os.close(handle)
            handle = inner
        return os.open(name, _FILE, dir_fd=handle)
    finally:
        os.close(handle)


def _refuse(place: CachePlace, now: float) -> None:
    try:
        status = place.inductor.stat()
    except FileNotFoundError:
        raise EnvguardError(
            "there is no compile cache", where=str(place.inductor), hint="name its folder: --cache DIR"
        ) from None
    except OSError as problem:
        raise _unreadable(place.inductor, problem) from None
    if not stat.S_ISDIR(status.st_mode):
        raise EnvguardError("not a folder", where=str(place.inductor), hint="name the cache's folder: --cache DIR")
    reason = secure_folder.unsafe(status) if hasattr(os, "geteuid") else None
    if reason is not None:
        raise CacheUnsafeError(
            f"a cache is code, and this one is not yours alone: {reason}",
            where=str(place.inductor),
            hint="warm one of your own: envguard warmup",
        )
    seen = read_cache(place.inductor, now, texts=False)
    if not seen.quiet:
        raise InUseError(
            next((remark for remark in seen.remarks if "being written" in remark), "the cache is being written"),
            where=str(place.inductor),
            hint="wait until the run that writes it has ended",
        )


def _left_out(inside: str, path: str | None, status: os.stat_result) -> str | None:
    name = inside.rpartition("/")[2]
    if quiet.is_temporary(name):
        return "temporary files"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return "files of another user"
    if path is None:
        return "files that no other place could use"
    return "files larger than a cached one" if status.st_size > cache_files.LARGEST else None


def _files(root: Path, left: Counter[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Regular files below a folder with their paths in it. Links and what can't be read are counted."""
    pending, names = [("", 0)], 0
    while pending:
        inside, depth = pending.pop()
        try:
            with os.scandir(root / inside) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as problem:
            if not inside:
                raise _unreadable(root, problem) from None
            left["folders that can't be read"] += 1
            continue
        for entry in found:
            names += 1
            if names > _MOST:
                raise EnvguardError(f"more than {_MOST:,} names", where=str(root), hint="name the run's own cache")
            told = _told(entry, f"{inside}{entry.name}", depth, pending, left)
            if told is not None:
                yield told


def _told(
    entry: os.DirEntry[str], inside: str, depth: int, pending: list[tuple[str, int]], left: Counter[str]
) -> tuple[str, os.stat_result] | None:
    try:
        if entry.is_symlink():
            left["links"] += 1
        elif entry.is_dir(follow_symlinks=False):
            if depth < _DEEPEST and inside not in _SKIPPED:
                pending.append((f"{inside}/", depth + 1))
        elif entry.is_file(follow_symlinks=False):
            return inside, entry.stat(follow_symlinks=False)
        else:
            left["special files"] += 1
    except OSError:
        left["files that can't be read"] += 1
    return None


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _unreadable(folder: Path, problem: OSError) -> EnvguardError:
    return EnvguardError(f"the cache can't be read: {problem.strerror or problem}", where=str(folder))
