"""``ports.Caches`` on this machine."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from envguard.adapters.cache import capture, place_back, secure_folder
from envguard.adapters.git import GitError, git
from envguard.adapters.working_tree import root_of
from envguard.errors import EnvguardError
from envguard.model.cache_files import CachedFile, CachePlace, FoundFile, Listing, PutBack
from envguard.ports import Progress

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_GIT_SECONDS = 30.0


def beside(folder: Path) -> CachePlace:
    """The two folders of a cache in a folder."""
    return CachePlace(folder / "inductor", folder / "triton")


class CacheFolders:
    """``folder``: where the caches of locks lie; ``store``: the store's folder, whose owner counts."""

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder = folder
        self._store = store

    def own(self, name: str, lock: str) -> CachePlace:
        """``<folder>/<name>-<first 8 of the id>/``. EnvguardError for a name that can't be a folder's."""
        if not _NAME.fullmatch(name):
            raise EnvguardError(
                f"a lock of this name can't have a cache of its own: {name[:60]!r}",
                hint="use letters, digits, '.', '-' and '_'",
            )
        return beside(self._folder / f"{name}-{lock[:8]}")

    def prepare(self, place: CachePlace) -> None:
        """Make both folders. CacheUnsafeError, EnvguardError."""
        for folder in (place.inductor, place.triton):
            os.close(secure_folder.open_private(folder, make=True))

    def listing(self, place: CachePlace) -> Listing:
        """The files that may be kept."""
        return capture.listing(place, time.time())

    def content(self, file: FoundFile) -> bytes | None:
        """A file's bytes; None for one that changed, can't be read or isn't whole."""
        whole = capture.content(file)
        return whole if whole is not None and capture.is_whole(file, whole) else None

    def put_back(
        self,
        place: CachePlace,
        files: Sequence[CachedFile],
        content: Callable[[CachedFile], bytes],
        *,
        native: bool,
        progress: Progress,
    ) -> PutBack:
        """Write a cache beside and rename it into place."""
        return place_back.put_back(place, files, content, native=native, progress=progress)

    def distrust(self, lock_file: Path, content: bytes) -> str | None:
        """Why these bytes of a lock are not the user's own word."""
        return self._foreign_store() or _not_committed(lock_file, content)

    def _foreign_store(self) -> str | None:
        try:
            reason = secure_folder.unsafe(self._store.lstat())
        except OSError as problem:
            return f"the store can't be looked at ({problem.strerror or problem})"
        return None if reason is None else f"the store is not yours alone: {reason}"


def _not_committed(lock_file: Path, content: bytes) -> str | None:
    """git's word: these very bytes are what the last commit holds. Hooks and filters don't run for that."""
    file = Path(os.path.realpath(lock_file))
    root = root_of(file.parent)
    if root is None:
        return "the lock is in no git repository"
    try:
        committed = git(
            root, "cat-file", "blob", f"HEAD:{file.relative_to(root).as_posix()}", timeout=_GIT_SECONDS
        )
    except GitError as problem:
        reason = str(problem)
        missing = any(words in reason for words in ("not in 'HEAD'", "does not exist in", "invalid object name"))
        return "the lock is not committed to git" if missing else f"git can't vouch for the lock ({reason})"
    return None if committed == content else "the lock differs from what is committed to git"
