"""The run's own code."""

from __future__ import annotations

import pytest

from envguard.checks.code import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Code, Facts
from envguard.model.observed import Absent, Value
from tests.builders import digest, facts
from tests.checks.lines import lines

OLD, NEW = "1234567890" + "a" * 30, "0987654321" + "b" * 30


def having(commit: str, changes: str | None = None) -> Facts:
    return facts(code=Value(Code(commit, digest(changes) if changes else None)))


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        (having(OLD), having(NEW), "code commit 1234567890 → 0987654321: the run's code moved"),
        (
            having(OLD),
            having(NEW, "x"),
            "code commit 1234567890 → 0987654321: the run's code moved (with uncommitted changes)",
        ),
        (having(OLD), having(OLD, "x"), "code has uncommitted changes at commit 1234567890"),
        (having(OLD, "x"), having(OLD), "code has no uncommitted changes any more at commit 1234567890"),
        (having(OLD, "x"), having(OLD, "y"), "code has other uncommitted changes at commit 1234567890"),
        (having(OLD), facts(code=Absent()), "code commit 1234567890 → not in git"),
        (facts(code=Absent()), having(OLD), "code none → commit 1234567890"),
    ],
    ids=["commit", "commit and changes", "changed", "clean now", "changed otherwise", "gone", "new"],
)
def test_a_note_and_never_more(was: Facts, now: Facts, line: str) -> None:
    assert lines(CHECK, was, now) == [f"note {line}"]
    assert CHECK.run(was, now).outcome is Outcome.MATCH
