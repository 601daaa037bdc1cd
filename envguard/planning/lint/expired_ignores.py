"""An accepted drift's time is over.

What: an entry of [[policy.ignore]] in the lock, or in [tool.envguard.policy], whose day "until" has passed.

Why: its drift counts again in verify. The entry is left over, or the drift was never mended.

How to mend it: mend the drift and remove the entry, or set a new day and say why in its reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.lint import LintSeverity
from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A warning an entry."""
    for number, entry in enumerate(subject.lock.policy.ignore):
        if entry.until is not None and entry.until < subject.today:
            yield Said(
                f"{entry.check} of {entry.subject} was accepted by {entry.by} until {entry.until}: {entry.reason}",
                "mend it and remove the entry, or set a new day",
                f"policy.ignore[{number}]",
                entry.subject,
                LintSeverity.WARNING,
            )


RULE = Rule("expired-ignores", __doc__, look)
