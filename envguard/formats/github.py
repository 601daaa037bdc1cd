"""Cases → GitHub's workflow commands (annotations), and the Markdown of a job's summary."""

from __future__ import annotations

from collections.abc import Iterator

from envguard.formats.lint_text import printable
from envguard.formats.markdown import code, plain, table
from envguard.model.drift import Outcome
from envguard.model.lint import Cases, LintFinding, LintSeverity

_COMMANDS = {LintSeverity.ERROR: "error", LintSeverity.WARNING: "warning", LintSeverity.NOTE: "notice"}
_ICONS = {LintSeverity.ERROR: "🔴", LintSeverity.WARNING: "🟡", LintSeverity.NOTE: "⚪"}
_SUMMARY_ROWS = 50


def annotation_lines(cases: Cases) -> Iterator[str]:
    """``::error file=…,line=…,title=…::message``, errors first; ignored findings are none. Then the summary."""
    findings = [finding for finding in cases.findings if finding.ignored is None]
    for severity, command in _COMMANDS.items():
        for finding in findings:
            if finding.severity is severity:
                yield _annotation(command, finding)
    yield cases.summary


def _annotation(command: str, finding: LintFinding) -> str:
    hint = f"\n{finding.hint}" if finding.hint else ""
    place = f"file={_property(finding.file)},line={finding.line or 1}"
    return (
        f"::{command} {place},title={_property(f'envguard: {finding.rule}')}::{_message(finding.message + hint)}"
    )


def _message(text: str) -> str:
    """The runner takes ``%``, CR and LF as its own."""
    return _clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _clean(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def summary_text(cases: Cases) -> str:
    """Markdown for ``$GITHUB_STEP_SUMMARY``."""
    findings = [finding for finding in cases.findings if finding.ignored is None]
    outcomes = {case.outcome for case in cases.cases}
    icon = "🔴" if Outcome.DRIFT in outcomes else "🟡" if Outcome.UNKNOWN in outcomes else "🟢"
    lines = [f"### {icon} envguard {cases.command}: {plain(cases.subject)}", "", plain(cases.summary), ""]
    ordered = sorted(findings, key=lambda finding: list(LintSeverity).index(finding.severity))
    if ordered:
        rows = [
            (
                _ICONS[found.severity],
                code(found.rule),
                plain(found.message),
                code(f"{found.file}:{found.line or 1}"),
            )
            for found in ordered[:_SUMMARY_ROWS]
        ]
        lines += [*table(("", "Rule", "What", "Where"), rows), ""]
    if len(ordered) > _SUMMARY_ROWS:
        lines += [f"… and {len(ordered) - _SUMMARY_ROWS:,} more.", ""]
    hints = list(dict.fromkeys(finding.hint for finding in ordered if finding.hint and finding.fails))
    lines += [f"- {plain(hint)}" for hint in hints[:5]]
    return "\n".join(lines).rstrip() + "\n"
