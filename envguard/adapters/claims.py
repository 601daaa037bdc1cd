"""Which distributions say what of which files, folder by folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from envguard.adapters.site import Installed, read_listing
from envguard.model.distribution import Row
from envguard.model.facts import SharedPath
from envguard.model.record import BOOKKEEPING, InstalledRow, Listing
from envguard.model.target import Layout
from envguard.planning.held import Claim
from envguard.ports import Baseline

SCRIPTS = "scripts"
"""Key of the scripts folder."""
PLACED = "placed"
"""Key of the owned files outside libraries and scripts folder."""


def library_key(library: int, folder: str) -> str:
    """Key of a folder of a library."""
    return f"{library}/{folder}"


def split_key(key: str) -> tuple[int, str]:
    """Library's number and the folder's path in it."""
    number, _, path = key.partition("/")
    return int(number), path


def distribution_key(installed: Installed) -> str:
    """Key of a distribution: two can have one name."""
    return f"{installed.in_library}/{installed.folder}"


class Claims:
    """Claims by folder key and name. ``names`` in ``PLACED`` are ``root``, NUL, ``path``."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._real = {os.path.realpath(folder): number for number, folder in enumerate(layout.libraries)}
        self.units: dict[str, dict[str, list[Claim]]] = {}
        self.owners: dict[str, dict[str, None]] = {}

    def add(self, installed: Installed, rows: Iterable[InstalledRow]) -> None:
        """Take in a distribution's rows."""
        owner, key = installed.name, distribution_key(installed)
        before = ""
        for row in rows:
            unit, name = self._place(installed.in_library, row)
            claims = self.units.setdefault(unit, {}).setdefault(name, [])
            claims.append(Claim(owner, row.digest, row.size))
            if unit != before:
                self.owners.setdefault(unit, {})[key] = None
                before = unit

    def add_installed(self, installed: Installed, listing: Listing | None, baseline: Baseline) -> None:
        """Take in what a distribution's RECORD says (``listing`` if it is at hand), or else the lock's rows."""
        if installed.record is None:
            self.add(installed, _recorded_rows(installed, baseline))
        elif listing is not None:
            self.add(installed, listing.placed)
        else:
            # changed since it was read a moment ago: told at the next look
            with contextlib.suppress(OSError, ValueError):
                self.add(installed, read_listing(self._layout, installed.in_library, installed.folder).placed)

    def of(self, unit: str) -> Mapping[str, list[Claim]]:
        """Claims on the names in a folder."""
        return self.units.get(unit, {})

    def shared(self) -> Iterator[SharedPath]:
        """Paths that several distributions own."""
        for unit, names in self.units.items():
            for name, claims in names.items():
                if len(claims) > 1 and len(owners := sorted({claim.owner for claim in claims})) > 1:
                    path = _shown(unit, name)
                    if path.rpartition("/")[2] not in BOOKKEEPING:
                        agree = len({claim.digest for claim in claims if claim.digest}) <= 1
                        yield SharedPath(path, tuple(owners), agree)

    def _place(self, library: int, row: InstalledRow) -> tuple[str, str]:
        if row.root == "library":
            if row.site:
                found = self._real.get(os.path.realpath(row.site))
                if found is None:
                    prefix = f"{self._layout.prefix.as_posix()}/"
                    return PLACED, f"data\0{row.site.removeprefix(prefix)}/{row.path}"
                library = found
            folder, _, name = row.path.rpartition("/")
            return f"{library}/{folder}", name
        if row.root == "scripts" and "/" not in row.path:
            return SCRIPTS, row.path
        return PLACED, f"{row.root}\0{row.path}"


def silent_names(installed: Iterable[Installed], baseline: Baseline) -> frozenset[str]:
    """Top-level names of distributions whose files nobody lists."""
    names: set[str] = set()
    for one in installed:
        if one.record is None and not _rows(one, baseline):
            names.add(one.folder)
            names.update(one.modules, (f"{module}.py" for module in one.modules))
    return frozenset(names)


def place_of(layout: Layout, root: str, path: str) -> Path:
    """Where a file of a root lies; a library's file in the first library that has it."""
    if root == "library":
        there = [folder / path for folder in layout.libraries if os.path.lexists(folder / path)]
        return there[0] if there else layout.libraries[0] / path
    if root == "scripts":
        return layout.scripts / path
    if root == "headers":
        usual = layout.prefix / "include" / path
        inside = layout.headers.is_relative_to(layout.prefix) or os.path.lexists(usual)
        return usual if inside else layout.headers / path
    return layout.prefix / path


def _recorded_rows(installed: Installed, baseline: Baseline) -> Iterator[InstalledRow]:
    """What is known of the files of a distribution without a RECORD: the lock's rows, and its launchers."""
    for row in _rows(installed, baseline).values():
        yield InstalledRow(row.root, row.path, row.digest, row.size)
    for name, _ in installed.targets:
        yield InstalledRow("scripts", name, "", "")


def _rows(installed: Installed, baseline: Baseline) -> Mapping[tuple[str, str], Row]:
    content = baseline(installed.name)
    try:
        from envguard.formats.record import load_rows  # only where a RECORD can't be read

        return load_rows(content) if content is not None else {}
    except ValueError:
        return {}


def _shown(unit: str, name: str) -> str:
    if unit == SCRIPTS:
        return f"bin/{name}"
    if unit == PLACED:
        root, _, path = name.partition("\0")
        return f"include/{path}" if root == "headers" else path
    folder = unit.partition("/")[2]
    return f"{folder}/{name}" if folder else name
