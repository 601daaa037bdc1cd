"""Restored environments on disk: built apart, finished by one rename, reached through links.

``<folder>/<name>/``: ``<lock-id>-<n>`` finished environments, ``.attempt-<random>`` those under way,
``.wheels`` fetched files, ``current`` the link for a restore without a target.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

from envguard.adapters import files, in_use, room, targets
from envguard.adapters.targets import Histories, TargetBook
from envguard.errors import InstallFailedError, InUseError, UsageError
from envguard.formats import marker as markers
from envguard.model.environment import Attempt, Occupant, Pruned, Restored, Room, Switched

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REMEMBERED = 16
"""Entries of a target's history."""
_SHORT = 12
"""Digits of a lock's id in a folder's name."""


class EnvironmentFolders:
    """``ports.Environments`` in a folder. ``wait``: seconds for another envguard to let go."""

    def __init__(self, folder: Path, *, wait: float = 30.0) -> None:
        self._folder = Path(os.path.realpath(folder))
        self._wait = wait
        self._book = TargetBook(self._folder, wait)

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Only one restore of a name at a time."""
        lock = self._folder / f".{self._of(name).name}.lock"
        return targets.held(lock, self._wait, f"another envguard restores {name}")

    def room(self) -> Room:
        """Free bytes and inodes of the disk, for this user."""
        folder = self._folder
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        seen = os.statvfs(folder)
        return Room(seen.f_bavail * seen.f_frsize, seen.f_favail if seen.f_files else None)

    def wheels(self, name: str) -> Path:
        """Where wheels are fetched to."""
        folder = self._of(name) / ".wheels"
        with _told(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def forget_wheels(self, name: str) -> None:
        """Remove what was fetched."""
        shutil.rmtree(self._of(name) / ".wheels", ignore_errors=True)

    def begin(self, name: str, lock: str) -> Attempt:
        """A folder of its own, and the name that the environment will have."""
        self._clear(name)
        folder = self._of(name) / f".attempt-{secrets.token_hex(8)}"
        with _told(folder):
            folder.mkdir(parents=True)
        return Attempt(folder, folder / "environment", self._free(name, lock))

    def put(self, environment: Path, path: Path, content: bytes, mode: int) -> None:
        """Write one file, breaking no link: what it replaces may be shared."""
        self._inside(environment, path)
        with _told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write(path, content, mode=mode, durable=False)

    def drop(self, environment: Path, path: Path) -> None:
        """Remove one file."""
        self._inside(environment, path)
        with _told(path):
            path.unlink(missing_ok=True)

    def make_executable(self, environment: Path, path: Path, *, executable: bool) -> None:
        """0755 or 0644, where that differs in exec bits; a link is let be."""
        self._inside(environment, path)
        with _told(path):
            if path.is_file() and not path.is_symlink() and bool(path.stat().st_mode & 0o111) is not executable:
                path.chmod(0o755 if executable else 0o644)

    def finish(self, attempt: Attempt, marker: bytes) -> Path:
        """Disk, marker, rename; then the rest of the attempt goes."""
        with _told(attempt.environment):
            _sync_disk(attempt.environment)
            files.write(attempt.environment / markers.FILENAME, marker)
            final = attempt.final
            while final.exists():  # only where the file system knows no locks
                final = _next(final)
            attempt.environment.rename(final)
            files.sync_folder(final.parent)
        self.discard(attempt)
        return final

    def discard(self, attempt: Attempt) -> None:
        """Remove an attempt's folder."""
        shutil.rmtree(attempt.folder, ignore_errors=True)

    def current(self, name: str) -> Path:
        """The link of a name."""
        return self._of(name).resolve() / "current"

    def check(self, target: Path) -> None:
        """UsageError when a target can't be switched without harm."""
        targets.check(targets.absolute(target))

    def occupants(self, target: Path) -> Sequence[Occupant]:
        """Processes that run from what a target leads to now, other than this one."""
        now = targets.led_to(targets.absolute(target))
        return () if now is None else in_use.occupants(now, leaving_out=(os.getpid(),))

    def switch(self, environment: Path, target: Path) -> Switched:
        """Link beside and rename, or a swap of link and folder."""
        target = targets.absolute(target)
        targets.check(target)
        with _told(target), self._book.held():
            target.parent.mkdir(parents=True, exist_ok=True)
            return self._lead(target, environment, self._book.read())

    def rollback(self, target: Path) -> Switched:
        """Back to the environment, or the folder, before; once more leads forward again."""
        target = targets.absolute(target)
        with _told(target), self._book.held():
            histories = self._book.read()
            now, previous = targets.led_to(target), _previous(target, histories.get(target, ()))
            if now is None or previous is None:
                hint = "see `envguard list` for the targets that restore switched"
                raise UsageError("there is nothing to go back to", where=str(target), hint=hint)
            _refuse_if_used(now, leaving_out=os.getpid())
            if not targets.is_aside(target, previous):
                return self._lead(target, previous, histories)
            self._book.write({**histories, target: (*_until(histories[target], now), now)})
            targets.swap_back(target, previous)
            return Switched(target, target, now)

    def restored(self, name: str | None = None) -> Sequence[Restored]:
        """All that have a marker, oldest first."""
        leading = self._leading()
        found = [
            restored
            for folder in self._names(name)
            for entry in _finished(folder)
            if (restored := _restored(entry, leading.get(entry, ()))) is not None
        ]
        return tuple(sorted(found, key=lambda entry: (entry.made, entry.folder)))

    def prune(self, name: str | None = None) -> Pruned:
        """All that no target needs. Nothing is removed when one of them is in use."""
        with contextlib.ExitStack() as stack:
            names = self._names(name)
            for folder in names:
                stack.enter_context(self.hold(folder.name))
            stack.enter_context(self._book.held())
            needed = self._needed()
            idle = [entry for folder in names for entry in _finished(folder) if entry not in needed]
            for environment in idle:
                _refuse_if_used(environment)
            size = 0
            for environment in idle:
                size += _size(environment)
                _remove(environment)
            for folder in names:
                self._clear(folder.name)
                self.forget_wheels(folder.name)
        return Pruned(tuple(idle), size)

    def _lead(self, target: Path, environment: Path, histories: Histories) -> Switched:
        """The history first: a switch that is killed before its one step leaves one more entry, and no harm."""
        previous = targets.led_to(target)
        real = previous is not None and not target.is_symlink()
        if real:
            previous = targets.aside_of(target)
        before = _until(histories.get(target, ()), previous)
        self._book.write({**histories, target: (*before, environment)})
        if real and previous is not None:
            return Switched(target, environment, previous, targets.swap(target, previous, environment))
        targets.link(target, environment)
        return Switched(target, environment, previous)

    def _of(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise UsageError(f"not a name that a folder can have: {name[:80]!r}", hint="rename the lock")
        return self._folder / name

    def _names(self, name: str | None) -> list[Path]:
        if name is not None:
            return [self._of(name)] if self._of(name).is_dir() else []
        if not self._folder.is_dir():
            return []
        return sorted(entry for entry in self._folder.iterdir() if entry.is_dir() and _NAME.fullmatch(entry.name))

    def _clear(self, name: str) -> None:
        """Remove what killed restores and prunes left, unless a process still works there."""
        folder = self._of(name)
        for leftover in (*folder.glob(".attempt-*"), *folder.glob(".removed-*")):
            if not in_use.occupants(leftover):
                shutil.rmtree(leftover, ignore_errors=True)

    def _free(self, name: str, lock: str) -> Path:
        folder = self._of(name)
        short = lock[:_SHORT]
        used = [int(entry.name.rpartition("-")[2]) for entry in folder.glob(f"{short}-*") if _numbered(entry)]
        return folder / f"{short}-{max(used, default=0) + 1}"

    def _inside(self, environment: Path, path: Path) -> None:
        """A recorded path must not lead out, by ``..`` or through a link that a wheel brought."""
        root, parent = environment.resolve(), path.parent.resolve()
        if ".." in path.parts or not parent.is_relative_to(root):
            raise InstallFailedError("a recorded file lies outside the environment", where=str(path))

    def _leading(self) -> dict[Path, tuple[Path, ...]]:
        """Environment → targets that lead to it now."""
        leading: dict[Path, tuple[Path, ...]] = {}
        known = {*self._book.read(), *(folder / "current" for folder in self._names(None))}
        for target in sorted(known):
            now = targets.led_to(target)
            if now is not None and target.is_symlink():
                leading[now] = (*leading.get(now, ()), target)
        return leading

    def _needed(self) -> set[Path]:
        """Where targets lead now, and where one rollback would lead them."""
        needed = set(self._leading())
        for target, history in self._book.read().items():
            previous = _previous(target, history) if targets.led_to(target) is not None else None
            if previous is not None:
                needed.add(previous.resolve())
        return needed


@contextlib.contextmanager
def _told(where: Path) -> Iterator[None]:
    """Disk faults as errors with a place."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or str(problem)
        if room.is_full(problem):
            reason += f" ({room.needs_and_has(where.parent, None)})"
        raise InstallFailedError(
            f"could not write: {reason}", where=str(problem.filename or where), hint="run the same command again"
        ) from None


def _until(history: Sequence[Path], now: Path | None) -> tuple[Path, ...]:
    """History up to what a target leads to now: what stands after it was never reached."""
    if now is None:
        return ()
    places = [place for place, entry in enumerate(history) if entry == now]
    whole = tuple(history[: places[-1] + 1]) if places else (*history, now)
    return whole[-_REMEMBERED:]


def _previous(target: Path, history: Sequence[Path]) -> Path | None:
    """What a target led to before what it leads to now, where that is still there."""
    now = targets.led_to(target)
    if now is None:
        return None
    before = _until(history, now)[:-1] if target.is_symlink() else history
    return next((entry for entry in reversed(before) if entry != now and entry.is_dir()), None)


def _refuse_if_used(environment: Path, leaving_out: int = 0) -> None:
    users = in_use.occupants(environment, leaving_out=(leaving_out,))
    if users:
        more = f" and {len(users) - 1} more" if len(users) > 1 else ""
        raise InUseError(f"{users[0]}{more} uses it", where=str(environment), hint="wait for it to end, or end it")


def _numbered(entry: Path) -> bool:
    return entry.name.rpartition("-")[2].isdecimal()


def _next(final: Path) -> Path:
    stem, _, number = final.name.rpartition("-")
    return final.with_name(f"{stem}-{int(number) + 1}")


def _finished(folder: Path) -> list[Path]:
    return sorted(
        entry
        for entry in folder.iterdir()
        if not entry.name.startswith(".") and not entry.is_symlink() and (entry / markers.FILENAME).is_file()
    )


def _restored(folder: Path, leading: tuple[Path, ...]) -> Restored | None:
    """None when the marker can't be read: it isn't one that restore wrote."""
    file = folder / markers.FILENAME
    try:
        marker = markers.load(file.read_bytes())
        made = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except (OSError, ValueError):
        return None
    return Restored(folder.parent.name, folder, marker.lock, made, _size(folder), leading)


def _size(folder: Path) -> int:
    """Bytes of regular files, each inode once."""
    seen: dict[int, int] = {}
    for here, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(here, name))  # noqa: PTH118
                if stat.S_ISREG(status.st_mode):
                    seen[status.st_ino] = status.st_size
    return sum(seen.values())


def _remove(environment: Path) -> None:
    """Out of sight by one rename first: a removal that is killed leaves no half environment to be found."""
    aside = environment.with_name(f".removed-{secrets.token_hex(8)}")
    with _told(environment):
        environment.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def _sync_disk(folder: Path) -> None:
    """Put all that was written on disk; uv itself waits for none of it."""
    if sys.platform != "linux":
        os.sync()
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        number = _syncfs(handle)
    finally:
        os.close(handle)
    if number:
        raise OSError(number, os.strerror(number), os.fspath(folder))


def _syncfs(handle: int) -> int:
    """syncfs(2): 0, or the error's number."""
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.syncfs(handle) == 0 else ctypes.get_errno()
