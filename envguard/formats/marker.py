"""The marker that a restore leaves in an environment's prefix, last of all: which wheels it was built from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from envguard.model.digest import Digest

FILENAME = "envguard-restored.json"
"""Its name in the environment's prefix."""

SCHEMA = 1
CAP = 8 << 20
"""Bytes that a marker may have at most."""


@dataclass(frozen=True, slots=True)
class MarkedWheel:
    """A wheel that was installed; ``record`` is the record fingerprint that its installation had."""

    filename: str
    sha256: Digest
    size: int
    record: Digest
    rebuilt: bool = False
    """It was rebuilt from installed files."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What was restored: the lock's id, and the wheels by canonical distribution name."""

    lock: str
    wheels: Mapping[str, MarkedWheel]


def dump(marker: Marker) -> bytes:
    """The marker as JSON; equal markers give equal bytes."""
    document = {
        "schema": SCHEMA,
        "lock": marker.lock,
        "distributions": {
            name: {
                "filename": wheel.filename,
                "sha256": str(wheel.sha256),
                "size": wheel.size,
                "record": str(wheel.record),
                **({"rebuilt": True} if wheel.rebuilt else {}),
            }
            for name, wheel in sorted(marker.wheels.items())
        },
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def load(content: bytes) -> Marker:
    """Read a marker. ValueError when it is too large, of another schema or otherwise not one."""
    if len(content) > CAP:
        raise ValueError(f"larger than {CAP} bytes")
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    match document:
        case {"schema": 1, "lock": str(lock), "distributions": dict(wheels)}:
            return Marker(lock, {name: _wheel(name, entry) for name, entry in wheels.items()})
    raise ValueError(f"not a marker of schema {SCHEMA}")


def _wheel(name: str, entry: object) -> MarkedWheel:
    match entry:
        case {"filename": str(filename), "sha256": str(sha256), "size": int(size), "record": str(record)}:
            rebuilt = isinstance(entry, dict) and entry.get("rebuilt") is True
            return MarkedWheel(filename, Digest.parse(sha256), size, Digest.parse(record), rebuilt)
    raise ValueError(f"{name}: no filename, sha256, size or record")
