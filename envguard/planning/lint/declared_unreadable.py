"""A declaration could not be understood, so nothing was held against it.

What: lines of the project's files that are no requirement, files that are no TOML or YAML, and included files that
are not there.

Why: what was not read cannot disagree. It is a warning, so that lint does not stand in for another tool.

How to mend it: the message says what is wrong with the line.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.lint import LintSeverity
from envguard.planning.lint.rule import Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """A warning a line."""
    for entry in subject.unreadable:
        hint = "mend the line; it was not compared"
        yield Said(entry.problem, hint, None, entry.file, LintSeverity.WARNING, entry.file, entry.line)


RULE = Rule("declared-unreadable", __doc__, look)
