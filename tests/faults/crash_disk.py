"""A disk that forgets: records what is done to a folder, and builds every state that a power cut could leave.

The model, after "All File Systems Are Not Created Equal" (OSDI'14): bytes written to a file are lost (the file is
there, empty or half) unless the file was synced after; names made, moved or removed in a folder are kept in order
up to any point, each folder for itself, unless the folder was synced after; a sync of the whole disk keeps all.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Step:
    """``kind``: name, sync-file, sync-folder, sync-all; ``call``: what made a name."""

    kind: str
    path: str
    other: str = ""
    call: str = ""


@dataclass
class CrashDisk:
    """Watches ``root``; ``states`` then yields a copy of it for every crash that was possible at every step."""

    root: Path
    steps: list[Step] = field(default_factory=list)
    _copies: list[Path] = field(default_factory=list)
    _store: Path | None = None

    @contextmanager
    def watching(self, store: Path) -> Iterator[CrashDisk]:
        """Record; ``store``: where copies of the folder after each step are kept."""
        self._store = store
        self._copy()
        with pytest.MonkeyPatch.context() as patch:
            for name in ("rename", "replace", "link", "symlink", "unlink", "remove", "mkdir", "rmdir"):
                patch.setattr(os, name, self._named(name, getattr(os, name)))
            for name in ("fsync", "fdatasync"):
                patch.setattr(os, name, self._synced(getattr(os, name)))
            patch.setattr(os, "sync", self._all(os.sync))
            patch.setattr(os, "open", self._opened(os.open))
            from envguard.adapters import environments

            patch.setattr(environments, "_syncfs", self._all(environments._syncfs))
            yield self
        self._copy()

    def _copy(self) -> None:
        assert self._store is not None
        copy = self._store / str(len(self._copies))
        shutil.copytree(self.root, copy, symlinks=True)
        self._copies.append(copy)

    def _inside(self, path: str) -> bool:
        return os.path.abspath(path).startswith(f"{self.root}/") or os.path.abspath(path) == str(self.root)

    def _whole(self, path: Any, folder: int | None) -> str:
        text = os.fsdecode(path)
        if folder is not None and not os.path.isabs(text):
            return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
        return os.path.abspath(text)

    def _named(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **more: Any) -> Any:
            source = more.get("src_dir_fd", more.get("dir_fd"))
            target = more.get("dst_dir_fd", more.get("dir_fd"))
            first = self._whole(arguments[0], source)
            second = self._whole(arguments[1], target) if name in ("rename", "replace", "link", "symlink") else ""
            result = call(*arguments, **more)
            if self._inside(second or first):
                self.steps.append(Step("name", first, second, name))
                self._copy()
            return result

        return watched

    def _opened(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            whole = self._whole(path, dir_fd)
            new = bool(flags & os.O_CREAT) and self._inside(whole) and not os.path.lexists(whole)
            handle: int = call(path, flags, mode, dir_fd=dir_fd)
            if new:
                self.steps.append(Step("name", whole, "", "create"))
                self._copy()
            return handle

        return watched

    def _synced(self, call: Callable[[int], None]) -> Callable[[int], None]:
        def watched(handle: int) -> None:
            call(handle)
            path = os.readlink(f"/proc/self/fd/{handle}")
            if self._inside(path):
                self.steps.append(Step("sync-folder" if os.path.isdir(path) else "sync-file", path))
                self._copy()

        return watched

    def _all(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any) -> Any:
            result = call(*arguments)
            self.steps.append(Step("sync-all", str(self.root)))
            self._copy()
            return result

        return watched

    def states(self, place: Path) -> Iterator[tuple[str, Path]]:
        """Every crash: after each step, with every set of folders set back to their last sync, and bytes lost.

        ``place`` is the folder that each state is built in, one after another; its name stays the root's.
        """
        for at in range(len(self._copies)):
            done = self.steps[:at]
            lost_names = self._unsynced_folders(done)
            for folders in _subsets(sorted(lost_names)):
                yield from self._state(at, done, folders, place)

    def _state(
        self, at: int, done: list[Step], folders: tuple[str, ...], place: Path
    ) -> Iterator[tuple[str, Path]]:
        for bytes_lost in (False, True):
            if place.exists():
                shutil.rmtree(place)
            shutil.copytree(self._copies[min(at, len(self._copies) - 1)], place, symlinks=True)
            for folder in folders:
                self._set_back(place, done, folder)
            if bytes_lost and not self._forget_bytes(place, done):
                continue
            yield f"after step {at}, {len(folders)} folders set back, bytes lost: {bytes_lost}", place

    def _since(self, done: list[Step], kinds: tuple[str, ...], path: str) -> int:
        """The number of the last step that made a path durable."""
        return max(
            (
                number
                for number, step in enumerate(done)
                if step.kind == "sync-all" or (step.kind in kinds and step.path == path)
            ),
            default=-1,
        )

    def _unsynced_folders(self, done: list[Step]) -> set[str]:
        found = set()
        for number, step in enumerate(done):
            if step.kind == "name":
                folder = os.path.dirname(step.other or step.path)
                if number > self._since(done, ("sync-folder",), folder):
                    found.add(folder)
        return found

    def _set_back(self, place: Path, done: list[Step], folder: str) -> None:
        """A folder's names as they were at its last sync; what left it since is there again."""
        since = self._since(done, ("sync-folder",), folder)
        then = self._copies[since + 1] / os.path.relpath(folder, self.root)
        now = place / os.path.relpath(folder, self.root)
        if not now.is_dir():
            return
        before = {entry.name for entry in then.iterdir()} if then.is_dir() else set()
        for entry in list(now.iterdir()):
            if entry.name not in before:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for name in before:
            old, new = then / name, now / name
            if old.is_symlink() or old.is_file():
                if new.is_symlink() or new.is_file():
                    new.unlink()
                elif new.is_dir():
                    shutil.rmtree(new)
                shutil.copy2(old, new, follow_symlinks=False)
            elif not new.exists():
                shutil.copytree(old, new, symlinks=True)

    def _forget_bytes(self, place: Path, done: list[Step]) -> bool:
        """Files that were not synced since they were made lose their bytes; whether there was one."""
        durable, lost = self._durable(done), False
        for path in place.rglob("*"):
            if path.is_symlink() or not path.is_file() or not path.stat().st_size:
                continue
            if str(path.relative_to(place)) not in durable:
                path.chmod(0o600)
                path.write_bytes(b"")
                lost = True
        return lost

    def _durable(self, done: list[Step]) -> set[str]:
        """Paths, under old and new names, of files whose bytes are on disk."""
        durable = _files(self._copies[0])
        for number, step in enumerate(done):
            path = os.path.relpath(step.path, self.root)
            if step.kind == "sync-all":
                durable |= _files(self._copies[number + 1])
            elif step.kind == "sync-file":
                durable.add(path)
            elif step.call == "create":
                durable.discard(path)
            elif step.call in ("rename", "replace", "link"):
                new = os.path.relpath(step.other, self.root)
                below = {name for name in durable if name == path or name.startswith(f"{path}/")}
                durable |= {new + name[len(path) :] for name in below}
        return durable


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    """None, each, each two, and all: more would only be slow."""
    for number in sorted({0, 1, 2, len(names)} & set(range(len(names) + 1))):
        yield from itertools.combinations(names, number)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
