"""Where an installed file lies in the wheel that it came from, so that installing that wheel gives the same files.

Installers drop most of a wheel's own layout. Lost without harm: whether a verbatim file of the scripts folder came
from ``.data/scripts`` or ``.data/data/bin``, modes other than 0755 and 0644, bytecode that was shipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from envguard.model.record import BOOKKEEPING, InstalledRow, Listing

_SITE_HEADERS = re.compile(r"(?:site/)?python3\.\d+t?/")
_PIP = re.compile(r"pip3?(?:\.\d+)?")
_SEPARATORS = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class Wheelside:
    """What is known of the wheel: its dist-info folder's name, canonical name, launchers, and root."""

    dist_info: str
    name: str
    launchers: frozenset[str] = frozenset()
    """Names that its entry points give to launchers: installers make them anew."""
    purelib: bool = True

    @property
    def data(self) -> str:
        """Name of its ``.data`` folder."""
        return f"{self.dist_info.removesuffix('.dist-info')}.data"


def files_of(listing: Listing, wheel: Wheelside) -> tuple[InstalledRow, ...]:
    """The rows of the files that go into the wheel, each place once: of several rows the one with a hash.

    Left out: what installers write, launchers, and bytecode in ``__pycache__``, which no fingerprint holds.
    """
    found: dict[tuple[str, str, str], InstalledRow] = {}
    for row in listing.placed:
        if _is_installers(row, wheel):
            continue
        place = (row.root, row.path, row.site)
        if place not in found or (row.digest and not found[place].digest):
            found[place] = row
    return tuple(found.values())


def rows_without_file(listing: Listing) -> Iterator[InstalledRow]:
    """Rows that the fingerprint holds and that name a place where no installer puts a file."""
    placed = {(row.root, row.path) for row in listing.placed}
    for row in listing.rows.values():
        if (row.root, row.path) not in placed:
            yield InstalledRow(row.root, row.path, row.digest, row.size)


def is_hashed(row: InstalledRow, listing: Listing) -> bool:
    """Whether the rebuilt RECORD gives this library or data file a hash: only where the fingerprint holds it."""
    kept = listing.rows.get((row.root, row.path))
    return kept is not None and bool(row.digest)


def name_in_wheel(row: InstalledRow, wheel: Wheelside, *, scripted: bool = False, inside: bool = True) -> str:
    """The file's name in the zip.

    ``scripted``: a file of the scripts folder that starts this environment's Python, so that the wheel held
    ``#!python``. ``inside``: a header that lies in the environment's own ``include``, not in its base's.
    ValueError for a file that no wheel could have put there.
    """
    if row.root == "library":
        if not row.site:
            return row.path
        return f"{wheel.data}/{'platlib' if wheel.purelib else 'purelib'}/{row.path}"
    if row.root == "data":
        return f"{wheel.data}/data/{row.path}"
    if row.root == "scripts":
        return f"{wheel.data}/scripts/{row.path}" if scripted else f"{wheel.data}/data/bin/{row.path}"
    return _header_name(row.path, wheel, inside=inside)


def in_order(names: Iterable[str], dist_info: str) -> list[str]:
    """Sorted, with the dist-info folder's files last and RECORD the very last: what a reader asks for first."""
    return sorted(names, key=lambda name: (name == f"{dist_info}/RECORD", name.startswith(f"{dist_info}/"), name))


def _is_installers(row: InstalledRow, wheel: Wheelside) -> bool:
    if row.root == "scripts":
        return row.path in wheel.launchers or (wheel.name == "pip" and _PIP.fullmatch(row.path) is not None)
    folder, _, name = row.path.rpartition("/")
    return row.root == "library" and folder == wheel.dist_info and name in BOOKKEEPING


def _header_name(path: str, wheel: Wheelside, *, inside: bool) -> str:
    """Installers put ``headers/X`` at ``include/site/pythonX.Y/NAME/X``, NAME spelled as they like."""
    found = _SITE_HEADERS.match(path)
    folder, slash, rest = path[found.end() if found else 0 :].partition("/")
    own = _SEPARATORS.sub("-", folder).lower() == wheel.name
    if slash and own and (found or not inside):
        return f"{wheel.data}/headers/{rest}"
    if inside:
        return f"{wheel.data}/data/include/{path}"
    raise ValueError("it lies outside the environment")
