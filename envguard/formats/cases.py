"""A report → cases with a file and a line, for the formats of CI services."""

from __future__ import annotations

from collections.abc import Mapping

from envguard.formats.key_lines import KeyLines
from envguard.formats.report_text import finding_text, summary
from envguard.model.drift import Finding, Outcome, Report, Result, Severity
from envguard.model.lint import Case, Cases, LintFinding, LintSeverity

_SEVERITIES = {
    Severity.DRIFT: LintSeverity.ERROR,
    Severity.UNKNOWN: LintSeverity.WARNING,
    Severity.NOTE: LintSeverity.NOTE,
    Severity.IGNORED: LintSeverity.NOTE,
}
_SECTIONS = {
    "bytecode": "file",
    "code": "code",
    "compile-cache": "cache",
    "cuda-mix": "distribution",
    "distributions": "distribution",
    "driver": "machine.driver",
    "files": "file",
    "gpus": "machine.gpus",
    "installer": "distribution",
    "interpreter": "interpreter",
    "live-torch": "live",
    "shadowing": "shadow",
    "shared-files": "shared",
    "startup-code": "file",
    "torch-build": "torch",
    "triton-pin": "torch.requires",
    "variables": "variables",
}
"""The lock's section that a check is about, for findings without a key."""


def cases_of(
    report: Report, *, command: str, file: str, text: str, explanations: Mapping[str, str] | None = None
) -> Cases:
    """``file``: the lock's path as it is to be shown, ``text``: its content, whose lines are pointed at."""
    lines = KeyLines(text)
    return Cases(
        command,
        f"{report.recorded} against {report.observed}",
        summary(report),
        tuple(_case(result, report, file, lines) for result in report.results),
        report.seconds,
        explanations or {},
    )


def _case(result: Result, report: Report, file: str, lines: KeyLines) -> Case:
    findings = [_finding(finding, result.check, file, lines) for finding in result.findings]
    allowed = result.check in report.allowed_unknown
    if result.outcome is Outcome.UNKNOWN and not any(f.severity is Severity.UNKNOWN for f in result.findings):
        findings.append(_unknown(result, file, lines, allowed=allowed))
    outcome = Outcome.NOT_RECORDED if result.outcome is Outcome.UNKNOWN and allowed else result.outcome
    return Case(result.check, outcome, tuple(findings), result.reason, file)


def _finding(finding: Finding, check: str, file: str, lines: KeyLines) -> LintFinding:
    key = finding.key or _SECTIONS.get(check, check)
    return LintFinding(
        check,
        _SEVERITIES[finding.severity],
        finding_text(finding),
        file,
        lines.line(key) or 1,
        key,
        finding.hint,
        finding.subject,
        finding.ignored,
    )


def _unknown(result: Result, file: str, lines: KeyLines, *, allowed: bool) -> LintFinding:
    key = _SECTIONS.get(result.check, result.check)
    return LintFinding(
        result.check,
        LintSeverity.NOTE if allowed else LintSeverity.WARNING,
        f"could not be observed: {result.reason or 'no reason is known'}",
        file,
        lines.line(key) or 1,
        key,
        None if allowed else f"where that is meant: --allow-unknown {result.check}",
        result.check,
    )
