"""The lock file that uv is given: wheels by their path, each with its sha256 and size (PEP 751)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from envguard.model.digest import Digest

FILENAME = "pylock.toml"
"""uv takes no other name for a lock without a name of its own."""


@dataclass(frozen=True, slots=True)
class PathEntry:
    """One wheel to install; ``path`` is absolute, ``size`` in bytes."""

    name: str
    version: str
    path: str
    sha256: Digest
    size: int


def dump(entries: Iterable[PathEntry]) -> bytes:
    """A pylock that names exactly these files; equal entries give equal bytes. ValueError for a name that can't be
    written (a line break, a lone surrogate).
    """
    lines = ['lock-version = "1.0"', 'created-by = "envguard"', "packages = []"]
    ordered = sorted(entries, key=lambda entry: entry.name)
    if ordered:
        del lines[2]
    for entry in ordered:
        lines += [
            "",
            "[[packages]]",
            f"name = {_text(entry.name)}",
            f"version = {_text(entry.version)}",
            "[[packages.wheels]]",
            f"path = {_text(entry.path)}",
            f"size = {entry.size}",
            f'hashes = {{ sha256 = "{entry.sha256.hex}" }}',
        ]
    return ("\n".join(lines) + "\n").encode()


def _text(value: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, once nothing lies outside the plane that ``\\u`` reaches."""
    value.encode()  # UnicodeEncodeError, a ValueError, for a lone surrogate
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
