"""From findings to what counts: ignored drifts, strictness."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase

from envguard.checks.check import settled
from envguard.model.drift import Finding, Result, Severity
from envguard.model.policy import Ignore, Policy


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
    match = _first(policy.ignore, check, finding.subject, today)
    if match is None:
        return finding
    if _is_over(match, today):
        return replace(finding, hint=f"was ignored by {match.by} until {match.until}: {match.reason}")
    until = f", until {match.until}" if match.until else ""
    return replace(finding, severity=Severity.IGNORED, ignored=f"by {match.by}: {match.reason}{until}")


def _first(ignores: Iterable[Ignore], check: str, subject: str, today: date) -> Ignore | None:
    """The first that matches, one that still holds before one that is over."""
    # A path such as a[1].py is no pattern that matches itself.
    matching = [
        ignore
        for ignore in ignores
        if ignore.check == check and (ignore.subject == subject or fnmatchcase(subject, ignore.subject))
    ]
    return min(matching, key=lambda ignore: _is_over(ignore, today), default=None)


def _is_over(ignore: Ignore, today: date) -> bool:
    return ignore.until is not None and ignore.until < today
