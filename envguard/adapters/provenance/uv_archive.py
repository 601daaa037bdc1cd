"""A folder of uv's cache that a wheel was unpacked into, held against an installed distribution."""

from __future__ import annotations

from pathlib import Path

from envguard.adapters.provenance import listings
from envguard.adapters.provenance.installed import Installed

_LINKED = ("METADATA", "WHEEL")
"""Files that uv links and nobody writes to; RECORD is always copied, and shared paths are overwritten."""


def shares_files(archive: Path, installed: Installed) -> bool:
    """Whether the installation is hardlinked (or symlinked) to this folder."""
    if installed.folder is None:
        return False
    return any(_same(installed.folder / name, archive / installed.folder.name / name) for name in _LINKED)


def unpacked_from(archive: Path, installed: Installed) -> bool:
    """Whether the installation came from this folder: its RECORD is the installed one.

    Shared files prove it only where the installed RECORD can't be read: what a lock says of a wheel, and the
    record fingerprint that it keeps, must belong together.
    """
    if installed.folder is None:
        return False
    if installed.distribution.record is None:
        return shares_files(archive, installed)
    return installed.agrees(listings.of_folder(archive, installed.folder.name))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False
