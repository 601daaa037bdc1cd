"""Evidence: wheels that uv built from sdists and kept, with the sdist's sha256 where an index gave it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

from envguard.adapters.provenance import uv_archive, uv_pointer
from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.reading import SMALL_CAP, files, names, read
from envguard.adapters.provenance.wheel_file import by_name, proven
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.planning import wheel_names

_NOT_BUILT_WHEELS = frozenset({"src", "editable", ".git"})


class UvBuilt:
    """The built wheels of one cache folder: ``sdists-v*/…/REVISION/NAME.whl``, unpacked at ``NAME`` beside it."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def find(self, installed: Installed) -> Wheel | None:
        """The kept wheel whose RECORD is the installed one; linked ones are asked first."""
        candidates = [
            (path, uv_archive.shares_files(path.with_suffix(""), installed))
            for path in self._wheels.get(installed.distribution.name, ())
        ]
        for path, linked in sorted(candidates, key=lambda candidate: not candidate[1]):
            if wheel := proven(path, installed, Evidence.BUILT_FROM_SDIST, linked=linked):
                return replace(wheel, sdist=_sdist(path, installed.distribution))
        return None

    @cached_property
    def _wheels(self) -> dict[str, list[Path]]:
        buckets = [self._cache / name for name in names(self._cache) if name.startswith("sdists-v")]
        return by_name(path for bucket in buckets for path in files(bucket, skip=_NOT_BUILT_WHEELS))


def _sdist(wheel: Path, distribution: Distribution) -> str | None:
    content = read(wheel.parent.parent / "revision.http", SMALL_CAP)
    pointer = None if content is None else uv_pointer.read_sdist_pointer(content)
    if pointer is None or pointer.revision != wheel.parent.name:
        return None
    fitting = [
        name for name in pointer.filenames if wheel_names.fits_sdist(name, distribution.name, distribution.version)
    ]
    return f"{fitting[0]} {pointer.sha256}" if len(fitting) == 1 else str(pointer.sha256)
