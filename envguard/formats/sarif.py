"""Cases → SARIF 2.1.0 (OASIS standard), as code scanning services take it."""

from __future__ import annotations

from typing import Any

from envguard.formats.fingerprint import fingerprints
from envguard.model.lint import Case, Cases, LintFinding, LintSeverity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {LintSeverity.ERROR: "error", LintSeverity.WARNING: "warning", LintSeverity.NOTE: "note"}


def sarif_document(cases: Cases, *, version: str) -> dict[str, Any]:
    """The log as plain values, one run. ``version``: envguard's own."""
    names = list(dict.fromkeys(case.name for case in cases.cases))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "envguard",
                        "semanticVersion": version,
                        "rules": [_rule(name, cases) for name in names],
                    }
                },
                "automationDetails": {"id": f"envguard/{cases.command}/"},
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _silent(cases.cases)}],
                "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the working folder"}}},
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(finding, names.index(finding.rule), name)
                    for finding, name in fingerprints(cases.findings)
                ],
            }
        ],
    }


def _rule(name: str, cases: Cases) -> dict[str, Any]:
    title, _, rest = cases.explanations.get(name, "").partition("\n")
    rule: dict[str, Any] = {"id": name, "shortDescription": {"text": title or name}}
    if rest.strip():
        rule["fullDescription"] = {"text": title}
        rule["help"] = {"text": rest.strip()}
    return rule


def _result(finding: LintFinding, rule: int, name: str) -> dict[str, Any]:
    hint = f" → {finding.hint}" if finding.hint else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _text(finding.message + hint)},
        "locations": [_location(finding)],
        "partialFingerprints": {"envguard/v1": name},
    }
    if finding.ignored:
        result["suppressions"] = [{"kind": "external", "justification": _text(finding.ignored)}]
    return result


def _location(finding: LintFinding) -> dict[str, Any]:
    location: dict[str, Any] = {"uri": _percent(finding.file)}
    if not finding.file.startswith("/"):
        location["uriBaseId"] = "%SRCROOT%"
    else:
        location["uri"] = f"file://{_percent(finding.file)}"
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": location, "region": {"startLine": finding.line or 1}}
    }
    if finding.key:
        found["logicalLocations"] = [{"fullyQualifiedName": _text(finding.key), "kind": "member"}]
    return found


def _percent(path: str) -> str:
    """A path as a URI reference (RFC 3986)."""
    return "".join(
        chr(byte) if byte < 128 and (chr(byte).isalnum() or chr(byte) in "-._~/+@=") else f"%{byte:02X}"
        for byte in path.encode("utf-8", "surrogateescape")
    )


def _silent(cases: tuple[Case, ...]) -> list[dict[str, Any]]:
    """Checks that had nothing to compare: told, so that silence is not taken for a match."""
    return [
        {
            "level": "note",
            "message": {"text": _text(f"{case.name}: {case.reason}")},
            "associatedRule": {"id": case.name},
        }
        for case in cases
        if case.reason and not case.findings
    ]


def _text(text: str) -> str:
    """Lone surrogates of file names can't be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()
