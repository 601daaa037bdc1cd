"""Evidence: wheels that pip built from sdists and kept in its cache, or sdists that it was told to install."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from envguard.adapters.provenance import direct_url
from envguard.adapters.provenance.direct_url import Source
from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.reading import SMALL_CAP, files, read
from envguard.adapters.provenance.wheel_file import by_name, proven
from envguard.model.distribution import Evidence, Wheel
from envguard.planning import wheel_names


class PipBuilt:
    """The built wheels of one cache folder: ``wheels/…/NAME.whl``, with ``origin.json`` beside it."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def find(self, installed: Installed) -> Wheel | None:
        """The kept wheel whose RECORD is the installed one."""
        for path in self._wheels.get(installed.distribution.name, ()):
            if wheel := proven(path, installed, Evidence.BUILT_FROM_SDIST):
                content = read(path.parent / "origin.json", SMALL_CAP)
                source = None if content is None else direct_url.read_source(content)
                return replace(wheel, sdist=_sdist(source, installed))
        return None

    @cached_property
    def _wheels(self) -> dict[str, list[Path]]:
        return by_name(files(self._cache / "wheels"))


class DirectSdist:
    """Says from which sdist, where the wheel that was built from it is nowhere any more."""

    def find(self, installed: Installed) -> Wheel | None:
        """A wheel without a filename or sha256 of its own."""
        sdist = _sdist(direct_url.source_of(installed), installed)
        return None if sdist is None else Wheel(evidence=Evidence.BUILT_FROM_SDIST, sdist=sdist)


def _sdist(source: Source | None, installed: Installed) -> str | None:
    distribution = installed.distribution
    if source is None or source.sha256 is None:
        return None
    if not wheel_names.fits_sdist(source.filename, distribution.name, distribution.version):
        return None
    return f"{source.filename} {source.sha256}"
