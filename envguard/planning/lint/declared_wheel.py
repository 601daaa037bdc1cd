"""The project's lock file names other bytes, or another commit, for what the lock records.

What: the sha256 of wheels in uv.lock, pylock.toml and hashed requirements, and pinned git commits, held against
the lock's own. Versions that differ are told by declared-version.

Why: one version can be several files. Equal numbers with other bytes are the case that nobody sees.

How to mend it: envguard challenge LOCK says which of the two an index gives today; then record again, or take the
recorded file's hash over.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.declared import Declared
from envguard.model.distribution import Distribution, Evidence
from envguard.planning.lint.agreement import allows, by_choice, holding
from envguard.planning.lint.rule import Rule, Said, Subject

_LOCAL = frozenset({Evidence.BUILT_FROM_SDIST, Evidence.NONE})
"""Evidence of wheels that no index has, or that are not known."""


def look(subject: Subject) -> Iterator[Said]:
    """A finding a distribution and file."""
    for choice in by_choice(holding(subject)):
        told = [said for entry in choice if (said := _said(subject, entry)) is not None]
        if len(told) == len(choice):
            yield from told


def _said(subject: Subject, entry: Declared) -> Said | None:
    here = subject.distributions.get(entry.name)
    if here is None or not allows(entry.specifier, here.version):
        return None
    message = _commit(entry, here) or _bytes(entry, here)
    if message is None:
        return None
    hint = f"envguard challenge {subject.file} says which of them an index gives; then record it again"
    key = f"distribution[{entry.name}].sha256"
    return Said(message, hint, key, entry.name, file=entry.file, line=entry.line)


def _commit(entry: Declared, here: Distribution) -> str | None:
    recorded = here.origin.commit if here.origin else None
    if entry.commit is None or recorded is None or entry.commit == recorded:
        return None
    return f"pins {entry.name} to commit {entry.commit[:12]}, recorded is {recorded[:12]}"


def _bytes(entry: Declared, here: Distribution) -> str | None:
    wheel = here.wheel
    if wheel.sha256 is None or wheel.sha256 == wheel.rebuilt or wheel.evidence in _LOCAL:
        return None
    named = entry.wheels.get(wheel.filename) if wheel.filename else None
    if named is not None and named != wheel.sha256.hex:
        return f"{wheel.filename} has sha256 {named[:12]}… there, recorded is {wheel.sha256.short}…"
    if entry.wheels and wheel.filename and named is None and wheel.sha256.hex not in entry.wheels.values():
        return f"has no {wheel.filename} among its {len(entry.wheels)} wheels of {entry.name} {here.version}"
    if entry.hashes and wheel.sha256.hex not in entry.hashes:
        return f"none of the {len(entry.hashes)} hashes of {entry.name} is the recorded {wheel.sha256.short}…"
    return None


RULE = Rule("declared-wheel", __doc__, look)
