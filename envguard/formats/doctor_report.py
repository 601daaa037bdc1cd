"""What ``envguard doctor`` prints: lines for people, a document for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envguard.model.hazards import Diagnosis, Found, Verdict

SCHEMA = "envguard-doctor-1"


def lines(diagnosis: Diagnosis, target: str, *, quiet: bool) -> Iterator[str]:
    """Per hazard what it is, how it shows, what to do and where it was reported; then one line that sums up."""
    for found in diagnosis.found:
        yield f"{found.verdict.value:<8}{found.hazard.slug:<17} {found.hazard.what} ({found.detail})"
        yield f"        shows: {found.hazard.shows}"
        yield f"        do:    {found.hazard.do}{_guarded(found)}"
        yield f"        see:   {' '.join(found.hazard.evidence)}"
    if not (quiet and not diagnosis.found):
        counts = _counts(diagnosis)
        yield f"{counts['certain']} apply, {counts['unknown']} may apply   {target}"


def document(diagnosis: Diagnosis, target: str, lock: str | None) -> dict[str, Any]:
    """The same as JSON, with the exit code."""
    return {
        "schema": SCHEMA,
        "target": target,
        "lock": lock,
        "exit_code": diagnosis.exit_code,
        "counts": _counts(diagnosis),
        "hazards": [
            {
                "hazard": found.hazard.slug,
                "verdict": found.verdict.value,
                "what": found.hazard.what,
                "detail": found.detail,
                "shows": found.hazard.shows,
                "do": found.hazard.do,
                "guarded": found.hazard.guarded,
                "evidence": list(found.hazard.evidence),
            }
            for found in diagnosis.found
        ],
    }


def _guarded(found: Found) -> str:
    command = found.hazard.do.startswith("envguard run")
    return "   (envguard run sees to it)" if found.hazard.guarded and not command else ""


def _counts(diagnosis: Diagnosis) -> dict[str, int]:
    verdicts = [found.verdict for found in diagnosis.found]
    return {verdict.value: verdicts.count(verdict) for verdict in (Verdict.CERTAIN, Verdict.UNKNOWN)}
