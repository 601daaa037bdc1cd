"""Evidence: a wheel file in a find-links folder, or at the path that was installed, has the same RECORD."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from envguard.adapters.provenance import direct_url
from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.reading import names
from envguard.adapters.provenance.wheel_file import by_name, proven
from envguard.model.distribution import Evidence, Wheel


class FindLinks:
    """The wheel files of some folders, in their order."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def find(self, installed: Installed) -> Wheel | None:
        """The first file that is the distribution's wheel; only files whose names fit are read."""
        source = direct_url.source_of(installed)
        asked = [source.path] if source and source.path else []
        for path in [*asked, *self._wheels.get(installed.distribution.name, ())]:
            if wheel := proven(path, installed, Evidence.FIND_LINKS):
                return wheel
        return None

    @cached_property
    def _wheels(self) -> dict[str, list[Path]]:
        return by_name(folder / name for folder in self._folders for name in names(folder))
