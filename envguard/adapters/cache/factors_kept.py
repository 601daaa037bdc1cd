"""Factors kept behind what they were made of: torch's and triton's files, and the variables that were asked for.

Making them costs a tenth of a second (torch's modules are listed, its settings parsed): as much as all else in a
warm verify.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envguard import __version__
from envguard.adapters import folders
from envguard.model.cache import CacheFactors
from envguard.model.observed import Observed, Value
from envguard.model.target import Layout

_LARGEST = 1 << 20


class Consulted(Mapping[str, str]):
    """Variables, and a note of which were asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        self.asked.update(self._environ)
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)


def factors_kept(
    layout: Layout, soabi: str, environ: Mapping[str, str], mark: str | None, folder: Path | None = None
) -> Observed[CacheFactors]:
    """As ``factors``. ``mark`` changes when any file of torch or triton could have; None: nothing is kept."""
    if mark is None:
        return _make(layout, soabi, environ)
    entry = _entry(layout, folder)
    made_of = _made_of(mark, soabi)
    kept = _read(entry, made_of, environ)
    if kept is not None:
        return Value(kept)
    consulted = Consulted(environ)
    made = _make(layout, soabi, consulted)
    if isinstance(made, Value) and not made.value.unseen and made.value.ptxas is None:
        asked = {name: environ.get(name) for name in sorted(consulted.asked)}
        _write(entry, {"made-of": made_of, "asked": asked, "factors": _plain(made.value)})
    return made


def _make(layout: Layout, soabi: str, environ: Mapping[str, str]) -> Observed[CacheFactors]:
    from envguard.adapters.cache import factors as making  # not where they are kept

    return making.factors(layout, soabi, environ)


def _made_of(mark: str, soabi: str) -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"envguard {__version__}, {soabi}, {cores} cores, {mark}"


def _entry(layout: Layout, folder: Path | None) -> Path:
    place = "\0".join(map(str, (layout.prefix, *layout.libraries))).encode("utf-8", "surrogateescape")
    where = folders.cache() / "factors" if folder is None else folder
    return where / f"{hashlib.sha256(place).hexdigest()[:32]}.json"


def _read(entry: Path, made_of: str, environ: Mapping[str, str]) -> CacheFactors | None:
    try:
        with entry.open("rb") as stream:
            sealed = json.loads(stream.read(_LARGEST))
        document = sealed["document"]
        if sealed["seal"] != _seal(document) or document["made-of"] != made_of:
            return None
        if any(environ.get(name) != value for name, value in document["asked"].items()):
            return None
        return _factors(document["factors"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _write(entry: Path, document: dict[str, Any]) -> None:
    from envguard.adapters import files

    with contextlib.suppress(OSError, ValueError):
        entry.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = json.dumps({"seal": _seal(document), "document": document}).encode()
        files.write(entry, content, mode=0o600, durable=False)


def _seal(document: Any) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _plain(factors: CacheFactors) -> dict[str, Any]:
    return {
        "torch-key": factors.torch_key,
        "triton-key": factors.triton_key,
        "threads": factors.threads,
        "settings": [list(pair) for pair in factors.settings],
    }


def _factors(plain: Mapping[str, Any]) -> CacheFactors:
    return CacheFactors(
        torch_key=plain["torch-key"],
        triton_key=plain["triton-key"],
        threads=plain["threads"],
        settings=tuple((str(name), str(value)) for name, value in plain["settings"]),
    )
