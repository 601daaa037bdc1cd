"""Wheel files that this machine still has: find-links folders, and what uv and pip keep in their caches.

uv unpacks what it downloads and keeps only wheels that it built; pip keeps both, downloads without their names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from envguard.adapters.provenance.reading import files, names
from envguard.adapters.provenance.wheel_file import by_name
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution

_NOT_WHEELS = frozenset({"src", "editable", ".git"})


class LocalFiles:
    """Looks through folders once, and hashes only what could be meant."""

    def __init__(self, *, find_links: Sequence[Path], uv_cache: Path | None, pip_cache: Path | None) -> None:
        self._find_links = find_links
        self._uv_cache = uv_cache
        self._pip_cache = pip_cache

    def find(self, entry: Distribution) -> Path | None:
        """A file whose sha256 is the entry's; None also where the lock names none."""
        wheel = entry.wheel
        if wheel.sha256 is None:
            return None
        paths: list[Path] = [*self._wheels.get(entry.name, ())]
        if wheel.size is not None:
            paths += self._bodies.get(wheel.size, ())
        for path in paths:
            if _has(path, wheel.sha256, wheel.size):
                return path
        return None

    @cached_property
    def _wheels(self) -> dict[str, list[Path]]:
        return by_name(self._named())

    def _named(self) -> Iterator[Path]:
        for folder in self._find_links:
            yield from (folder / name for name in names(folder))
        if self._uv_cache is not None:
            for bucket in names(self._uv_cache):
                if bucket.startswith("sdists-v"):
                    yield from files(self._uv_cache / bucket, skip=_NOT_WHEELS)
        if self._pip_cache is not None:
            yield from files(self._pip_cache / "wheels")

    @cached_property
    def _bodies(self) -> dict[int, list[Path]]:
        """What pip downloaded, by size."""
        found: dict[int, list[Path]] = {}
        if self._pip_cache is not None:
            for path in files(self._pip_cache / "http-v2"):
                if path.suffix == ".body" and (size := _size(path)) is not None:
                    found.setdefault(size, []).append(path)
        return found


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _has(path: Path, sha256: Digest, size: int | None) -> bool:
    try:
        if not path.is_file() or size not in (None, path.stat().st_size):
            return False
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            return Digest.of_stream(stream) == sha256
    except (OSError, ValueError):
        return False
