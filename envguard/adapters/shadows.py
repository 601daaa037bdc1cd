"""Modules of installed distributions that would be imported from elsewhere first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from envguard.adapters.site import Installed
from envguard.model.facts import Shadow
from envguard.model.target import Layout, PathEntry

_ENDINGS = (".py", ".pyc", ".so", ".pyd")


def shadows(layout: Layout, installed: Iterable[Installed], working_folder: Path | None) -> tuple[Shadow, ...]:
    """Every such module, once a place. A job's own folder is taken to be ``working_folder`` (``python -m``)."""
    path = _search_path(layout, working_folder)
    positions = {os.path.realpath(entry.path): number for number, entry in enumerate(path)}
    libraries = [positions.get(os.path.realpath(folder), len(path)) for folder in layout.libraries]
    owners: dict[str, list[tuple[str, int]]] = {}
    for one in installed:
        for module in one.modules:
            owners.setdefault(module, []).append((one.name, libraries[one.in_library]))
    found: set[Shadow] = set()
    last = max(libraries, default=0)
    for number, entry in enumerate(path[:last]):
        if entry.source != "site-packages":
            for module, place in _modules(entry.path, owners):
                found.update(
                    Shadow(module, owner, entry.source, place)
                    for owner, position in owners[module]
                    if number < position
                )
    return tuple(sorted(found, key=lambda one: (one.module, one.distribution, one.place)))


def _search_path(layout: Layout, working_folder: Path | None) -> Sequence[PathEntry]:
    if working_folder is None:
        return layout.path
    real = os.path.realpath(working_folder)
    if any(os.path.realpath(entry.path) == real for entry in layout.path):
        return layout.path
    return (PathEntry(working_folder, "working folder"), *layout.path)


def _modules(folder: Path, wanted: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Wanted modules that a folder holds, and where. A folder without ``__init__`` gives way to later ones."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names as they are
    except OSError:
        return
    for name in names:
        module, dot, _ = name.partition(".")
        if module not in wanted:
            continue
        place = os.path.join(folder, name)  # noqa: PTH118
        if (dot and name.endswith(_ENDINGS)) or (not dot and _is_package(place)):
            yield module, place


def _is_package(folder: str) -> bool:
    try:
        return any(name.startswith("__init__.") and name.endswith(_ENDINGS) for name in os.listdir(folder))  # noqa: PTH208
    except OSError:
        return False
