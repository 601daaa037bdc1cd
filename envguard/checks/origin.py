"""Where an editable, folder or git install comes from: the part of a distribution that no wheel answers for."""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.words import RECORD_ANEW
from envguard.model.distribution import Distribution, Origin
from envguard.model.drift import Finding, Severity


def is_editable(entry: Distribution) -> bool:
    """Whether what runs is a folder of the machine."""
    return entry.origin is not None and entry.origin.editable


def compare_origins(was: Distribution, now: Distribution, same_record: bool) -> Iterator[Finding]:
    """Findings of one distribution. With the same record, only an editable install can differ."""
    before, here = _source(was), _source(now)
    if before is None and here is None:
        return
    editable = is_editable(was) or is_editable(now)
    if not editable and same_record:
        return
    if before is None or here is None or before.editable != here.editable:
        yield _finding(was, _shown(before), _shown(here), None)
        return
    yield from _moved(was, before, here)


def _moved(was: Distribution, before: Origin, here: Origin) -> Iterator[Finding]:
    kind = "editable install" if here.editable else f"installed from {_PLACES.get(here.kind, here.kind)}"
    if before.commit != here.commit:
        yield _finding(was, f"commit {_commit(before)}", _commit(here), kind)
    elif before.changes != here.changes:
        yield _finding(was, None, None, f"{_changes(before, here)} ({kind})")
    elif here.editable and here.commit is None:
        yield _finding(
            was, None, None, "editable install of a folder outside git: its code is not compared", Severity.NOTE
        )
    if (before.url, before.subdirectory) != (here.url, here.subdirectory):
        yield _finding(was, before.url or "a folder", here.url or "a folder", "another address", Severity.NOTE)


_PLACES = {"vcs": "git", "folder": "a folder"}


def _changes(before: Origin, here: Origin) -> str:
    if before.changes is None:
        return "has uncommitted changes"
    if here.changes is None:
        return "has no uncommitted changes any more"
    return "has other uncommitted changes"


def _source(entry: Distribution) -> Origin | None:
    """A wheel or sdist file by its address is a distribution like any other."""
    return None if entry.origin is None or entry.origin.kind == "archive" else entry.origin


def _shown(origin: Origin | None) -> str:
    if origin is None:
        return "a wheel"
    return "an editable install" if origin.editable else f"an install from {_PLACES.get(origin.kind, origin.kind)}"


def _commit(origin: Origin) -> str:
    return origin.commit[:10] if origin.commit else "none"


def _finding(
    entry: Distribution, was: str | None, now: str | None, detail: str | None, severity: Severity = Severity.DRIFT
) -> Finding:
    return Finding(
        entry.name, was, now, detail, hint=RECORD_ANEW, severity=severity, key=f"distribution[{entry.name}]"
    )
