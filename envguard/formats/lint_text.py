"""What lint found → lines of text, and a JSON document, schema ``envguard-lint-1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envguard.model.lint import Cases, LintFinding, LintSeverity

SCHEMA = "envguard-lint-1"


def lint_lines(cases: Cases, *, quiet: bool = False) -> Iterator[str]:
    """``file:line: rule: what → what to do``, errors first, then one line that sums up."""
    findings = sorted(cases.findings, key=_order)
    for finding in findings:
        if not (quiet and finding.ignored):
            yield finding_line(finding)
    if not quiet or any(finding.fails for finding in findings):
        yield cases.summary


def finding_line(finding: LintFinding) -> str:
    """One finding."""
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    weight = "" if finding.severity is LintSeverity.ERROR else f"{finding.severity.value}: "
    hint = f" → {finding.hint}" if finding.hint else ""
    if finding.ignored:
        weight, hint = "ignored: ", f"   (ignored {finding.ignored})"
    return printable(f"{place}: {finding.rule}: {weight}{finding.message}{hint}")


def _order(finding: LintFinding) -> tuple[bool, int, str, int]:
    grave = list(LintSeverity).index(finding.severity)
    return finding.ignored is not None, grave, finding.file, finding.line or 0


def printable(text: str) -> str:
    """Control characters and lone surrogates don't reach a terminal, nor break a line in two."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def lint_document(cases: Cases, exit_code: int) -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "schema": SCHEMA,
        "locks": sorted({case.file for case in cases.cases if case.file}),
        "exit-code": exit_code,
        "seconds": round(cases.seconds, 3),
        "findings": [finding_document(finding) for finding in sorted(cases.findings, key=_order)],
    }


def finding_document(finding: LintFinding) -> dict[str, Any]:
    """One finding as plain values."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "file": finding.file,
        "line": finding.line,
        "key": finding.key,
        "subject": finding.subject,
        "ignored": finding.ignored,
    }
