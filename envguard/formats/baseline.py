"""A baseline: drifts that are accepted until a day, as ``[[policy.ignore]]`` entries in a file of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date

from envguard.formats import toml_text
from envguard.formats.decode import Table, WrongValueError
from envguard.formats.lock_read import policy_from
from envguard.model.drift import Report, Severity
from envguard.model.policy import Ignore

_HEAD = "# Accepted drifts: envguard verify --baseline FILE ignores them until their day. Written by envguard."


def read_baseline(content: bytes) -> tuple[Ignore, ...]:
    """Its entries. TomlError, WrongValueError; also when there is something else in it."""
    top = Table(toml_text.parse(content))
    other = sorted(set(top.content) - {"policy"})
    if other:
        raise WrongValueError(other[0], "a baseline holds [[policy.ignore]] entries only")
    table = top.table_or_none("policy")
    if table is None:
        return ()
    other = sorted(set(table.content) - {"ignore"})
    if other:
        raise WrongValueError(f"policy.{other[0]}", "a baseline holds [[policy.ignore]] entries only")
    return policy_from(table).ignore


def accepted(report: Report, *, by: str, reason: str, until: date) -> tuple[Ignore, ...]:
    """An entry for each drift of a report, and for what could not be looked at within a check."""
    return tuple(
        dict.fromkeys(
            Ignore(result.check, finding.subject, by, reason, until)
            for result in report.results
            for finding in result.findings
            if finding.severity in (Severity.DRIFT, Severity.UNKNOWN)
        )
    )


def write_baseline(entries: Iterable[Ignore]) -> bytes:
    """The file; equal entries give equal bytes."""
    lines = [_HEAD]
    for entry in sorted(entries, key=lambda entry: (entry.check, entry.subject)):
        lines += ["", "[[policy.ignore]]", f"check = {_text(entry.check)}", f"subject = {_text(entry.subject)}"]
        lines += [f"by = {_text(entry.by)}", f"reason = {_text(entry.reason)}"]
        lines += [f"until = {entry.until.isoformat()}"] if entry.until else []
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _text(value: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
