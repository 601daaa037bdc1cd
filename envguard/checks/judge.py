"""From findings to what counts: ignored drifts, strictness."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from envguard.model.drift import Finding, Outcome, Result, Severity
from envguard.model.policy import Ignore, Policy


def judge(result: Result, policy: Policy, today: date) -> Result:
    """Apply a policy to one check's result."""
    findings = tuple(_judge(finding, result.check, policy, today) for finding in result.findings)
    if result.outcome not in (Outcome.DRIFT, Outcome.MATCH):
        return replace(result, findings=findings)
    drifted = any(finding.severity is Severity.DRIFT for finding in findings)
    return replace(result, findings=findings, outcome=Outcome.DRIFT if drifted else Outcome.MATCH)


def _judge(finding: Finding, check: str, policy: Policy, today: date) -> Finding:
    if policy.strict and finding.severity is Severity.NOTE:
        finding = replace(finding, severity=Severity.DRIFT)
    if finding.severity is not Severity.DRIFT:
        return finding
    match = _first(policy.ignore, check, finding.subject)
    if match is None:
        return finding
    if match.until is not None and match.until < today:
        return replace(finding, hint=f"was ignored by {match.by} until {match.until}: {match.reason}")
    until = f", until {match.until}" if match.until else ""
    return replace(finding, severity=Severity.IGNORED, ignored=f"by {match.by}: {match.reason}{until}")


def _first(ignores: Iterable[Ignore], check: str, subject: str) -> Ignore | None:
    for ignore in ignores:
        if ignore.check == check and fnmatchcase(subject, ignore.subject):
            return ignore
    return None
