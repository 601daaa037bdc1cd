"""Which rows of two RECORDs differ, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

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
    changed = _telling(path for path in before.keys() & here.keys() if before[path] != here[path])
    gone, added = _telling(before.keys() - here.keys()), _telling(here.keys() - before.keys())
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


def _telling(paths: Iterable[str]) -> list[str]:
    """Those that tell most first: a version.py, then code, then what a wheel says of itself."""
    return sorted(paths, key=lambda path: (not path.endswith("/version.py"), ".dist-info/" in path, path))


def _under(root: str, rows: Rows) -> dict[str, Row]:
    return {path: row for (where, path), row in rows.items() if where == root}
