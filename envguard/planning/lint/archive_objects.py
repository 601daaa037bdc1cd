"""The archive's list of objects and the entries that need them disagree.

What: every entry that says its bytes are in the archive (a rebuilt wheel, a kept source folder, evidence =
"archive") must be named in [archive] objects.

Why: the store keeps what a lock names. An object that no list names is removed by the next envguard store gc, and
restore then has nothing to build from.

How to mend it: envguard snapshot --archive --update on the environment, while it is still there.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence
from envguard.planning.lint.rule import Rule, Said, Subject

_HINT = "envguard snapshot --archive --update, while the environment is still there"


def look(subject: Subject) -> Iterator[Said]:
    """A finding an object that no list names."""
    named = frozenset(subject.lock.archive)
    for entry in subject.distributions.values():
        for key, digest in _claimed(entry):
            if digest not in named:
                yield Said(
                    f"the {key.replace('.', ' ')} of {entry.name} ({digest.short}) is not in [archive] objects",
                    _HINT,
                    f"distribution[{entry.name}].{key.partition('.')[0]}",
                    entry.name,
                )


def _claimed(entry: Distribution) -> Iterator[tuple[str, Digest]]:
    if entry.wheel.rebuilt is not None:
        yield "rebuilt", entry.wheel.rebuilt
    if entry.wheel.evidence is Evidence.ARCHIVE and entry.wheel.sha256 not in (None, entry.wheel.rebuilt):
        yield "sha256", entry.wheel.sha256
    if entry.origin is not None and entry.origin.archive is not None:
        yield "origin.archive", entry.origin.archive


RULE = Rule("archive-objects", __doc__, look)
