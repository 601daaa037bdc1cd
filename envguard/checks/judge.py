"""From findings to what counts: ignored drifts, strictness."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from envguard.checks.check import settled
from envguard.model.drift import Finding, Result, Severity
from envguard.model.policy import Policy, first_match


def judge(result: Result, policy: Policy, today: date) -> Result:
    """Apply a policy to one check's result."""
    if not result.findings:
        return result
    return settled(
        result.check, tuple(_judge(finding, result.check, policy, today) for finding in result.findings)
    )


def _judge(finding: Finding, check: str, policy: Policy, today: date) -> Finding:
    if policy.strict and finding.severity is Severity.NOTE:
        finding = replace(finding, severity=Severity.DRIFT)
    if finding.severity not in (Severity.DRIFT, Severity.UNKNOWN):
        return finding
    match = first_match(policy.ignore, check, finding.subject, today)
    if match is None:
        return finding
    if match.is_over(today):
        return replace(finding, hint=f"was ignored by {match.by} until {match.until}: {match.reason}")
    until = f", until {match.until}" if match.until else ""
    return replace(finding, severity=Severity.IGNORED, ignored=f"by {match.by}: {match.reason}{until}")
