"""Evidence: uv's cache remembers the sha256 of each wheel that it downloaded and unpacked.

Works for any installer, since the unpacked RECORD is held against the installed one. Nothing is written there.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from envguard.adapters.provenance import uv_archive, uv_pointer
from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.reading import SMALL_CAP, names, read
from envguard.adapters.provenance.uv_pointer import WheelPointer
from envguard.model.distribution import Evidence, Wheel
from envguard.planning import wheel_names

_DEFAULT = "pypi"


class UvCache:
    """The wheels of one cache folder."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def find(self, installed: Installed) -> Wheel | None:
        """The downloaded wheel that the distribution was unpacked from; linked folders are asked first."""
        candidates = [
            (pointer, archive, index)
            for folder, index in self._folders.get(installed.distribution.name, ())
            for pointer in self._pointers(folder, installed)
            for archive in self._archives(pointer.archive)
        ]
        candidates.sort(key=lambda candidate: not uv_archive.shares_files(candidate[1], installed))
        for pointer, archive, index in candidates:
            if uv_archive.unpacked_from(archive, installed):
                return Wheel(
                    filename=pointer.filename,
                    sha256=pointer.sha256,
                    size=pointer.size,
                    index=index,
                    evidence=Evidence.UV_CACHE,
                )
        return None

    @cached_property
    def _folders(self) -> dict[str, list[tuple[Path, str | None]]]:
        """Canonical name → folders of its pointers: ``pypi/NAME``, ``index/HASH/NAME``, ``url/HASH/NAME``."""
        found: dict[str, list[tuple[Path, str | None]]] = {}
        for root, index in self._roots():
            for name in names(root):
                found.setdefault(name, []).append((root / name, index))
        return found

    def _roots(self) -> Iterator[tuple[Path, str | None]]:
        for bucket in self._buckets("wheels-v"):
            for kind in names(bucket):
                if kind == _DEFAULT:
                    yield bucket / kind, "default"
                else:
                    yield from ((bucket / kind / place, None) for place in names(bucket / kind))

    def _buckets(self, prefix: str) -> list[Path]:
        return [self._cache / name for name in reversed(names(self._cache)) if name.startswith(prefix)]

    def _pointers(self, folder: Path, installed: Installed) -> Iterator[WheelPointer]:
        distribution = installed.distribution
        for name in names(folder):
            content = read(folder / name, SMALL_CAP) if name.endswith(".http") else None
            pointer = None if content is None else uv_pointer.read_wheel_pointer(content)
            if pointer and wheel_names.fits(pointer.filename, distribution.name, distribution.version):
                yield pointer

    def _archives(self, name: str) -> Iterator[Path]:
        return (bucket / name for bucket in self._archive_buckets if (bucket / name).is_dir())

    @cached_property
    def _archive_buckets(self) -> list[Path]:
        return self._buckets("archive-v")
