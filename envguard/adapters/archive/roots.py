"""``ports.Roots``: the locks that snapshots wrote, those beside them and those named, and restored environments.

One small file a lock in the state folder says where the lock is and which objects it named. A lock that is not
there now (another branch is checked out, a disk is not mounted) keeps its objects by that, until it is forgotten.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from envguard.adapters import files
from envguard.adapters.project import LOCKS, load_lock
from envguard.errors import (
    EnvguardError,
    ObjectCorruptError,
    ObjectMissingError,
    RootsUnreadableError,
    StoreError,
)
from envguard.formats import cache_manifest, lock_note, marker
from envguard.model.digest import Digest
from envguard.model.lock import Lock
from envguard.model.roots import Root
from envguard.planning.archive import needs_of
from envguard.ports import Store


class KnownRoots:
    """``notes``: the folder of notes; ``environments``: that of restored ones; ``named``: more lock files.

    ``store`` holds the lists of saved compile caches, whose files belong to their lock too.
    """

    def __init__(self, notes: Path, environments: Path, named: Iterable[Path] = (), *, store: Store) -> None:
        self._notes = notes
        self._environments = environments
        self._store = store
        self._named = tuple(Path(os.path.abspath(path)) for path in named)  # noqa: PTH100 - links are kept

    def remember(self, lock: Path, objects: Iterable[Digest]) -> None:
        """Write a note. StoreError."""
        path = _absolute(lock)
        try:
            self._notes.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.write(self._note(path), lock_note.dump(str(path), objects))
        except OSError as problem:
            raise StoreError(
                f"could not note that {path.name} needs its objects: {problem.strerror or problem}",
                where=str(self._notes),
            ) from None

    def forget(self, lock: Path) -> bool:
        """Drop a lock's note; whether there was one."""
        note = self._note(_absolute(lock))
        there = note.exists()
        note.unlink(missing_ok=True)
        return there

    def read(self, *, lenient: bool = False) -> Sequence[Root]:
        """Locks by their paths, then environments. RootsUnreadableError, unless ``lenient``."""
        noted = dict(self._noted(lenient=lenient))
        paths = {*noted, *self._named, *_beside((*noted, *self._named))}
        locks = [self._lock(path, noted.get(path), lenient=lenient) for path in sorted(paths)]
        return (*locks, *self._restored(lenient=lenient))

    def stamp(self) -> object:
        """Stats of all that ``read`` reads."""
        noted = [note for note in _children(self._notes) if note.suffix == ".json"]
        paths = [path for path, _ in self._noted(lenient=True)]
        every = {*paths, *self._named, *_beside((*paths, *self._named)), *noted, *self._markers()}
        return tuple((str(path), _stat(path)) for path in sorted(every))

    def _note(self, lock: Path) -> Path:
        return self._notes / f"{Digest.of(os.fsencode(lock)).hex[:32]}.json"

    def _noted(self, *, lenient: bool) -> Iterator[tuple[Path, frozenset[Digest]]]:
        for note in _children(self._notes):
            if note.suffix != ".json":
                continue
            try:
                lock, objects = lock_note.load(_content(note, lock_note.CAP))
            except FileNotFoundError:
                continue  # forgotten a moment ago
            except (OSError, ValueError) as problem:
                if lenient:
                    continue
                raise _unreadable("a note of a lock", note, str(problem)) from None
            yield Path(lock), objects

    def _lock(self, path: Path, noted: frozenset[Digest] | None, *, lenient: bool) -> Root:
        objects = noted or frozenset()
        if noted is not None and not os.path.lexists(path):
            return Root(str(path), objects, noted=objects, gone=True)
        try:
            lock = load_lock(path)[0]
        except EnvguardError as problem:
            if lenient:
                return Root(str(path), objects, noted=objects)
            raise _unreadable("a lock", path, problem.message) from None
        named = frozenset(need.digest for need in needs_of(lock))
        return Root(str(path), named | self._cached(lock, path, lenient=lenient), lock, objects)

    def _cached(self, lock: Lock, path: Path, *, lenient: bool) -> frozenset[Digest]:
        """The files of the compile cache that a lock names; none where this store never held their list."""
        manifest = lock.cache_manifest
        if manifest is None or not self._store.has(manifest):
            return frozenset()
        try:
            return frozenset(file.sha256 for file in cache_manifest.load(self._store.read(manifest)))
        except ObjectMissingError:
            return frozenset()
        except (ObjectCorruptError, ValueError) as problem:
            if lenient:
                return frozenset()
            raise _unreadable("the list of a lock's compile cache", path, str(problem)) from None

    def _restored(self, *, lenient: bool) -> Iterator[Root]:
        for path in self._markers():
            try:
                marked = marker.load(_content(path, marker.CAP))
            except FileNotFoundError:
                continue  # pruned a moment ago
            except (OSError, ValueError) as problem:
                if lenient:
                    continue
                raise _unreadable("a restored environment", path, str(problem)) from None
            yield Root(str(path.parent), frozenset(wheel.sha256 for wheel in marked.wheels.values()))

    def _markers(self) -> list[Path]:
        """One in each finished environment, ``<folder>/<name>/<environment>``."""
        return [
            environment / marker.FILENAME
            for name in _children(self._environments)
            for environment in _children(name)
            if not environment.is_symlink()
            and not environment.name.startswith(".")
            and (environment / marker.FILENAME).exists()
        ]


def _absolute(path: Path) -> Path:
    """Without links, so that one lock has one note."""
    return Path(os.path.realpath(path))


def _beside(locks: Iterable[Path]) -> set[Path]:
    """The other locks of those locks' projects."""
    folders = {path.parent for path in locks if path.parent.name == LOCKS}
    return {path for folder in folders for path in _children(folder) if path.suffix == ".toml"}


def _children(folder: Path) -> list[Path]:
    """What a folder holds; nothing where there is none. RootsUnreadableError."""
    try:
        return sorted(folder.iterdir()) if folder.is_dir() else []
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise _unreadable("a folder", folder, problem.strerror or str(problem)) from None


def _content(path: Path, cap: int) -> bytes:
    with path.open("rb") as stream:
        content = stream.read(cap + 1)
    if len(content) > cap:
        raise ValueError(f"larger than {cap} bytes")
    return content


def _stat(path: Path) -> tuple[int, int, int] | None:
    with contextlib.suppress(OSError):
        status = path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino
    return None


def _unreadable(what: str, path: Path, reason: str) -> RootsUnreadableError:
    return RootsUnreadableError(
        f"{what} can't be read, so nothing tells which objects it needs: {reason}",
        where=str(path),
        hint="mend it, or remove it if it is not wanted any more; until then nothing is removed",
    )
