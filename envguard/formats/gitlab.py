"""Cases → GitLab's code quality report (the subset of Code Climate's that GitLab reads)."""

from __future__ import annotations

from typing import Any

from envguard.formats.fingerprint import fingerprints
from envguard.model.lint import Cases, LintSeverity

_SEVERITIES = {LintSeverity.ERROR: "critical", LintSeverity.WARNING: "minor", LintSeverity.NOTE: "info"}


def gitlab_document(cases: Cases) -> list[dict[str, Any]]:
    """A list of issues; ignored findings are none."""
    return [
        {
            "type": "issue",
            "check_name": finding.rule,
            "description": _text(finding.message + (f" → {finding.hint}" if finding.hint else "")),
            "categories": ["Compatibility"],
            "severity": _SEVERITIES[finding.severity],
            "fingerprint": name,
            "location": {"path": _text(finding.file), "lines": {"begin": finding.line or 1}},
        }
        for finding, name in fingerprints(cases.findings)
        if finding.ignored is None
    ]


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
