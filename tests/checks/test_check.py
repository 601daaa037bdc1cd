"""What there is to compare decides before a check does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envguard.checks.check import Check, settled
from envguard.model.drift import Finding, Outcome, Severity
from envguard.model.facts import Driver, Facts
from envguard.model.observed import NOT_ASKED, Absent, Observed, Unobserved, Value


def differences(recorded: Driver, observed: Driver) -> Iterator[Finding]:
    if recorded != observed:
        yield Finding("driver", recorded.version, observed.version)


DRIFTS = Check(
    "some-check", "why", lambda facts: facts.driver, differences, show=lambda driver: f"driver {driver.version}"
)
UNKNOWNS = Check(
    "some-check",
    "why",
    lambda facts: facts.driver,
    differences,
    when_gone=Outcome.UNKNOWN,
    when_new=Severity.NOTE,
    show=lambda driver: driver.version,
    none_here="no driver on this machine",
)
NOTES = Check(
    "some-check",
    "why",
    lambda facts: facts.driver,
    differences,
    when_gone=Outcome.MATCH,
    show=lambda driver: driver.version,
    subject="it",
)

OLD: Observed[Driver] = Value(Driver("570.1"))
NEW: Observed[Driver] = Value(Driver("580.1"))
ABSENT: Observed[Driver] = Absent()
UNOBSERVED: Observed[Driver] = Unobserved("no permission")


@pytest.mark.parametrize(
    ("recorded", "observed", "outcome", "reason"),
    [
        pytest.param(OLD, OLD, Outcome.MATCH, None, id="value, the same"),
        pytest.param(OLD, NEW, Outcome.DRIFT, None, id="value, another"),
        pytest.param(OLD, ABSENT, Outcome.DRIFT, None, id="value, absent"),
        pytest.param(OLD, UNOBSERVED, Outcome.UNKNOWN, "no permission", id="value, unobserved"),
        pytest.param(OLD, NOT_ASKED, Outcome.NOT_RECORDED, "not asked for", id="value, not asked for"),
        pytest.param(ABSENT, OLD, Outcome.DRIFT, None, id="absent, value"),
        pytest.param(
            ABSENT, ABSENT, Outcome.NOT_RECORDED, "none when it was recorded, none now", id="absent, absent"
        ),
        pytest.param(ABSENT, UNOBSERVED, Outcome.UNKNOWN, "no permission", id="absent, unobserved"),
        pytest.param(UNOBSERVED, OLD, Outcome.NOT_RECORDED, "no permission", id="unobserved, value"),
        pytest.param(UNOBSERVED, ABSENT, Outcome.NOT_RECORDED, "no permission", id="unobserved, absent"),
        pytest.param(UNOBSERVED, UNOBSERVED, Outcome.NOT_RECORDED, "no permission", id="unobserved, unobserved"),
    ],
)
def test_outcome_of_what_was_seen(
    recorded: Observed[Driver], observed: Observed[Driver], outcome: Outcome, reason: str | None
) -> None:
    result = DRIFTS.run(Facts(driver=recorded), Facts(driver=observed))
    assert (result.check, result.outcome, result.reason) == ("some-check", outcome, reason)


def test_gone_is_a_drift() -> None:
    result = DRIFTS.run(Facts(driver=OLD), Facts(driver=ABSENT))
    assert result.findings == (Finding("some-check", "driver 570.1", "none here"),)


def test_new_is_a_drift() -> None:
    result = DRIFTS.run(Facts(driver=ABSENT), Facts(driver=NEW))
    assert result.findings == (Finding("some-check", "none", "driver 580.1"),)


def test_gone_can_be_unknown() -> None:
    result = UNKNOWNS.run(Facts(driver=OLD), Facts(driver=ABSENT))
    assert result.outcome is Outcome.UNKNOWN
    assert result.reason == "no driver on this machine; the lock was made with 570.1"
    assert result.findings == ()


def test_gone_can_be_a_note() -> None:
    result = NOTES.run(Facts(driver=OLD), Facts(driver=ABSENT))
    assert result.outcome is Outcome.MATCH
    assert result.findings == (Finding("it", "570.1", "none here", severity=Severity.NOTE),)


def test_new_can_be_a_note() -> None:
    result = UNKNOWNS.run(Facts(driver=ABSENT), Facts(driver=NEW))
    assert result.outcome is Outcome.MATCH
    assert result.findings == (Finding("some-check", "none", "580.1", severity=Severity.NOTE),)


def test_sides_can_be_other_sections() -> None:
    check = Check(
        "some-check",
        "why",
        lambda facts: facts.driver,
        differences,
        sides=lambda recorded, observed: (NEW, observed.driver),
    )
    assert check.run(Facts(driver=OLD), Facts(driver=NEW)).outcome is Outcome.MATCH


DRIFT = Finding("a")
NOTE = Finding("b", severity=Severity.NOTE)
IGNORED = Finding("c", severity=Severity.IGNORED)
BLIND = Finding("d", severity=Severity.UNKNOWN)


@pytest.mark.parametrize(
    ("findings", "outcome", "reason"),
    [
        pytest.param((), Outcome.MATCH, None, id="nothing"),
        pytest.param((NOTE, IGNORED), Outcome.MATCH, None, id="notes and ignored"),
        pytest.param((BLIND, NOTE), Outcome.UNKNOWN, "1 could not be looked at", id="not looked at"),
        pytest.param((BLIND, BLIND), Outcome.UNKNOWN, "2 could not be looked at", id="two not looked at"),
        pytest.param((BLIND, DRIFT), Outcome.DRIFT, None, id="drift before not looked at"),
    ],
)
def test_what_findings_come_to(findings: tuple[Finding, ...], outcome: Outcome, reason: str | None) -> None:
    result = settled("some-check", findings)
    assert (result.outcome, result.reason, result.findings) == (outcome, reason, findings)
