"""A cache is put back: written beside, checked as it is written, then renamed into place; nothing is removed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from envguard.adapters import room
from envguard.adapters.cache import quiet, secure_folder
from envguard.errors import EnvguardError, InUseError, StoreError
from envguard.model.cache_files import CachedFile, CachePlace, PutBack
from envguard.model.digest import Digest
from envguard.planning import cache_files
from envguard.planning.cache_files import Part
from envguard.ports import Progress

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_TOLD_EVERY = 64
_LEFT = re.compile(r"\.new-[0-9a-f]{16}")
_SURELY_DEAD = 86_400.0
"""Seconds after which a folder that is being written is one that was left."""

Content = Callable[[CachedFile], bytes]


def put_back(
    place: CachePlace, files: Sequence[CachedFile], content: Content, *, native: bool, progress: Progress
) -> PutBack:
    """Write all files of a manifest under ``place``. Both of its folders lie in one parent, which is made private.

    CacheUnsafeError, InUseError (the cache there is being written), StoreError, and what ``content`` raises.
    """
    parent = place.inductor.parent
    wanted = [file for file in files if native or cache_files.part_of(file.path) is not Part.NATIVE]
    size = sum(file.size for file in wanted)
    left = len(files) - len(wanted)
    handle = secure_folder.open_private(parent, make=True)
    try:
        if _is_there(place, wanted):
            return PutBack(place, len(wanted), size, unchanged=True, native=left)
        if quiet.held_locks(place.inductor):
            raise InUseError(
                "a running process writes the cache that is there",
                where=str(place.inductor),
                hint="wait until it has ended, or put the cache elsewhere: --to DIR",
            )
        _room(parent, size)
        replaced = _Writing(place, handle, content, progress).all(wanted)
    finally:
        os.close(handle)
    return PutBack(place, len(wanted), size, replaced, native=left)


@dataclass(slots=True)
class _Writing:
    place: CachePlace
    parent: int
    content: Content
    progress: Progress
    folders: dict[str, int] = field(default_factory=dict)

    def all(self, files: Sequence[CachedFile]) -> tuple[Path, ...]:
        """Write beside, sync, rename; on any fault only what was written beside goes."""
        new = f".new-{secrets.token_hex(8)}"
        self._sweep()
        try:
            with self._told(), self._opened(new):
                for count, file in enumerate(files):
                    if count % _TOLD_EVERY == 0:
                        self.progress.step("put the cache back", count, len(files), "files")
                    self._write(file)
                os.sync()  # once for all of them: a power cut must not leave empty entries under a finished name
            self.progress.step("put the cache back", len(files), len(files), "files")
            with self._told():
                return self._switch(new)
        finally:
            shutil.rmtree(self.place.inductor.parent / new, ignore_errors=True)

    def _sweep(self) -> None:
        """What a killed writer left beside goes, once it can't be at work any more."""
        with contextlib.suppress(OSError):
            for name in os.listdir(self.parent):  # noqa: PTH208 - a descriptor
                if _LEFT.fullmatch(name):
                    seen = os.stat(name, dir_fd=self.parent, follow_symlinks=False)
                    if seen.st_mtime < time.time() - _SURELY_DEAD:
                        shutil.rmtree(name, ignore_errors=True, dir_fd=self.parent)

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            where = self.place.inductor.parent
            full = f"; {room.needs_and_has(where, None)}" if room.is_full(problem) else ""
            raise StoreError(
                f"the cache could not be put back: {problem.strerror or problem}{full}; nothing was changed",
                where=str(where),
                hint="make room there, or name another folder: --to DIR" if full else None,
            ) from None

    @contextlib.contextmanager
    def _opened(self, new: str) -> Iterator[None]:
        os.mkdir(new, 0o700, dir_fd=self.parent)
        self.folders[""] = secure_folder.open_inside(self.parent, new, make=False)
        try:
            for name in ("inductor", "triton"):
                self._folder(name)
            yield
        finally:
            for handle in self.folders.values():
                os.close(handle)

    def _folder(self, path: str) -> int:
        if path not in self.folders:
            above, _, name = path.rpartition("/")
            self.folders[path] = secure_folder.open_inside(self._folder(above), name, make=True)
        return self.folders[path]

    def _write(self, file: CachedFile) -> None:
        whole = _written(file, self.content(file), self.place)
        folder, _, name = _inside(file).rpartition("/")
        self._forget_folders()
        handle = os.open(name, _NEW, 0o700 if file.executable else 0o600, dir_fd=self._folder(folder))
        with os.fdopen(handle, "wb") as stream:
            stream.write(whole)

    def _forget_folders(self) -> None:
        """A key has a folder of its own: of thousands only the lately used stay open."""
        if len(self.folders) > 200:
            for path in [path for path in self.folders if path not in ("", "inductor", "triton")]:
                os.close(self.folders.pop(path))

    def _switch(self, new: str) -> tuple[Path, ...]:
        replaced = []
        inner = secure_folder.open_inside(self.parent, new, make=False)
        try:
            for folder in (self.place.inductor, self.place.triton):
                aside = _aside(folder)
                if os.path.lexists(folder):
                    os.rename(folder.name, aside.name, src_dir_fd=self.parent, dst_dir_fd=self.parent)
                    replaced.append(aside)
                os.rename(folder.name, folder.name, src_dir_fd=inner, dst_dir_fd=self.parent)
            os.fsync(self.parent)
        finally:
            os.close(inner)
        return tuple(replaced)


def _written(file: CachedFile, whole: bytes, place: CachePlace) -> bytes:
    """The bytes that go to disk: as named, but for the paths in Triton's lists."""
    if Digest.of(whole) != file.sha256 or len(whole) != file.size:
        raise EnvguardError(f"other bytes than the lock names for {file.path}", hint="envguard store check")
    if not cache_files.is_group(file.path):
        return whole
    folder = place.triton.parent / _inside(file).rpartition("/")[0]
    try:
        return cache_files.with_paths(whole, str(folder))
    except ValueError as problem:
        raise EnvguardError(f"{file.path}: {problem}") from None


def _inside(file: CachedFile) -> str:
    """The path below the parent of both folders."""
    return file.path if file.path.startswith("triton/") else f"inductor/{file.path}"


def _is_there(place: CachePlace, files: Sequence[CachedFile]) -> bool:
    """Whether every file is there with its bytes; more may be there."""
    parent = place.inductor.parent
    if not all((parent / _inside(file)).is_file() for file in files):  # cheap, before anything is hashed
        return False
    return place.inductor.is_dir() and all(_same(file, parent / _inside(file)) for file in files)


def _same(file: CachedFile, path: Path) -> bool:
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        whole = path.read_bytes()
        if cache_files.is_group(file.path):
            if whole != cache_files.with_paths(whole, str(path.parent)):
                return False
            whole = cache_files.without_paths(whole)
    except (OSError, ValueError):
        return False
    return Digest.of(whole) == file.sha256


def _aside(folder: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    aside = folder.with_name(f"{folder.name}.replaced-{stamp}")
    number = 1
    while os.path.lexists(aside):
        number += 1
        aside = folder.with_name(f"{folder.name}.replaced-{stamp}-{number}")
    return aside


def _room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise StoreError(
            f"the disk has no room for the cache: needs {room.size(size)}, has {room.size(free)}",
            where=str(folder),
            hint="make room there, or name another folder: --to DIR",
        )
