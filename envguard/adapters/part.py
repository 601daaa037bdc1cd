"""A file that is still coming: ``<filename>.part``, and beside it what is needed to go on after a break."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from envguard.adapters import room
from envguard.errors import EnvguardError, InUseError
from envguard.model.digest import Digest

_CHUNK = 1 << 20
_ELSEWHERE = "free some room, or name a folder on another disk"


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose bytes a part holds: only the same file of the same place, proved by ``validator``, is gone on with."""

    location: str
    validator: str | None
    total: int | None


class Part:
    """Bytes of one file, written in order and hashed on the way. Only one process may hold it at a time."""

    def __init__(self, folder: Path, filename: str) -> None:
        self.filename = filename
        self.path = folder / f"{filename}.part"
        self._memo = folder / f"{filename}.part.json"
        self._handle = -1
        self._state = hashlib.sha256()
        self.position = 0
        self.resumed = False
        """Whether bytes of an earlier answer are in it."""
        self.origin: Origin | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[Part]:
        """Open it, with what an earlier try left. InUseError while another process writes it."""
        self._handle = _locked(self.path)
        try:
            self._recall()
            yield self
        finally:
            handle, self._handle = self._handle, -1
            os.close(handle)

    def restart(self, origin: Origin | None) -> None:
        """Forget what is there; what comes next is of ``origin``."""
        self._state = hashlib.sha256()
        self.position = 0
        self.resumed = False
        self.origin = origin
        with self._disk():
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            if origin is None or origin.validator is None:
                self._memo.unlink(missing_ok=True)
            else:
                self._memo.write_text(json.dumps(asdict(origin)), encoding="utf-8")

    def write(self, piece: bytes) -> None:
        """Append. EnvguardError, with what is needed and there, on a full disk; the part is removed then."""
        view = memoryview(piece)
        with self._disk():
            while view:
                view = view[os.write(self._handle, view) :]
        self._state.update(piece)
        self.position += len(piece)

    def check_room(self, total: int | None) -> None:
        """EnvguardError before anything comes, when the disk can't take what is left of ``total`` bytes."""
        left = (total or 0) - self.position
        status = os.fstatvfs(self._handle)
        if left > status.f_bavail * status.f_frsize:
            message = f"no room for {self.filename}: {room.needs_and_has(self.path.parent, left)}"
            raise EnvguardError(message, where=str(self.path.parent), hint=_ELSEWHERE)

    @property
    def can_go_on(self) -> bool:
        """Whether a later call could go on from what is there."""
        return self.position > 0 and self.origin is not None and self.origin.validator is not None

    def is_whole_of(self, location: str) -> bool:
        """Whether an earlier try brought all bytes of this place's file, and ended before they were checked."""
        origin = self.origin
        return (
            self.can_go_on and origin is not None and (origin.location, origin.total) == (location, self.position)
        )

    @property
    def digest(self) -> Digest:
        """Of all bytes that are there."""
        return Digest(self._state.hexdigest())

    def finish(self, path: Path) -> None:
        """Whole and checked: give it its name."""
        with self._disk():
            self.path.replace(path)
        self._memo.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove it."""
        for path in (self.path, self._memo):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def _recall(self) -> None:
        """Take up what an earlier try left, if it says whose it is; hash it anew, for it may have been damaged."""
        origin = _remembered(self._memo)
        if origin is None:
            self.restart(None)
            return
        while chunk := os.read(self._handle, _CHUNK):
            self._state.update(chunk)
            self.position += len(chunk)
        self.origin = origin
        self.resumed = self.position > 0

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        """Errors of the disk in words; the part is removed, for it would only fill the disk."""
        try:
            yield
        except OSError as error:
            message = f"{self.filename} can't be written: {error.strerror or error}"
            if room.is_full(error):
                needs = self.origin.total if self.origin else None
                message += f"; {room.needs_and_has(self.path.parent, needs, self.position)}"
            self.discard()
            raise EnvguardError(message, where=str(self.path.parent), hint=_ELSEWHERE) from None


def _remembered(memo: Path) -> Origin | None:
    try:
        whole = json.loads(memo.read_bytes()[:65536])
        location, validator, total = whole["location"], whole["validator"], whole["total"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    sound = isinstance(location, str) and isinstance(validator, str) and isinstance(total, int | None)
    return Origin(location, validator, total) if sound else None


def _locked(path: Path) -> int:
    """Open for writing, locked against others; the lock goes with the process."""
    while True:
        handle = _opened(path)
        try:
            _lock(handle, path)
            if _is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        # Another process gave it its final name between our opening and locking: that file is not ours.
        os.close(handle)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags, 0o600)
    except OSError as error:
        raise EnvguardError(f"can't be written: {error.strerror}", where=str(path), hint=_ELSEWHERE) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise EnvguardError("is no file that can be written", where=str(path), hint="remove it")
    return handle


def _is_at(handle: int, path: Path) -> bool:
    try:
        there = path.lstat()
    except OSError:
        return False
    return (os.fstat(handle).st_dev, os.fstat(handle).st_ino) == (there.st_dev, there.st_ino)


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InUseError(
            f"another envguard is fetching {path.name.removesuffix('.part')} into the same folder",
            where=str(path.parent),
            hint="wait for it to end",
        ) from None
    except OSError:
        return  # a network file system without locks; the hash still tells what is right
