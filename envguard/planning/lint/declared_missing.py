"""The project depends on something that the lock doesn't have.

What: every dependency that always holds (project.dependencies, requirements.txt and the files it includes), whose
marker holds for the lock's interpreter, is looked for among the lock's distributions.

Why: an environment built from the lock cannot run the project.

How to mend it: install the project's dependencies and record again: envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.distribution import BOOTSTRAP
from envguard.planning.lint.agreement import RECORD, holding
from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A finding a dependency; none for a lock that lists no distributions."""
    if not subject.distributions:
        return
    for entry in holding(subject):
        if entry.wanted and entry.name not in subject.distributions and entry.name not in BOOTSTRAP:
            message = f"asks for {entry.name}{entry.specifier}, and {subject.file} has none"
            yield Said(message, RECORD, "distribution", entry.name, file=entry.file, line=entry.line)


RULE = Rule("declared-missing", __doc__, look)
