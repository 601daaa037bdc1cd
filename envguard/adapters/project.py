"""The project that envguard is called in: its settings, and its lock files."""

from __future__ import annotations

from pathlib import Path

from envguard.adapters import files
from envguard.errors import EnvguardError, LockInvalidError, SettingsInvalidError, UsageError
from envguard.formats import toml_text
from envguard.formats.decode import WrongValueError
from envguard.formats.lock_read import read_lock
from envguard.formats.settings import Settings, read_settings
from envguard.model.lock import Lock
from envguard.model.policy import Ignore

LOCKS = "lockfiles"


def settings(folder: Path) -> tuple[Path, Settings]:
    """The nearest pyproject.toml upwards that has ``[tool.envguard]``, and its folder; else this folder."""
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        try:
            content = file.read_bytes()
        except OSError:
            continue
        if b"envguard" not in content or not (b"tool.envguard" in content or b"[tool]" in content):
            continue
        try:
            found = read_settings(content)
        except toml_text.TomlError as problem:
            raise SettingsInvalidError(
                str(problem), where=f"{file}:{problem.line}" if problem.line else str(file)
            ) from None
        except WrongValueError as problem:
            line = toml_text.line_of(content.decode("utf-8-sig", "replace"), problem.path)
            raise SettingsInvalidError(
                problem.problem, where=f"{file}{f':{line}' if line else ''} {problem.path}"
            ) from None
        if found != Settings() or b"tool.envguard" in content:
            return place, found
    return folder, Settings()


def find_lock(named: Path | None, folder: Path, configured: Settings) -> Path:
    """The lock that is meant: named, configured, or the only one in lockfiles/."""
    if named is not None:
        return named
    if configured.lock is not None:
        return folder / configured.lock
    found = sorted((folder / LOCKS).glob("*.toml")) if (folder / LOCKS).is_dir() else []
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"no lock named, and none in {LOCKS}/",
            where=str(folder),
            hint="record one: envguard snapshot --name NAME",
        )
    names = ", ".join(file.name for file in found[:5])
    raise UsageError(
        f"no lock named, and {LOCKS}/ holds {len(found)}: {names}",
        where=str(folder),
        hint=f"name one: envguard verify {LOCKS}/{found[0].name}, or set lock in [tool.envguard]",
    )


def load_lock(file: Path) -> tuple[Lock, bytes]:
    """A lock and its bytes. LockInvalidError, also when it isn't there."""
    content = read_lock_bytes(file)
    return read_lock(content, str(file)), content


def read_lock_bytes(file: Path) -> bytes:
    """A lock file's bytes, whatever they are. LockInvalidError when there is no such file, or it is too large."""
    try:
        with file.open("rb") as stream:
            content = stream.read(toml_text.SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise LockInvalidError(
            "no such lock file", where=str(file), hint="record one: envguard snapshot --name NAME"
        ) from None
    except IsADirectoryError:
        raise LockInvalidError("a folder, not a lock file", where=str(file)) from None
    except OSError as problem:
        raise EnvguardError(f"could not be read: {problem.strerror}", where=str(file)) from None
    if len(content) > toml_text.SIZE_LIMIT:
        size = file.stat().st_size / 1048576
        raise LockInvalidError(f"{size:.1f} MiB, more than the 8 MiB allowed", where=str(file))
    return content


def load_baseline(file: Path) -> tuple[Ignore, ...]:
    """The entries of a baseline. SettingsInvalidError, also when it isn't there."""
    from envguard.formats.baseline import read_baseline

    try:
        content = file.read_bytes()
    except OSError as problem:
        raise SettingsInvalidError(
            f"the baseline could not be read: {problem.strerror}",
            where=str(file),
            hint=f"write one: envguard verify --write-baseline {file} --by NAME --reason TEXT --until DATE",
        ) from None
    try:
        return read_baseline(content)
    except toml_text.TomlError as problem:
        raise SettingsInvalidError(str(problem), where=f"{file}:{problem.line or 1}") from None
    except WrongValueError as problem:
        line = toml_text.line_of(content.decode("utf-8-sig", "replace"), problem.path) or 1
        raise SettingsInvalidError(problem.problem, where=f"{file}:{line} {problem.path}") from None


def save_lock(file: Path, content: bytes) -> None:
    """Write a lock file, whole or not at all."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, content)
    except OSError as problem:
        raise EnvguardError(f"the lock could not be written: {problem.strerror}", where=str(file)) from None
