"""The run's own code moved.

What drifts: the git commit of the folder that the run was started from, and whether it has
uncommitted changes. Of the changes only a digest is kept, not their text.

Why it changes a training: it is the training. But code is expected to move between runs, and it is
yours to judge, so this is a note and never fails a verify (with --strict it does). It is recorded so
that one question has an answer later: which code ran when the environment was good? Code also
decides shapes, dtypes and masks, so when a compile cache misses although the whole environment
matches, look here first.

How to read it: "commit 1234567890 → 0987654321" are the short commits. "other uncommitted changes"
means that both sides had changes, but not the same ones.

How to mend it: git checkout COMMIT in the run's folder brings the recorded code back; changes that
were never committed can't be brought back from a lock. Commit before you record.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.model.drift import Finding, Outcome, Severity
from envguard.model.facts import Code


def compare(recorded: Code, observed: Code) -> Iterator[Finding]:
    """Notes only: of the commit, or else of the changes."""
    if recorded.commit != observed.commit:
        changes = " (with uncommitted changes)" if observed.changes else None
        yield _note(f"commit {recorded.commit[:10]}", observed.commit[:10], f"the run's code moved{changes or ''}")
    elif recorded.changes != observed.changes:
        yield _note(None, None, f"{_changes(recorded, observed)} at commit {observed.commit[:10]}")


def _changes(recorded: Code, observed: Code) -> str:
    if recorded.changes is None:
        return "has uncommitted changes"
    if observed.changes is None:
        return "has no uncommitted changes any more"
    return "has other uncommitted changes"


def _note(was: str | None, now: str | None, detail: str) -> Finding:
    return Finding("code", was, now, detail, severity=Severity.NOTE, key="code.commit" if was else "code.changes")


CHECK = Check(
    slug="code",
    explanation=__doc__,
    section=lambda facts: facts.code,
    compare=compare,
    when_gone=Outcome.MATCH,
    when_new=Severity.NOTE,
    show=lambda code: f"commit {code.commit[:10]}",
    none_here="not in git",
)
