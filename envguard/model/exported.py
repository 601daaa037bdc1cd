"""What a file of another tool needs to know of each wheel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from envguard.model.digest import Digest


@dataclass(frozen=True, slots=True)
class ExportedWheel:
    """One wheel with the place that has it now: an address, or an absolute path of this machine."""

    name: str
    version: str
    filename: str
    sha256: Digest
    size: int | None
    location: str

    @property
    def path(self) -> PurePosixPath | None:
        """The place, where it is a file of this machine."""
        return PurePosixPath(self.location) if self.location.startswith("/") else None
