"""init: a project is looked at, and gets what it needs to be held against a lock."""

from __future__ import annotations

import re
from dataclasses import dataclass

from envguard.errors import SettingsInvalidError, UsageError
from envguard.planning import init_settings
from envguard.planning.init import GITLAB, READ, SETTINGS, Host, Project, Proposal, propose
from envguard.ports import ProjectFolder

LOCKS = "lockfiles"
CLAIMING = ("uv.lock", "pylock.toml", "requirements.txt")
"""Files that a first lock can be made from where there is no environment, best first."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What init would do. ``lock``: path of the project's lock; ``has_lock``: it is there."""

    proposal: Proposal
    lock: str
    has_lock: bool
    claiming: tuple[str, ...]
    """Those of ``CLAIMING`` that are there."""


def look(folder: ProjectFolder, *, name: str | None, version: str) -> Looked:
    """Look at a project. ``name`` of its lock, where it shall have another than the project's own.

    UsageError where it has several locks and none is named; SettingsInvalidError.
    """
    files = {path: text for path in READ if (text := folder.read(path)) is not None}
    lock = _lock(folder, files.get(SETTINGS), name)
    project = Project(files, lock, folder.is_repository(), _host(folder, files), version)
    claiming = tuple(path for path in CLAIMING if folder.exists(path))
    return Looked(propose(project), lock, folder.exists(lock), claiming)


def write(proposal: Proposal, folder: ProjectFolder) -> None:
    """Write every change. EnvguardError for a file that can't be, or that has changed since it was read."""
    for change in proposal.changes:
        if folder.read(change.path) != change.before:
            raise UsageError(
                "it changed while init looked at it", where=change.path, hint="run envguard init again"
            )
    for change in proposal.changes:
        folder.write(change.path, change.after)


def _lock(folder: ProjectFolder, settings: str | None, name: str | None) -> str:
    configured = _configured(settings)
    if configured is not None:
        return configured
    if name is not None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise UsageError(f"not a lock's name: {name[:60]!r}", hint="use letters, digits, - and _")
        return f"{LOCKS}/{name}.toml"
    there = folder.locks(LOCKS)
    if len(there) > 1:
        raise UsageError(f"{LOCKS}/ holds {len(there)} locks", hint="say which one is the project's: --name NAME")
    if there:
        return there[0]
    own = init_settings.name(settings) or folder.name
    return f"{LOCKS}/{re.sub(r'[^a-z0-9]+', '-', own.lower()).strip('-') or 'environment'}.toml"


def _configured(settings: str | None) -> str | None:
    from envguard.formats.decode import WrongValueError
    from envguard.formats.settings import read_settings
    from envguard.formats.toml_text import TomlError

    try:
        return read_settings((settings or "").encode()).lock
    except (TomlError, WrongValueError) as problem:
        raise SettingsInvalidError(str(problem), where=SETTINGS) from None


def _host(folder: ProjectFolder, files: dict[str, str]) -> Host | None:
    if folder.exists(".github"):
        return Host.GITHUB
    if GITLAB in files:
        return Host.GITLAB
    remotes = folder.read(".git/config") or ""
    return next((host for host in Host if host.value in remotes.lower()), None)
