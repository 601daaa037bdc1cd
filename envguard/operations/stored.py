"""What a look at the store, its mending and its collection come to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envguard.model.digest import Digest
from envguard.planning.archive import Kind


@dataclass(frozen=True, slots=True)
class Kept:
    """An object of the store. ``users``: locks and environments that name it; none for one that nobody needs."""

    digest: Digest
    size: int
    kind: Kind
    subject: str
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Faulty:
    """An object that is damaged, or that isn't there though a lock of this machine says so."""

    digest: Digest
    kind: Kind
    subject: str
    users: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        what = f"{self.kind.value} {self.subject}".rstrip()
        return f"{self.digest} ({what}): {self.problem}"


@dataclass(frozen=True, slots=True)
class Checked:
    """A whole look. ``damaged`` objects can't be used; ``missing`` ones were archived here and are gone."""

    objects: int
    size: int
    damaged: tuple[Faulty, ...] = ()
    missing: tuple[Faulty, ...] = ()


@dataclass(frozen=True, slots=True)
class Mended:
    """What a repair did with one object. ``source`` None: it could not be had again, and ``reason`` says why."""

    faulty: Faulty
    source: str | None
    reason: str = ""
    aside: Path | None = None
    """Where the damaged bytes are kept."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed, or would be. ``young``: objects that nobody needs, put too lately to be sure of that."""

    removed: tuple[Kept, ...]
    young: int = 0
    used: int = 0
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes that were freed, or would be."""
        return sum(one.size for one in self.removed)
