"""The store's folder: who may use it, which layout it has, and its faults in words."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from pathlib import Path

from envguard.adapters import files, room
from envguard.errors import StoreError

_IMAGE_LAYOUT = (1, 0, 0)
_LAYOUT = 1
_STALE_SECONDS = 24 * 3600
_MOVED = re.compile(r"([0-9a-f]{64})\.[0-9a-f]{8}")
"""An object that a collector moved away, to look at it once more."""
_MOVED_SECONDS = 60
_OURS = frozenset({"oci-layout", "index.json", "blobs", "tmp", "set-aside"})


class StoreFolder:
    """A folder in OCI image layout. ``objects``, ``temporary`` and ``aside`` are its parts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.objects = root / "blobs" / "sha256"
        self.temporary = root / "tmp"
        self.aside = root / "set-aside"
        self._known = False
        self._ready = False

    def check_layout(self) -> None:
        """Refuse, before anything is read or written, a layout that a newer envguard made. StoreError."""
        if self._known:
            return
        try:
            text = (self.root / "oci-layout").read_bytes()[:65536]
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self.fault(error) from None
        image, ours = self._versions(text)
        if image[0] > _IMAGE_LAYOUT[0] or ours > _LAYOUT:
            version = f"layout {ours}" if ours > _LAYOUT else f"image layout {'.'.join(map(str, image))}"
            raise self.unusable(
                f"was made by a newer envguard ({version}; this one knows layout {_LAYOUT})",
                hint="update envguard: uv tool upgrade envguard",
            )
        self._known = True

    def prepare(self) -> None:
        """Make the folders, once, and refuse a place where somebody else could change what is kept. StoreError."""
        if self._ready:
            return
        self.check_layout()
        try:
            self._make()
        except OSError as error:
            raise self.fault(error) from None
        self._ready = True
        self._sweep()

    def unusable(self, what: str, *, hint: str | None = None) -> StoreError:
        """``what`` follows the words "the store"."""
        return StoreError(f"the store {what}", where=str(self.root), hint=hint)

    def fault(self, error: OSError, needs: int | None = None, written: int = 0) -> StoreError:
        """A disk's error as one for people; of ``needs`` bytes ``written`` were, and will be free again."""
        if room.is_full(error):
            return self.unusable(
                f"has no room: {error.strerror}; {room.needs_and_has(self.root, needs, written)}",
                hint="free some with: envguard store gc; or name a folder on another disk in ENVGUARD_DATA_DIR",
            )
        return self.unusable(
            f"can't be used: {error.strerror or error}", hint="name another folder in ENVGUARD_DATA_DIR"
        )

    def _make(self) -> None:
        self._own(self.root)
        layout = self.root / "oci-layout"
        if not layout.exists():
            self._refuse_other_things()
            version = ".".join(map(str, _IMAGE_LAYOUT))
            files.write(layout, json.dumps({"imageLayoutVersion": version, "envguardStore": _LAYOUT}).encode())
        index = self.root / "index.json"
        if not index.exists():
            files.write(index, b'{"schemaVersion": 2, "manifests": []}')
        for folder in (self.objects.parent, self.objects, self.temporary, self.aside):
            self._own(folder)

    def _refuse_other_things(self) -> None:
        names = (path.name for path in self.root.iterdir())
        strange = sorted(name for name in names if name not in _OURS and not name.startswith("."))
        if strange:
            raise self.unusable(f"is not a store: the folder holds {strange[0]!r}", hint="name an empty folder")

    def _own(self, folder: Path) -> None:
        """Make a folder, 0700, or see that nobody else can change what is in it."""
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                files.sync_folder(folder.parent)
        status = folder.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise self.unusable(
                f"has a symbolic link for a folder: {folder}", hint="name the folder itself in ENVGUARD_DATA_DIR"
            )
        if not hasattr(os, "geteuid"):
            return
        if status.st_uid != os.geteuid():
            raise self.unusable(
                f"belongs to user {status.st_uid}, and this is user {os.geteuid()}: {folder}",
                hint="name a folder of your own in ENVGUARD_DATA_DIR",
            )
        if status.st_mode & 0o022:
            raise self.unusable(
                f"can be changed by others: {folder} has mode {stat.S_IMODE(status.st_mode):04o}",
                hint=f"chmod go-w '{folder}'",
            )

    def _sweep(self) -> None:
        """Remove what killed processes left, once nobody can still be at it; what a collector held goes back."""
        with contextlib.suppress(OSError):
            for path in self.temporary.iterdir():
                with contextlib.suppress(OSError):
                    self._sweep_one(path)

    def _sweep_one(self, path: Path) -> None:
        status, moved = path.lstat(), _MOVED.fullmatch(path.name)
        if moved is not None and time.time() - status.st_ctime > _MOVED_SECONDS:
            # A collector was killed before it looked whether somebody had put the object again.
            there = self.objects / moved[1]
            path.unlink() if there.exists() else path.rename(there)
        elif moved is None and time.time() - status.st_mtime > _STALE_SECONDS:
            path.unlink()

    def _versions(self, text: bytes) -> tuple[tuple[int, ...], int]:
        try:
            whole = json.loads(text)
            image = tuple(int(part) for part in whole["imageLayoutVersion"].split("."))
            ours = int(whole.get("envguardStore", _LAYOUT))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise self.unusable(
                "has an oci-layout file that can't be understood",
                hint=f"remove '{self.root / 'oci-layout'}': it is written anew, the objects stay",
            ) from None
        return image, ours
