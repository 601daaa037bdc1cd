"""Documents of ``inspect`` (docs/schema/inspect-1.json), ``find``, ``identify`` and ``challenge``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from envguard.formats.wheel_json import SCHEMA, wheel_document

if TYPE_CHECKING:
    from envguard.errors import EnvguardError
    from envguard.model.wheel_facts import Cost
    from envguard.operations.challenge import Challenge
    from envguard.operations.find import Search
    from envguard.operations.identify import Identification, Identified
    from envguard.operations.inspect import Compared, Inspection


def inspect_document(seen: Inspection) -> dict[str, Any]:
    """Schema ``envguard-inspect-1``."""
    return {
        "schema": SCHEMA,
        "wheels": [wheel_document(facts) for facts in seen.wheels],
        "compared": [_compared(one) for one in seen.compared],
        "failures": [_failure(one) for one in seen.failures],
        "other-files": seen.others,
    }


def find_document(search: Search, commit: str) -> dict[str, Any]:
    """Schema ``envguard-find-1``."""
    return {
        "schema": "envguard-find-1",
        "commit": commit.lower(),
        "found": [{**wheel_document(one.wheel), "files-of-build": one.files} for one in search.found],
        "searched": search.searched,
        "builds": search.builds,
        "cost": _cost(search.cost),
        "failures": [_failure(one) for one in search.failures],
    }


def identify_document(seen: Identification, asked: int, cost: Cost) -> dict[str, Any]:
    """Schema ``envguard-identify-1``."""
    return {
        "schema": "envguard-identify-1",
        "exit-code": seen.exit_code,
        "distributions": [_identified(entry) for entry in seen.entries],
        "asked-of-indexes": asked,
        "cost": _cost(cost),
        "failures": [_failure(one) for one in seen.troubles],
    }


def challenge_document(result: Challenge) -> dict[str, Any]:
    """Schema ``envguard-challenge-1``."""
    return {
        "schema": "envguard-challenge-1",
        "lock": result.lock,
        "exit-code": result.exit_code,
        "wheels": [
            {
                "name": entry.name,
                "version": entry.version,
                "filename": entry.filename,
                "verdict": entry.verdict.value,
                "sources": [
                    {
                        "source": one.source or None,
                        "location": one.location or None,
                        "same": one.same,
                        "sha256": str(one.sha256) if one.sha256 else None,
                        "size": one.size,
                        "text": one.text,
                    }
                    for one in entry.witnesses
                ],
                "remarks": list(entry.remarks),
            }
            for entry in result.entries
        ],
    }


def _compared(one: Compared) -> dict[str, Any]:
    found = one.comparison
    return {
        "first": one.first,
        "second": one.second,
        "text": one.text,
        "equal-files": found.files if found else None,
        "changed": list(found.changed) if found else None,
        "only-first": list(found.only_first) if found else None,
        "only-second": list(found.only_second) if found else None,
    }


def _identified(entry: Identified) -> dict[str, Any]:
    one, wheel = entry.distribution, entry.distribution.wheel
    return {
        "name": one.name,
        "version": one.version,
        "settled": entry.settled,
        "evidence": wheel.evidence.value,
        "filename": wheel.filename,
        "sha256": str(wheel.sha256) if wheel.sha256 else None,
        "claimed-sha256": str(wheel.claimed_sha256) if wheel.claimed_sha256 else None,
        "size": wheel.size,
        "index": wheel.index,
        "sdist": wheel.sdist,
        "record": str(one.record) if one.record else None,
        "origin": one.origin
        and {"kind": one.origin.kind, "editable": one.origin.editable, "commit": one.origin.commit},
        "remark": entry.remark,
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {"requests": cost.requests, "bytes": cost.size}


def _failure(fault: EnvguardError) -> dict[str, Any]:
    return {"slug": fault.slug, "message": fault.message, "where": fault.where, "hint": fault.hint}
