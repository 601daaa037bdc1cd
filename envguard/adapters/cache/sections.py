"""The sections of the facts that speak of the compile cache."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from envguard.adapters.cache.place import OWN, VARIABLE, Place
from envguard.adapters.cache.reading import Limits, Reading, read_cache
from envguard.model.cache import CacheKeys
from envguard.model.facts import CacheFound
from envguard.model.observed import Absent, Observed, Unobserved, Value

_ALWAYS_TOLD = ("aotautograd", "fxgraph", "triton")


def cache_and_keys(
    where: Place, environ: Mapping[str, str], *, texts: bool, limits: Limits | None = None
) -> tuple[Observed[CacheFound], Observed[CacheKeys]]:
    """What lies in a cache's folder; ``texts`` as for ``read_cache``."""
    reading = read_cache(where.folder, time.time(), triton=where.triton, texts=texts, limits=limits)
    return found(where, reading, environ), reading.keys


def found(where: Place, reading: Reading, environ: Mapping[str, str]) -> Observed[CacheFound]:
    """The folder as a fact. Absent where there is none, Unobserved where it can't be read."""
    if isinstance(reading.keys, Unobserved) and not reading.counts:
        return reading.keys
    if isinstance(reading.keys, Absent) and reading.newest is None and not where.folder.is_dir():
        return Absent()
    counts = dict.fromkeys(_ALWAYS_TOLD, 0) | dict(reading.counts)
    return Value(
        CacheFound(
            folder=where.shown(environ),
            source=where.source,
            entries=tuple(sorted(counts.items())),
            size=reading.size,
            newest=reading.newest,
            remarks=(*_told_to_use(where), *reading.remarks),
            quiet=reading.quiet,
        )
    )


def _told_to_use(where: Place) -> tuple[str, ...]:
    """The lock's own cache helps only a job that is told of it."""
    return (f"a start uses it only with {VARIABLE}={where.folder}",) if where.source == OWN else ()


def traces(folder: Path) -> list[Path]:
    """The trace files of a folder that TORCH_TRACE named, one a process. OSError."""
    return sorted(path for path in folder.iterdir() if path.suffix == ".log" and path.is_file())
