"""Targets: links that lead to environments, what each led to before, and the switch from one to the next."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from envguard.adapters import files
from envguard.adapters.exchange import ExchangeUnsupportedError, exchange
from envguard.errors import InstallFailedError, InUseError, StoreError, UsageError

_SCHEMA = 1
_ASIDE = ".before-"
"""A folder that was in a target's way is kept as ``<target>.before-<n>``."""

Histories = Mapping[Path, tuple[Path, ...]]
"""Target → what it led to, oldest first; the last one may never have been reached (a killed switch)."""


class TargetBook:
    """Remembers targets in one file, so that a rollback knows the way and a prune what must stay."""

    def __init__(self, folder: Path, wait: float) -> None:
        self._file = folder / ".targets.json"
        self._lock = folder / ".targets.lock"
        self._wait = wait

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Only one process at a time changes targets. InUseError."""
        with held(self._lock, self._wait, "another envguard changes the targets of restored environments"):
            yield

    def read(self) -> dict[Path, tuple[Path, ...]]:
        """All histories. StoreError when the file is damaged: what must stay is not known then."""
        try:
            document = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as problem:
            raise self._damaged(str(problem)) from None
        match document:
            case {"schema": 1, "targets": dict(targets)}:
                return {Path(target): self._history(entry) for target, entry in targets.items()}
        raise self._damaged(f"not of schema {_SCHEMA}")

    def write(self, histories: Histories) -> None:
        """Replace all histories."""
        targets = {os.fspath(target): [*map(os.fspath, history)] for target, history in sorted(histories.items())}
        files.write(self._file, (json.dumps({"schema": _SCHEMA, "targets": targets}, indent=2) + "\n").encode())

    def _history(self, entry: object) -> tuple[Path, ...]:
        if isinstance(entry, list) and all(isinstance(path, str) for path in entry):
            return tuple(map(Path, entry))
        raise self._damaged("a target without a list of folders")

    def _damaged(self, reason: str) -> StoreError:
        return StoreError(
            f"the list of targets can't be read: {reason}",
            where=str(self._file),
            hint="move it away; targets restored before are then unknown to rollback and prune",
        )


@contextlib.contextmanager
def held(lock: Path, wait: float, what: str) -> Iterator[None]:
    """Hold a lock file. InUseError after ``wait`` seconds. A file system without locks is used without."""
    from filelock import FileLock, Timeout

    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InstallFailedError(
            f"no folder for environments can be made: {problem.strerror}",
            where=str(lock.parent),
            hint="name a folder of your own in ENVGUARD_DATA_DIR",
        ) from None
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(FileLock(lock, timeout=wait))
        except Timeout:
            hint = "wait for it to end, then run the same command again"
            raise InUseError(what, where=str(lock), hint=hint) from None
        except (NotImplementedError, OSError):  # no locks here; nothing rests on them: names are unique
            pass
        yield


def absolute(target: Path) -> Path:
    """A target by the one name it is remembered under: the folder's real path, the last part as it is."""
    whole = Path(os.path.abspath(target))  # noqa: PTH100 (resolve() would follow the target itself)
    return whole.parent.resolve() / whole.name


def led_to(target: Path) -> Path | None:
    """What a target leads to: a link's end, a folder itself, None where there is nothing."""
    if target.is_symlink():
        return target.resolve()
    return target if target.exists() else None


def check(target: Path) -> None:
    """UsageError when a target can't be made to lead to an environment without harm."""
    if target.is_symlink() or not target.exists():
        parent = _existing(target.parent)
        if not parent.is_dir() or not os.access(parent, os.W_OK):
            raise UsageError("the target can't be made there", where=str(target), hint="name another --target")
        return
    if not target.is_dir():
        raise UsageError("the target is a file", where=str(target), hint="name another --target")
    if os.path.ismount(target):
        hint = "name a folder inside it: --target " + str(target / "env")
        raise UsageError("the target is a mount point, which can't be replaced", where=str(target), hint=hint)
    if not (target / "pyvenv.cfg").is_file() and any(target.iterdir()):
        raise UsageError(
            "the target is a folder that holds something other than an environment (it has no pyvenv.cfg)",
            where=str(target),
            hint="name another --target",
        )


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def link(target: Path, environment: Path) -> None:
    """Make ``target`` (nothing yet, or a link) a link to ``environment``, by one rename."""
    beside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.link")
    beside.symlink_to(environment)
    try:
        beside.replace(target)
    except OSError as problem:
        beside.unlink()
        raise _failed(target, problem) from None
    files.sync_folder(target.parent)


def aside_of(target: Path) -> Path:
    """A free name beside a folder; links that killed switches left there are removed."""
    number = 1
    while os.path.lexists(aside := target.with_name(f"{target.name}{_ASIDE}{number}")):
        if aside.is_symlink():
            aside.unlink()
            break
        number += 1
    return aside


def is_aside(target: Path, folder: Path) -> bool:
    """Whether it is the folder that once was the target, kept beside it."""
    return folder.parent == target.parent and folder.name.startswith(target.name + _ASIDE)


def swap(target: Path, aside: Path, environment: Path) -> tuple[str, ...]:
    """Put a link where a folder is, and the folder at ``aside``, in one step where the file system can; notes."""
    aside.symlink_to(environment)
    try:
        exchange(aside, target)
    except ExchangeUnsupportedError:
        aside.unlink()
        return _two_renames(target, aside, environment)
    except OSError as problem:
        aside.unlink()
        raise _failed(target, problem) from None
    files.sync_folder(target.parent)
    return ()


def swap_back(target: Path, aside: Path) -> None:
    """The folder at ``aside`` to ``target``, where a link is; the link is gone."""
    try:
        exchange(aside, target)
        aside.unlink()
    except ExchangeUnsupportedError:
        environment = target.readlink()
        target.unlink()
        try:
            aside.rename(target)
        except OSError as problem:
            target.symlink_to(environment)
            raise _failed(target, problem) from None
    except OSError as problem:
        raise _failed(target, problem) from None
    files.sync_folder(target.parent)


def _two_renames(target: Path, aside: Path, environment: Path) -> tuple[str, ...]:
    try:
        target.rename(aside)
    except OSError as problem:
        raise _failed(target, problem) from None
    try:
        link(target, environment)
    except BaseException:
        aside.rename(target)
        raise
    return (f"{target} was missing for an instant: this file system can't swap two names in one step",)


def _failed(target: Path, problem: OSError) -> InstallFailedError:
    return InstallFailedError(
        f"the target could not be switched: {problem.strerror}",
        where=str(target),
        hint="the environment is whole: see `envguard list`, and run the same command again",
    )
