"""An installed distribution, where it lies, and when the RECORD of a wheel is its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from envguard.model.distribution import Distribution
from envguard.model.record import Listing
from envguard.model.target import Layout


@dataclass(frozen=True, slots=True)
class Installed:
    """One installed distribution; ``folder`` is its dist-info folder, None where that can't be told."""

    distribution: Distribution
    folder: Path | None

    def agrees(self, listings: Iterable[Listing]) -> bool:
        """Whether one of a wheel's listings has both fingerprints of the installed RECORD."""
        own = (self.distribution.record, self.distribution.record_data)
        return own[0] is not None and any((listing.record, listing.record_data) == own for listing in listings)


def locate(layout: Layout, distribution: Distribution) -> Installed:
    """Find the dist-info folder on disk."""
    if distribution.folder is None:
        return Installed(distribution, None)
    named = PurePosixPath(distribution.folder)
    parents = [library for library in layout.libraries if library.name == named.parent.name]
    for library in [*parents, *layout.libraries]:
        if (library / named.name).is_dir():
            return Installed(distribution, library / named.name)
    return Installed(distribution, None)
