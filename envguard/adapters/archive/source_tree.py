"""The folder that an install came from, as one tar whose bytes follow from its files alone.

Of a git repository: what is tracked and what is new, as it lies there now, so the commit with all local changes;
what ``.gitignore`` leaves out is left out. Of any other folder: its files, without bytecode and environments.
"""

from __future__ import annotations

import os
import secrets
import stat
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from envguard.adapters import vcs
from envguard.adapters.git import GitError, git
from envguard.adapters.provenance.installed import locate
from envguard.adapters.provenance.reading import SMALL_CAP, names, read
from envguard.adapters.working_tree import look, root_of
from envguard.errors import NotRebuildableError
from envguard.model.archive import SourceTree
from envguard.model.distribution import Distribution
from envguard.model.target import Layout

MOST_FILES = 50_000
MOST_BYTES = 1 << 30
_SECONDS = 60.0
_DEEPEST = 4
_LEFT_OUT = frozenset({"__pycache__", ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".ruff_cache"})


def source_tree(
    layout: Layout, entry: Distribution, folder: Path, *, uv_cache: Path | None = None
) -> SourceTree | None:
    """Write the tar into ``folder``, under a name of no meaning; None where the source isn't on this machine.

    NotRebuildableError: it is too large, can't be read, or is no longer what the lock says. OSError: ``folder``.
    """
    place = _place(layout, entry, uv_cache)
    if place is None or not place.is_dir():
        return None
    try:
        listed = sorted(set(_listed(place)))
    except GitError as problem:
        raise _refusal(entry, str(problem), place) from None
    total = _total(entry, place, listed)
    path = folder / f"{secrets.token_hex(8)}.tar.tmp"
    try:
        count = _write(entry, place, listed, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return SourceTree(path, count, total)


def _place(layout: Layout, entry: Distribution, uv_cache: Path | None) -> Path | None:
    origin, info = entry.origin, locate(layout, entry).folder
    if origin is None or info is None:
        return None
    if origin.kind == "vcs":
        return _checkout(origin.commit, uv_cache)
    content = read(info / "direct_url.json", SMALL_CAP)
    return None if content is None else vcs.folder_of(content, info.parent)


def _checkout(commit: str | None, uv_cache: Path | None) -> Path | None:
    """uv's own clone at that commit, unchanged: ``git-v*/checkouts/<repository>/<short commit>``."""
    if uv_cache is None or not commit:
        return None
    for bucket in (name for name in names(uv_cache) if name.startswith("git-v")):
        checkouts = uv_cache / bucket / "checkouts"
        for place in (checkouts / one / short for one in names(checkouts) for short in names(checkouts / one)):
            if len(place.name) >= 7 and commit.startswith(place.name) and _is_at(place, commit):
                return place
    return None


def _is_at(place: Path, commit: str) -> bool:
    try:
        return look(place, timeout=_SECONDS).commit == commit
    except GitError:
        return False


def _listed(place: Path, depth: int = 0) -> Iterator[str]:
    """Paths of files below a folder, relative to it."""
    root = root_of(place)
    if root is None:
        yield from _walked(place)
        return
    part = os.path.relpath(os.path.realpath(place), root)
    told = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", part, timeout=_SECONDS)
    for raw in told.split(b"\0"):
        path = os.path.relpath(os.fsdecode(raw), part) if raw else ""
        if not path or path.startswith(".."):
            continue
        inner = place / path
        if inner.is_dir() and not inner.is_symlink():  # a repository inside this one
            if depth < _DEEPEST and root_of(inner) == Path(os.path.realpath(inner)):
                yield from (f"{path}/{below}" for below in _listed(inner, depth + 1))
            continue
        yield path


def _walked(place: Path) -> Iterator[str]:
    for parent, folders, found in os.walk(place):
        here = Path(parent)
        linked = [name for name in folders if (here / name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in _LEFT_OUT and name not in linked and not (here / name / "pyvenv.cfg").exists()
        ]
        for name in (*found, *linked):
            yield (here / name).relative_to(place).as_posix()


def _total(entry: Distribution, place: Path, listed: Sequence[str]) -> int:
    total = 0
    for path in listed:
        try:
            total += (place / path).lstat().st_size
        except OSError:
            continue
    if len(listed) > MOST_FILES or total > MOST_BYTES:
        raise _refusal(entry, f"{len(listed)} files, {total >> 20} MiB: too much to keep", place)
    return total


def _write(entry: Distribution, place: Path, listed: Sequence[str], path: Path) -> int:
    count = 0
    with (
        path.open("xb") as stream,
        tarfile.open(
            fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
        ) as archive,
    ):
        for name in listed:
            count += _add(entry, archive, place / name, name)
    return count


def _add(entry: Distribution, archive: tarfile.TarFile, path: Path, name: str) -> bool:
    """One file or link; what is gone, a pipe or a device is left out."""
    try:
        status = path.lstat()
    except OSError:
        return False
    member = tarfile.TarInfo(name)
    member.mode = 0o755 if status.st_mode & 0o111 else 0o644
    if stat.S_ISLNK(status.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
        archive.addfile(member)
        return True
    if not stat.S_ISREG(status.st_mode):
        return False
    try:
        with path.open("rb") as stream:
            member.size = os.fstat(stream.fileno()).st_size
            archive.addfile(member, stream)
    except OSError as problem:
        raise _refusal(entry, f"{name} can't be read: {problem.strerror or problem}", path) from None
    return True


def _refusal(entry: Distribution, reason: str, where: Path) -> NotRebuildableError:
    return NotRebuildableError(f"the source of {entry.name} is not kept: {reason}", where=str(where))
