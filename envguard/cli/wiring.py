"""Builds what the commands need, from arguments, settings and surroundings. Imports are made when asked for."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.adapters import project
from envguard.errors import UsageError
from envguard.formats.settings import Settings
from envguard.model.lock import Lock
from envguard.model.policy import Ignore, Policy, stricter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from envguard.adapters.ahead import Ahead
    from envguard.adapters.archive.archivist import Archivist
    from envguard.adapters.archive.roots import KnownRoots
    from envguard.adapters.cache.folders import CacheFolders
    from envguard.adapters.environments import EnvironmentFolders
    from envguard.adapters.index import SimpleIndexes
    from envguard.adapters.prober import EnvironmentProber
    from envguard.adapters.provenance.index_record import IndexRecord
    from envguard.adapters.provenance.local import LocalProvenance
    from envguard.adapters.remote.reader import Wheels
    from envguard.adapters.store import DirectoryStore
    from envguard.adapters.uv import Uv
    from envguard.adapters.warmer import TargetWarmer
    from envguard.formats.index_settings import Sources
    from envguard.model.cache_files import CachePlace
    from envguard.model.facts import Facts
    from envguard.model.target import Target
    from envguard.ports import Progress


PUBLIC_HOSTS = frozenset({"download.pytorch.org"})
"""Hosts of indexes that a lock may name without being asked to."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where envguard was called, and what the project says."""

    folder: Path
    root: Path
    settings: Settings


def surroundings() -> Surroundings:
    """The working folder and its project."""
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working folder no longer exists", hint="change to another folder") from None
    root, settings = project.settings(folder)
    return Surroundings(folder, root, settings)


def target(options: argparse.Namespace, around: Surroundings) -> Target:
    """The target, named or chosen."""
    from envguard.adapters.target import choose

    configured = around.root / around.settings.python if around.settings.python else None
    return choose(options.python, configured, around.folder, os.environ)


def lock_file(options: argparse.Namespace, around: Surroundings) -> Path:
    """The lock that is meant."""
    return project.find_lock(options.lock, around.root, around.settings)


def lock(options: argparse.Namespace, around: Surroundings) -> Lock:
    """The lock that is meant, read."""
    return project.load_lock(lock_file(options, around))[0]


def policy(options: argparse.Namespace, around: Surroundings) -> Policy:
    """The project's policy with the command line's words."""
    named = frozenset(part.strip() for text in options.allow_unknown for part in text.split(",") if part.strip())
    _known_checks(named)
    whole = stricter(around.settings.policy, Policy(strict=options.strict))
    return Policy(whole.strict, whole.allow_unknown | named, whole.ignore)


def baseline(file: Path | None, today: date, *, quiet: bool = False) -> tuple[Ignore, ...]:
    """Accepted drifts of a baseline file; those whose day has passed count again, and that is said."""
    if file is None:
        return ()
    from envguard.cli import output

    entries = project.load_baseline(file)
    for entry in entries:
        if entry.is_over(today):
            said = f"{file}: {entry.check} of {entry.subject} was accepted until {entry.until}; it counts again"
            output.say(said, quiet=quiet)
    return entries


def _known_checks(named: frozenset[str]) -> None:
    if not named:
        return
    from envguard.checks import CHECKS

    slugs = {check.slug for check in CHECKS}
    unknown = sorted(named - slugs)
    if unknown:
        raise UsageError(f"no check is called {unknown[0]}", hint=f"the checks are {', '.join(sorted(slugs))}")


def prober(
    around: Surroundings,
    *,
    live: bool = False,
    cache: Path | None = None,
    texts: bool = False,
    lock: Lock | None = None,
    variables: Mapping[str, str] | None = None,
    ahead: Ahead | None = None,
) -> EnvironmentProber:
    """Looks at environments; ``cache``, ``texts`` and ``ahead`` as for EnvironmentProber.

    ``lock``: whose own cache counts where nothing names another. ``variables``: set beside this shell's.
    """
    from envguard.adapters.interpreter import Interpreters
    from envguard.adapters.prober import EnvironmentProber

    return EnvironmentProber(
        interpreters=Interpreters(),
        environ={**os.environ, **variables} if variables else os.environ,
        working_folder=around.folder,
        live=live,
        cache=cache,
        own=own_cache(lock) if lock is not None and _has_cache(lock) else None,
        texts=texts,
        ahead=ahead,
    )


def _has_cache(lock: Lock) -> bool:
    """Whether any cache was made for a lock of that name: telling which one costs an import of all writers."""
    from envguard.adapters import folders

    try:
        return any(name.startswith(f"{lock.name}-") for name in os.listdir(folders.data() / "caches"))  # noqa: PTH208
    except OSError:
        return False


def own_cache(lock: Lock) -> CachePlace | None:
    """Where a lock's own cache lies, None for a name that can have none."""
    from envguard.errors import EnvguardError
    from envguard.formats.lockfile import lock_id

    try:
        return caches().own(lock.name, lock_id(lock))
    except EnvguardError:
        return None


def caches() -> CacheFolders:
    """The folder of locks' own compile caches."""
    from envguard.adapters import folders
    from envguard.adapters.cache.folders import CacheFolders

    return CacheFolders(folders.data() / "caches", folders.data() / "store")


