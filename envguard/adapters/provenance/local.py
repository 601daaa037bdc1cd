"""Which wheel each installed distribution came from, by what this machine knows: no network, no child process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from envguard.adapters.provenance.direct_url import Claimed, DirectUrl
from envguard.adapters.provenance.find_links import FindLinks
from envguard.adapters.provenance.installed import Installed, locate
from envguard.adapters.provenance.pip_built import DirectSdist, PipBuilt
from envguard.adapters.provenance.restored import Restored
from envguard.adapters.provenance.uv_built import UvBuilt
from envguard.adapters.provenance.uv_cache import UvCache
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.target import Layout
from envguard.ports import Progress

_NO_WHEEL = ("vcs", "folder")


class Clue(Protocol):
    """One kind of evidence."""

    def find(self, installed: Installed) -> Wheel | None:
        """The proven wheel, or None. Never an error: what can't be read proves nothing."""


class LocalProvenance:
    """Asks each kind of evidence in turn, best first, and stops at the first that proves."""

    def __init__(
        self,
        *,
        find_links: Sequence[Path] = (),
        uv_cache: Path | None = None,
        pip_cache: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._find_links = find_links
        self._uv_cache = uv_cache
        self._pip_cache = pip_cache
        self._progress = progress

    def wheels(self, layout: Layout, distributions: Sequence[Distribution]) -> Mapping[str, Wheel]:
        """Canonical name → wheel. Left out: what nothing is known of, and installs from folders and repositories.

        A wheel whose ``sha256`` is None is only told of: claimed by whoever asked for it, or built and gone since.
        """
        clues = self._clues(layout)
        found: dict[str, Wheel] = {}
        for count, distribution in enumerate(distributions):
            self._tell(count, len(distributions))
            if distribution.origin is not None and distribution.origin.kind in _NO_WHEEL:
                continue
            installed = locate(layout, distribution)
            wheel = _best(clues, installed)
            if wheel is not None:
                found[distribution.name] = wheel
        self._tell(len(distributions), len(distributions))
        return found

    def _tell(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress.step("identifying wheels", done, total, "distributions")

    def _clues(self, layout: Layout) -> tuple[Clue, ...]:
        uv = () if self._uv_cache is None else (UvCache(self._uv_cache), UvBuilt(self._uv_cache))
        pip = () if self._pip_cache is None else (PipBuilt(self._pip_cache),)
        at_hand = FindLinks(self._find_links)
        return (Restored(layout.prefix), DirectUrl(), *uv, at_hand, *pip, DirectSdist(), Claimed())


def _best(clues: Sequence[Clue], installed: Installed) -> Wheel | None:
    """The first proven wheel; what another clue knows of the sdist that it was built from is added."""
    proven = (wheel for clue in clues if (wheel := clue.find(installed)))
    best = next(proven, None)
    if best is None or best.evidence is not Evidence.BUILT_FROM_SDIST or best.sdist:
        return best
    return replace(best, sdist=next((wheel.sdist for wheel in proven if wheel.sdist), None))
