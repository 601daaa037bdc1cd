"""Which rows of two RECORDs differ, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envguard.checks.words import few
from envguard.model.distribution import Row

Rows = Mapping[tuple[str, str], Row]

_DESCRIPTION = re.compile(r"[^/]+\.dist-info/(?:WHEEL|METADATA)")
"""What a wheel says of itself: repacking and retagging change it, and nothing else."""


def rows_moved(was: Rows | None, now: Rows | None, root: str = "library") -> str:
    """How the rows of one root differ; the files by name."""
    if was is None or now is None:
        return "its RECORD differs; the lock's rows are not in this store"
    before, here = _under(root, was), _under(root, now)
    changed = sorted(path for path in before.keys() & here.keys() if before[path] != here[path])
    gone, added = sorted(before.keys() - here.keys()), sorted(here.keys() - before.keys())
    said = [
        f"{few(paths)} {verb}"
        for paths, verb in (
            (changed, "differ" if len(changed) > 1 else "differs"),
            (gone, "gone"),
            (added, "added"),
        )
        if paths
    ]
    if not said:
        return "its RECORD differs, in no row that is left"
    if root != "library":
        return ", ".join(said)
    if not gone and not added and all(map(_DESCRIPTION.fullmatch, changed)):
        return f"same code, other WHEEL: {', '.join(said)}"
    described = any(map(_DESCRIPTION.fullmatch, (*changed, *gone, *added)))
    # An edited RECORD leaves these alone; so does a wheel that was built again with the same tools.
    equal = "" if described else "; WHEEL and METADATA are equal"
    return f"another build of this version: {', '.join(said)}{equal}"


def _under(root: str, rows: Rows) -> dict[str, Row]:
    return {path: row for (where, path), row in rows.items() if where == root}
