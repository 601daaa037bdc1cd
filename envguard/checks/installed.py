"""Files together with the distributions they belong to: what is told by ``distributions`` is not told twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from envguard.model.digest import Digest
from envguard.model.distribution import BOOTSTRAP, Distribution
from envguard.model.facts import Facts, FileFact, FileKind
from envguard.model.observed import Observed, map_value, value_or_none

Place = tuple[str, str]
"""(root, path) of a file."""


@dataclass(frozen=True, slots=True)
class Installed:
    """What the wheels don't answer for, and the distributions; none where those could not be looked at."""

    files: tuple[FileFact, ...]
    distributions: tuple[Distribution, ...] | None


def installed(facts: Facts) -> Observed[Installed]:
    """The section of the checks of files."""
    return map_value(facts.files, lambda files: Installed(files, value_or_none(facts.distributions)))


def moved_distributions(recorded: Installed, observed: Installed) -> frozenset[str]:
    """Names that are on one side only, or in another version or build."""
    if recorded.distributions is None or observed.distributions is None:
        return frozenset()
    was, now = _builds(recorded.distributions), _builds(observed.distributions)
    return frozenset(name for name in was.keys() | now.keys() if not _same(was.get(name, ()), now.get(name, ())))


def editable_distributions(recorded: Installed, observed: Installed) -> frozenset[str]:
    """Names that are editable installs on both sides: their files name a folder of the machine."""
    both = [
        {entry.name for entry in side.distributions or () if entry.origin and entry.origin.editable}
        for side in (recorded, observed)
    ]
    return frozenset(both[0] & both[1])


def all_in(owners: tuple[str, ...], names: frozenset[str]) -> bool:
    """Whether a file has owners, and all of them are of these names."""
    return bool(owners) and names.issuperset(owners)


def only_bootstrap(owners: tuple[str, ...], recorded: Installed) -> bool:
    """Whether a file belongs to installers and tools alone, none of which the lock speaks of."""
    named = {entry.name for entry in recorded.distributions or ()}
    return all_in(owners, BOOTSTRAP) and named.isdisjoint(owners)


def by_place(files: Iterable[FileFact]) -> Mapping[Place, FileFact]:
    """Facts by place; where there are several of one, the gravest."""
    found: dict[Place, FileFact] = {}
    for fact in files:
        place = (fact.root, fact.path)
        if place not in found or _GRAVITY[fact.kind] < _GRAVITY[found[place].kind]:
            found[place] = fact
    return found


def lock_key(was: FileFact | None, now: FileFact | None) -> str:
    """Where the lock speaks of a file: its own entry, or its distribution's."""
    if was is None and now is not None and now.owners:
        return f"distribution[{now.owners[0]}]"
    fact = was or now
    return f"file[{fact.shown}]" if fact else "file"


_GRAVITY = {
    kind: place
    for place, kind in enumerate(
        (
            FileKind.UNREADABLE,
            FileKind.MISSING,
            FileKind.STARTUP,
            FileKind.MODIFIED,
            FileKind.ERRATA,
            FileKind.SCRIPT,
            FileKind.HEADER,
            FileKind.BYTECODE,
            FileKind.UNOWNED,
        )
    )
}

_Build = tuple[str, Digest | None, Digest | None]


def _builds(distributions: Iterable[Distribution]) -> dict[str, tuple[_Build, ...]]:
    builds: dict[str, tuple[_Build, ...]] = {}
    for entry in distributions:
        builds[entry.name] = (*builds.get(entry.name, ()), (entry.version, entry.record, entry.record_data))
    return builds


def _same(was: tuple[_Build, ...], now: tuple[_Build, ...]) -> bool:
    if len(was) != 1 or len(now) != 1:
        return False
    (version, record, record_data), (version_now, record_now, data_now) = was[0], now[0]
    if version != version_now:
        return False
    # Without a fingerprint on one side nothing says that it moved.
    return record is None or record_now is None or (record, record_data) == (record_now, data_now)
