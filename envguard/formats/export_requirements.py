"""A lock as requirements.txt: every wheel by its place and sha256.

Addresses, not ``name==version``: of two wheels of one version, an index without hashes would give either.
"""

from __future__ import annotations

from collections.abc import Iterable

from envguard.model.exported import ExportedWheel


def dump(wheels: Iterable[ExportedWheel], *, comment: str) -> bytes:
    """The file; equal wheels give equal bytes. ValueError for a place that can't stand in a line."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    for wheel in sorted(wheels, key=lambda wheel: wheel.name):
        place = wheel.location if wheel.path is None else wheel.path.as_uri()
        if not place.isprintable() or " " in place:
            raise ValueError(f"{wheel.filename}: its address holds spaces or control characters")
        lines.append(f"{wheel.name} @ {place} --hash=sha256:{wheel.sha256.hex}")
    return ("\n".join(lines) + "\n").encode()
