"""Evidence: the marker that a restore left says which wheel, and the RECORD is still that wheel's."""

from __future__ import annotations

from pathlib import Path

from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.reading import read
from envguard.formats import marker
from envguard.model.distribution import Evidence, Wheel
from envguard.planning import wheel_names


class Restored:
    """Reads the marker of one environment, once."""

    def __init__(self, prefix: Path) -> None:
        content = read(prefix / marker.FILENAME, marker.CAP)
        try:
            self._wheels = {} if content is None else marker.load(content).wheels
        except ValueError:
            self._wheels = {}

    def find(self, installed: Installed) -> Wheel | None:
        """The marked wheel, when name, version and record fingerprint are those installed."""
        distribution = installed.distribution
        marked = self._wheels.get(distribution.name)
        if marked is None or marked.record != distribution.record:
            return None
        if not wheel_names.fits(marked.filename, distribution.name, distribution.version):
            return None
        return Wheel(
            filename=marked.filename,
            sha256=marked.sha256,
            size=marked.size,
            evidence=Evidence.RESTORED,
            rebuilt=marked.sha256 if marked.rebuilt else None,
        )
