"""What a check says, as a person reads it."""

from __future__ import annotations

from datetime import date

from envguard.checks import compare
from envguard.checks.check import AnyCheck
from envguard.formats.report_text import finding_text
from envguard.model.drift import Result
from envguard.model.facts import Facts
from envguard.model.policy import Policy

TODAY = date(2026, 11, 29)


def run(check: AnyCheck, recorded: Facts, observed: Facts, policy: Policy | None = None) -> Result:
    """One check's result, judged."""
    (result,) = compare(recorded, observed, policy or Policy(), TODAY, (check,))
    return result


def lines(check: AnyCheck, recorded: Facts, observed: Facts) -> list[str]:
    """``severity subject recorded → observed: detail`` a finding."""
    return [
        f"{finding.severity.value} {finding_text(finding)}" for finding in check.run(recorded, observed).findings
    ]
