"""The file is not as envguard writes it.

What: order of keys, quoting, indentation, blank lines. Merge conflicts and edits by hand leave such traces.

Why: the same facts must give the same bytes, or every snapshot rewrites lines that nobody changed and a review
of the lock's diff shows noise instead of what moved.

How to mend it: envguard lint --fix LOCK rewrites it. The comment at the head, notes and unknown keys stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """At most one finding, at the first line that differs."""
    if subject.uncanonical is not None:
        yield Said(
            "not in the form that envguard writes, from this line on",
            f"rewrite it: envguard lint --fix {subject.file}",
            line=subject.uncanonical,
        )


RULE = Rule("canonical", __doc__, look)
