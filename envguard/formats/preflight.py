"""What a preflight found: lines for people, a document beside the run's logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from envguard.formats.doctor_report import document as hazards_document
from envguard.formats.report_json import report_document
from envguard.formats.report_text import summary
from envguard.model.drift import Report
from envguard.model.hazards import Diagnosis
from envguard.model.preflight import Decision, Remark

SCHEMA = "envguard-preflight-1"
SHOWN = 20
"""Remarks of one kind that are printed; the document has all."""


def lines(decision: Decision, report: Report) -> Iterator[str]:
    """The gravest first, each with what to do; then one line that sums up."""
    for word, remarks in (
        ("refused", decision.refused),
        ("forced", decision.forced),
        ("warning", decision.warned),
    ):
        for remark in remarks[:SHOWN]:
            yield f"{word:<8} {remark.check:<14} {printable(remark.text)}"
            if remark.hint:
                yield f"{'':<23} do: {printable(remark.hint)}"
        if len(remarks) > SHOWN:
            yield f"{word:<8} … and {len(remarks) - SHOWN:,} more"
    yield f"preflight: {summary(report)}{_hits(report)}"
    if decision.refused:
        checks = dict.fromkeys(remark.check for remark in decision.refused)
        forced = " ".join(f"--force {check}" for check in checks)
        yield f"not started; to start all the same: envguard run {forced} …"


def _hits(report: Report) -> str:
    """Predicted hits by device."""
    told = [f"{one.device} {one.hits:,} of {one.recorded:,}" for one in report.devices]
    return f"; hits predicted: {', '.join(told)}" if told else ""


def document(
    decision: Decision, report: Report, diagnosis: Diagnosis, variables: Mapping[str, str]
) -> dict[str, Any]:
    """All of it. ``variables``: what the run is given."""
    return {
        "schema": SCHEMA,
        "starts": decision.starts,
        "variables": dict(sorted(variables.items())),
        "refused": _remarks(decision.refused),
        "forced": _remarks(decision.forced),
        "warned": _remarks(decision.warned),
        "report": report_document(report),
        "hazards": hazards_document(diagnosis, report.observed, report.recorded)["hazards"],
    }


def _remarks(remarks: Sequence[Remark]) -> list[dict[str, str | None]]:
    return [{"check": one.check, "text": one.text, "hint": one.hint} for one in remarks]


def printable(text: str) -> str:
    """Control characters of file names and variables don't reach a terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode()
        for letter in text
    )
