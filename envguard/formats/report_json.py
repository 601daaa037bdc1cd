"""Report → JSON document, schema ``envguard-report-1`` (docs/schema/report-1.json)."""

from __future__ import annotations

from typing import Any

from envguard.model.drift import Finding, Outcome, Report, Result

SCHEMA = "envguard-report-1"


def report_document(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "schema": SCHEMA,
        "recorded": report.recorded,
        "observed": report.observed,
        "outcome": report.outcome.value,
        "exit-code": report.exit_code,
        "counts": {outcome.value: report.count(outcome) for outcome in Outcome},
        "distributions": report.distributions,
        "files": report.files,
        "seconds": round(report.seconds, 3),
        "allowed-unknown": sorted(report.allowed_unknown),
        "results": [result_document(result) for result in report.results],
    }


def result_document(result: Result) -> dict[str, Any]:
    """One check's result as plain values."""
    return {
        "check": result.check,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "findings": [_finding(finding) for finding in result.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "severity": finding.severity.value,
        "subject": finding.subject,
        "recorded": finding.recorded,
        "observed": finding.observed,
        "detail": finding.detail,
        "hint": finding.hint,
        "key": finding.key,
        "ignored": finding.ignored,
    }
