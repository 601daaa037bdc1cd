"""A lock as ``pylock.toml`` (PEP 751), for pip and uv: every wheel by its place, sha256 and size."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from envguard.model.exported import ExportedWheel

_NAME = re.compile(r"pylock(\.[^.]+)?\.toml")


def is_pylock_name(filename: str) -> bool:
    """Whether pip and uv take a file of this name for a pylock."""
    return _NAME.fullmatch(filename) is not None


def dump(wheels: Iterable[ExportedWheel], *, comment: str) -> bytes:
    """The file; equal wheels give equal bytes."""
    import tomlkit

    document = tomlkit.document()
    for line in comment.splitlines():
        document.add(tomlkit.comment(line))
    document.add("lock-version", tomlkit.item("1.0"))
    document.add("created-by", tomlkit.item("envguard"))
    packages = [_package(wheel) for wheel in sorted(wheels, key=lambda wheel: wheel.name)]
    if packages:
        entries = tomlkit.aot()
        for package in packages:
            entries.append(tomlkit.item(package))
        document.add("packages", entries)
    else:
        document.add("packages", tomlkit.item([]))
    return tomlkit.dumps(document).encode()


def _package(wheel: ExportedWheel) -> dict[str, Any]:
    place = {"url": wheel.location} if wheel.path is None else {"path": wheel.location}
    size = {"size": wheel.size} if wheel.size is not None else {}
    file = {"name": wheel.filename, **place, **size, "hashes": {"sha256": wheel.sha256.hex}}
    return {"name": wheel.name, "version": wheel.version, "wheels": [file]}
