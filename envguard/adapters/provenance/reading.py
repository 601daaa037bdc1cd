"""Reading of files that others wrote: never more than a cap, never a pipe or a device, never an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

RECORD_CAP = 16 << 20
"""Bytes that a RECORD may have; torch's has about 1.5 MB."""
SMALL_CAP = 1 << 20
"""Bytes that a pointer, a ``direct_url.json`` or an ``origin.json`` may have."""
_MOST_FOLDERS = 100_000


def read(path: Path, cap: int) -> bytes | None:
    """A regular file's bytes; None when there is none, it can't be read or has more than ``cap``."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            content = stream.read(cap + 1)
    except (OSError, ValueError):
        return None
    return content if len(content) <= cap else None


def names(folder: Path) -> list[str]:
    """Names in a folder, sorted; none when it can't be read."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except (OSError, ValueError):
        return []


def files(folder: Path, *, skip: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Every file below a folder, sorted folder by folder; folders named in ``skip`` and links aren't entered."""
    for count, (parent, folders, found) in enumerate(os.walk(folder)):
        if count >= _MOST_FOLDERS:
            return
        folders[:] = sorted(set(folders) - skip)
        for name in sorted(found):
            yield Path(parent, name)
