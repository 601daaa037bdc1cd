"""Startup code outside the libraries: in the other folders of the search path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from envguard.adapters.hashing import Wanted, see
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import Layout
from envguard.planning.held import is_startup, sha256_of

OUTSIDE = "path"
"""The root of such files; their path begins with the source of the folder (``PYTHONPATH/sitecustomize.py``)."""

_GUARD = Path(__file__).parent.parent / "runtime" / "site" / "sitecustomize.py"
_SHA256 = frozenset({"sha256"})
_PACKAGES = ("sitecustomize", "usercustomize")


def outside_startup(layout: Layout) -> tuple[FileFact, ...]:
    """``sitecustomize`` and ``usercustomize``, the first of each; in the user site ``.pth`` files too."""
    found: dict[str, FileFact] = {}
    for entry in layout.path:
        if entry.source != "site-packages":
            for name, place in _startup_files(entry.path, with_pth=entry.source == "user site"):
                path = f"{entry.source}/{name}"
                if path not in found and not _is_guard(fact := _fact(path, place)):
                    found[path] = fact
    return tuple(found.values())


def _is_guard(fact: FileFact) -> bool:
    """Whether it is what ``envguard run`` puts on PYTHONPATH, byte for byte: it lets the next of its name run."""
    if fact.sha256 is None or fact.path != "PYTHONPATH/sitecustomize.py":
        return False
    return see(Wanted(os.fspath(_GUARD), 0, _SHA256)).digests.get("sha256") == fact.sha256.hex


def _startup_files(folder: Path, *, with_pth: bool) -> Iterator[tuple[str, str]]:
    for name in _names(folder):
        place = os.path.join(folder, name)  # noqa: PTH118 - odd names must not raise
        if name in _PACKAGES:
            for inside in _names(Path(place)):
                if is_startup(name, inside):
                    yield f"{name}/{inside}", os.path.join(place, inside)  # noqa: PTH118
        elif is_startup("", name) and (with_pth or not name.endswith(".pth")):
            yield name, place


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []


def _fact(path: str, place: str) -> FileFact:
    try:
        size = os.lstat(place).st_size
    except OSError:
        size = 0
    seen = see(Wanted(place, size, _SHA256))
    kind = FileKind.STARTUP if seen.problem is None else FileKind.UNREADABLE
    return FileFact(path, kind, OUTSIDE, sha256=sha256_of(seen), detail=seen.problem or place)
