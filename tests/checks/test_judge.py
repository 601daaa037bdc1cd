"""What a policy makes of a result."""

from __future__ import annotations

from datetime import date

import pytest

from envguard.checks.check import settled
from envguard.checks.judge import judge
from envguard.model.drift import Finding, Outcome, Result, Severity
from envguard.model.policy import Ignore, Policy

TODAY = date(2026, 11, 29)
DRIFT = Finding("requests/api.py", detail="changed")
NOTE = Finding("pip", detail="extra", severity=Severity.NOTE)
BLIND = Finding("bin/x", detail="can't be read", severity=Severity.UNKNOWN)


def ignore(subject: str = "requests/api.py", check: str = "files", until: date | None = None) -> Policy:
    return Policy(ignore=(Ignore(check, subject, "ada", "a local fix", until),))


def test_without_a_policy_nothing_changes() -> None:
    result = settled("files", (DRIFT, NOTE, BLIND))
    assert judge(result, Policy(), TODAY) == result


def test_strict_makes_notes_drifts() -> None:
    result = judge(settled("files", (NOTE,)), Policy(strict=True), TODAY)
    assert result.outcome is Outcome.DRIFT
    assert result.findings[0].severity is Severity.DRIFT


def test_strict_leaves_unknown_unknown() -> None:
    result = judge(settled("files", (BLIND,)), Policy(strict=True), TODAY)
    assert result.outcome is Outcome.UNKNOWN
    assert result.findings == (BLIND,)


def test_strict_notes_beside_unknown_are_drift() -> None:
    assert judge(settled("files", (BLIND, NOTE)), Policy(strict=True), TODAY).outcome is Outcome.DRIFT


@pytest.mark.parametrize(
    "pattern",
    ["requests/api.py", "requests/*", "*"],
)
def test_ignored_drift_is_told_as_ignored(pattern: str) -> None:
    result = judge(settled("files", (DRIFT,)), ignore(pattern), TODAY)
    assert result.outcome is Outcome.MATCH
    assert result.findings[0].severity is Severity.IGNORED
    assert result.findings[0].ignored == "by ada: a local fix"


def test_a_path_is_its_own_pattern() -> None:
    finding = Finding("a[1].py")
    assert judge(settled("files", (finding,)), ignore("a[1].py"), TODAY).outcome is Outcome.MATCH


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(ignore("other.py"), id="another subject"),
        pytest.param(ignore("requests"), id="only a part of the subject"),
        pytest.param(ignore("REQUESTS/api.py"), id="another case"),
        pytest.param(ignore(check="distributions"), id="another check"),
    ],
)
def test_other_ignores_do_not_count(policy: Policy) -> None:
    assert judge(settled("files", (DRIFT,)), policy, TODAY).outcome is Outcome.DRIFT


def test_an_ignore_holds_on_its_last_day() -> None:
    result = judge(settled("files", (DRIFT,)), ignore(until=TODAY), TODAY)
    assert result.findings[0].ignored == "by ada: a local fix, until 2026-11-29"


def test_an_ignore_that_is_over_says_so() -> None:
    result = judge(settled("files", (DRIFT,)), ignore(until=date(2026, 11, 28)), TODAY)
    assert result.outcome is Outcome.DRIFT
    assert result.findings[0].hint == "was ignored by ada until 2026-11-28: a local fix"


def test_an_ignore_that_holds_goes_before_one_that_is_over() -> None:
    over = Ignore("files", "requests/*", "ada", "then", date(2020, 1, 1))
    holds = Ignore("files", "requests/api.py", "bob", "now")
    result = judge(settled("files", (DRIFT,)), Policy(ignore=(over, holds)), TODAY)
    assert result.findings[0].ignored == "by bob: now"


def test_what_could_not_be_looked_at_can_be_ignored() -> None:
    result = judge(settled("files", (BLIND,)), ignore("bin/x"), TODAY)
    assert result.outcome is Outcome.MATCH


def test_ignoring_the_drift_does_not_hide_what_was_not_looked_at() -> None:
    result = judge(settled("files", (DRIFT, BLIND)), ignore(), TODAY)
    assert result.outcome is Outcome.UNKNOWN
    assert result.reason == "1 could not be looked at"


def test_a_note_is_not_ignored_but_a_strict_one_is() -> None:
    result = settled("files", (NOTE,))
    assert judge(result, ignore("pip"), TODAY).findings == (NOTE,)
    strict = Policy(strict=True, ignore=ignore("pip").ignore)
    assert judge(result, strict, TODAY).findings[0].severity is Severity.IGNORED


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.NOT_RECORDED, Outcome.MATCH])
def test_results_without_findings_stay(outcome: Outcome) -> None:
    result = Result("files", outcome, reason="no permission")
    assert judge(result, Policy(strict=True), TODAY) == result
