"""The note that a snapshot leaves of each lock file it wrote: where it is, and which objects it named."""

from __future__ import annotations

import json
from collections.abc import Iterable

from envguard.model.digest import Digest

CAP = 64 << 20
"""Bytes that a note may have."""


def dump(lock: str, objects: Iterable[Digest]) -> bytes:
    """A note. ``lock``: the file's absolute path."""
    document = {"schema": 1, "lock": lock, "objects": sorted({digest.hex for digest in objects})}
    return (json.dumps(document, indent=1) + "\n").encode("utf-8", "surrogateescape")


def load(content: bytes) -> tuple[str, frozenset[Digest]]:
    """Read a note. ValueError when it is none."""
    try:
        document = json.loads(content.decode("utf-8", "surrogateescape"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    match document:
        case {"schema": 1, "lock": str(lock), "objects": list(objects)}:
            return lock, frozenset(Digest.parse(f"sha256:{digest}") for digest in objects)
    raise ValueError("not a note of a lock")
