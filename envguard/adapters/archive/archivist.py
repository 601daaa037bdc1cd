"""``ports.Archivist`` on this machine."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from envguard.adapters import room
from envguard.adapters.archive.local_files import LocalFiles
from envguard.adapters.archive.source_tree import source_tree
from envguard.adapters.provenance.reading import names
from envguard.adapters.rebuilt_wheel import rebuilt_wheel
from envguard.errors import StoreError
from envguard.model.archive import RebuiltWheel, SourceTree
from envguard.model.distribution import Distribution
from envguard.model.target import Layout

_STALE_SECONDS = 24 * 3600


class Archivist:
    """``folder``: envguard's own, on the store's disk, where files are gathered; made when it is needed."""

    def __init__(self, folder: Path, local: LocalFiles, uv_cache: Path | None = None) -> None:
        self._folder = folder
        self._local = local
        self._uv_cache = uv_cache

    def room(self) -> int:
        """Free bytes of the store's disk."""
        folder = self._folder
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return shutil.disk_usage(folder).free

    def staging(self) -> AbstractContextManager[Path]:
        """The folder; what lay there for a day is removed."""
        return self._staging()

    def local(self, entry: Distribution) -> Path | None:
        """A wheel file of this machine whose bytes are those that the lock names."""
        return self._local.find(entry)

    def rebuild(self, layout: Layout, entry: Distribution, folder: Path) -> RebuiltWheel:
        """A wheel made from the installed files. NotRebuildableError, StoreError."""
        with _told(folder):
            return rebuilt_wheel(layout, entry, folder, elsewhere=self._unpacked)

    def source(self, layout: Layout, entry: Distribution, folder: Path) -> SourceTree | None:
        """A tar of the folder that an install came from. NotRebuildableError, StoreError."""
        with _told(folder):
            return source_tree(layout, entry, folder, uv_cache=self._uv_cache)

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        with _told(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                    path.unlink()
        yield self._folder
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _unpacked(self, path: str, digest: str) -> Path | None:
        """A file of uv's unpacked wheels that lies at this path and has these bytes."""
        import hashlib

        algorithm, _, value = digest.partition(":")
        if self._uv_cache is None or not value:
            return None
        for bucket in (name for name in names(self._uv_cache) if name.startswith("archive-v")):
            for archive in names(self._uv_cache / bucket):
                file = self._uv_cache / bucket / archive / path
                with contextlib.suppress(OSError, ValueError):
                    if file.is_file() and hashlib.new(algorithm, file.read_bytes()).hexdigest() == value:
                        return file
        return None


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """Faults of the disk in words."""
    try:
        yield
    except OSError as problem:
        raise StoreError(
            f"could not write what is to be archived: {problem.strerror or problem}"
            + (f"; {room.needs_and_has(folder.parent, None)}" if room.is_full(problem) else ""),
            where=str(problem.filename or folder),
            hint="make room, or decline with --no-archive",
        ) from None