def cache_place(around: Surroundings, named: Path | None, lock: Lock | None) -> CachePlace:
    """The cache that is meant: named, by the variables, the lock's own, torch's default."""
    from envguard.adapters.cache.place import place
    from envguard.model.cache_files import CachePlace

    own = own_cache(lock) if lock is not None else None
    where = place(os.environ, around.folder, named, own)
    return CachePlace(where.folder, where.triton or where.folder / "triton")


def this_processor() -> Facts:
    """Facts of this machine's CPU only."""
    from envguard.adapters import machine
    from envguard.model.facts import Facts

    return Facts(cpu=machine.cpu())


def warmer(around: Surroundings) -> TargetWarmer:
    """Starts a warmup's processes."""
    from envguard.adapters.warmer import TargetWarmer

    return TargetWarmer(os.environ, around.folder)


def store() -> DirectoryStore:
    """The store in envguard's data folder."""
    from envguard.adapters.store import DirectoryStore

    return DirectoryStore()


def sources(
    around: Surroundings, find_links: Sequence[Path], *, prefix: Path | None = None, offline: bool = False
) -> Sources:
    """Where wheels can be had from, by envguard's, uv's and pip's settings; ``prefix``: the target environment."""
    from envguard.adapters.index_settings import read

    where = read(find_links=find_links, own=around.settings.index, project=around.root, prefix=prefix)
    return where.offline() if offline else where


def public_addresses(where: Sources, *, private: bool) -> dict[str, str]:
    """Addresses by index name that may stand in a lock: never the default one, private ones only if asked."""
    return {
        entry.name: str(entry.address)
        for entry in where.indexes
        if entry.name != "default" and (private or entry.address.host in PUBLIC_HOSTS)
    }


def index(where: Sources) -> SimpleIndexes:
    """Find-links folders and indexes."""
    from envguard.adapters.index import SimpleIndexes

    return SimpleIndexes(where)


def reader(
    index: SimpleIndexes,
    progress: Progress,
    *,
    download: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Wheels:
    """Says what wheels are, from ranges; ``download`` and ``say`` as for Wheels."""
    from envguard.adapters.remote.reader import Wheels

    return Wheels(index, progress=progress, download=download, say=say)


def tags(around: Surroundings) -> tuple[str, str]:
    """Python and platform tags (``cp312``, ``linux_x86_64``) of the target; without one, of this Python."""
    import sys
    import sysconfig

    from envguard.adapters.interpreter import Interpreters
    from envguard.errors import EnvguardError
    from envguard.planning import wheel_match

    try:
        _, seen = Interpreters().look(target(argparse.Namespace(python=None), around).python)
    except EnvguardError:
        return f"cp{sys.version_info.major}{sys.version_info.minor}", sysconfig.get_platform()
    want = wheel_match.of_interpreter(seen)
    return want.python or wheel_match.ANY, want.platform or wheel_match.ANY


def installer() -> Uv:
    """uv."""
    from envguard.adapters.uv import Uv

    return Uv()


def environments() -> EnvironmentFolders:
    """The folder of restored environments."""
    from envguard.adapters import folders
    from envguard.adapters.environments import EnvironmentFolders

    return EnvironmentFolders(folders.data() / "envs")


def archivist(where: Sources) -> Archivist:
    """Finds and makes what an archive keeps."""
    from envguard.adapters import folders
    from envguard.adapters.archive.archivist import Archivist
    from envguard.adapters.archive.local_files import LocalFiles
    from envguard.adapters.provenance.caches import pip_cache_folder, uv_cache_folder

    uv = uv_cache_folder(os.environ)
    local = LocalFiles(find_links=where.find_links, uv_cache=uv, pip_cache=pip_cache_folder(os.environ))
    return Archivist(folders.data() / "staging", local, uv)


def roots(named: Sequence[Path] = ()) -> KnownRoots:
    """What the store's objects are needed for; ``named``: lock files that count whoever wrote them."""
    from envguard.adapters import folders
    from envguard.adapters.archive.roots import KnownRoots

    return KnownRoots(folders.state() / "locks", folders.data() / "envs", named, store=store())


def provenance(where: Sources, progress: Progress) -> LocalProvenance:
    """Finds which wheels are installed."""
    from envguard.adapters.provenance.caches import pip_cache_folder, uv_cache_folder
    from envguard.adapters.provenance.local import LocalProvenance

    return LocalProvenance(
        find_links=where.find_links,
        uv_cache=uv_cache_folder(os.environ),
        pip_cache=pip_cache_folder(os.environ),
        progress=progress,
    )


def identifier(where: Sources, index: SimpleIndexes, reader: Wheels, progress: Progress) -> IndexRecord:
    """Finds which wheels are installed: by what this machine knows, then by the indexes."""
    from envguard.adapters.provenance.index_record import IndexRecord

    return IndexRecord(provenance(where, progress), index, reader, progress=progress)


def now() -> datetime:
    """The time, or SOURCE_DATE_EPOCH (reproducible-builds.org) where it is set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"SOURCE_DATE_EPOCH is not a number of seconds: {epoch[:40]!r}") from None


def today() -> date:
    """The day, for ignores that end."""
    return now().date()
