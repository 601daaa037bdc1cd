"""What keeps the store's objects: locks, and environments that were restored from them."""

from __future__ import annotations

from dataclasses import dataclass

from envguard.model.digest import Digest
from envguard.model.lock import Lock


@dataclass(frozen=True, slots=True)
class Root:
    """A lock file or a restored environment. ``objects``: all digests that it names, held or not."""

    where: str
    """The file's or folder's path, for people."""
    objects: frozenset[Digest]
    lock: Lock | None = None
    """The lock, where it is one that can be read."""
    noted: frozenset[Digest] = frozenset()
    """Those that it named when a snapshot of this machine wrote it, so that this store held what it required."""
    gone: bool = False
    """The lock file is not there now; ``objects`` are what it named when it was written."""
