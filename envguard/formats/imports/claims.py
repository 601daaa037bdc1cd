"""What another tool's lock file claims: versions and hashes, of which nothing was seen."""

from __future__ import annotations

from dataclasses import dataclass

from envguard.model.digest import Digest
from envguard.model.distribution import Origin


@dataclass(frozen=True, slots=True)
class Claim:
    """One distribution. ``hashes``: sha256 of its files; which is whose isn't said where ``filename`` is None."""

    name: str
    """Canonical."""
    version: str
    filename: str | None = None
    hashes: tuple[Digest, ...] = ()
    size: int | None = None
    index: str | None = None
    """Address of the index, as the file has it; it may hold a secret."""
    sdist: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Claims:
    """All of a file, by name; ``remarks``: what it holds that a lock can't."""

    entries: tuple[Claim, ...]
    remarks: tuple[str, ...] = ()
