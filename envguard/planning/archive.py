"""Which distributions an archive takes, and what each lock needs of the store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.lock import Lock
from envguard.model.observed import Value

_NIGHTLY = re.compile(r"\.dev\d+|\+(?:[a-z0-9.]*\.)?git[0-9a-f]{7,}", re.IGNORECASE)


class Extent(Enum):
    """How much a snapshot archives."""

    NONE = "none"
    DEFAULT = "default"
    """What is likely to be gone soon, or can't be had from anywhere: nightlies, and wheels of unknown origin."""
    NIGHTLY = "nightly"
    UNIDENTIFIED = "unidentified"
    ALL = "all"


class Kind(Enum):
    """What an object of the store is."""

    WHEEL = "wheel"
    REBUILT = "rebuilt wheel"
    ROWS = "rows"
    FILE = "file"
    SOURCE = "source"
    KEYS = "cache keys"
    CACHE = "compile cache"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Need:
    """One object that a lock speaks of. ``required``: the lock says that the store holds it."""

    digest: Digest
    kind: Kind
    subject: str
    required: bool = True


def is_nightly(version: str) -> bool:
    """Whether an index keeps such a version for weeks only: ``2.12.0.dev20261101+cu130``, ``3.5.0+git0ce1a2b``."""
    return _NIGHTLY.search(version) is not None


def takes_wheel(entry: Distribution, extent: Extent) -> bool:
    """Whether the wheel of a distribution is archived; an editable install has none."""
    if extent is Extent.NONE or (entry.origin is not None and entry.origin.editable):
        return False
    if entry.wheel.sha256 is None and entry.installer not in (None, "pip", "uv"):
        return False  # conda's, or a Linux distribution's: there never was a wheel
    if extent is Extent.ALL:
        return True
    unidentified = extent is not Extent.NIGHTLY and entry.wheel.original is None
    return unidentified or (extent is not Extent.UNIDENTIFIED and is_nightly(entry.version))


def takes_source(entry: Distribution, extent: Extent) -> bool:
    """Whether the folder or repository that a distribution came from is archived."""
    has_source = entry.origin is not None and entry.origin.kind in ("vcs", "folder")
    return has_source and extent not in (Extent.NONE, Extent.NIGHTLY)


def size_of(entry: Distribution) -> int:
    """About how many bytes its wheel takes in the store."""
    if entry.wheel.sha256 is not None and entry.wheel.size is not None:
        return entry.wheel.size
    rows = entry.listing.values() if entry.listing is not None else ()
    return sum(int(row.size) for row in rows if row.size.isdecimal())


def needs_of(lock: Lock) -> tuple[Need, ...]:
    """Every object that a lock speaks of, each once."""
    found: dict[Digest, Need] = {}
    archive = frozenset(lock.archive)
    facts = lock.facts
    for entry in facts.distributions.value if isinstance(facts.distributions, Value) else ():
        for need in _of_distribution(entry, archive):
            found.setdefault(need.digest, need)
    for fact in facts.files.value if isinstance(facts.files, Value) else ():
        if fact.sha256 is not None:
            need = Need(fact.sha256, Kind.FILE, fact.shown, fact.sha256 in archive)
            found.setdefault(need.digest, need)
    keys = facts.keys
    if isinstance(keys, Value) and keys.value.components is not None:
        found.setdefault(keys.value.components, Need(keys.value.components, Kind.KEYS, "what graphs were made of"))
    if lock.cache_manifest is not None:
        found.setdefault(lock.cache_manifest, Need(lock.cache_manifest, Kind.CACHE, "list of its files"))
    for digest in archive:
        found.setdefault(digest, Need(digest, Kind.OTHER, ""))
    return tuple(found.values())


def _of_distribution(entry: Distribution, archive: frozenset[Digest]) -> list[Need]:
    wheel, name = entry.wheel, f"{entry.name} {entry.version}"
    needs = []
    if wheel.rebuilt is not None:
        needs.append(Need(wheel.rebuilt, Kind.REBUILT, name))
    if wheel.sha256 is not None and wheel.sha256 != wheel.rebuilt:
        needs.append(Need(wheel.sha256, Kind.WHEEL, name, wheel.sha256 in archive))
    if entry.rows is not None:
        needs.append(Need(entry.rows, Kind.ROWS, name))
    if entry.origin is not None and entry.origin.archive is not None:
        needs.append(Need(entry.origin.archive, Kind.SOURCE, name))
    return needs
