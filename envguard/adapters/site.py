"""Distributions of a library folder, read from their dist-info and egg-info folders."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from envguard.adapters.hashing import Root, at, read_file
from envguard.formats import distinfo
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Origin, Row
from envguard.model.record import Listing
from envguard.model.target import Layout

Key = tuple[str, str]
"""(root, path) of a row."""
RECORD_CAP = 64 << 20
"""Bytes of a RECORD that are read; torch's has 1.5 MB."""
_SMALL_CAP = 8 << 20
_INSTALLERS = frozenset({"RECORD", "INSTALLER"})
"""Never a link, whatever the link mode: the installer writes them."""
_SYSTEM = "system, not a wheel"


class Installed(NamedTuple):
    """One dist-info or egg-info, as the stat index keeps it."""

    in_library: int
    """Which of the layout's libraries it lies in."""
    folder: str
    name: str
    """Canonical."""
    version: str
    installer: str | None
    problem: str | None
    record: str | None
    """Record fingerprint, hex."""
    record_data: str | None
    content: bytes
    """Digest of everything here that says something of files."""
    modules: tuple[str, ...]
    """What it lets a program import."""
    targets: tuple[tuple[str, str], ...]
    """Launchers: name and what it runs."""
    requires: tuple[str, ...]
    direct: bool
    """Whether there is a direct_url.json."""


def is_distribution(name: str) -> bool:
    """Whether a name in a library folder is a distribution's; ``~`` marks what pip failed to remove."""
    return name.endswith((".dist-info", ".egg-info")) and not name.startswith(("~", "."))


def read(layout: Layout, library: int, root: Root, folder: str) -> tuple[Installed, Listing | None]:
    """Read one dist-info or egg-info and its RECORD; what is wrong with it is told as its ``problem``."""
    if folder.endswith(".egg-info"):
        return _read_egg(library, root, folder), None
    parts = _Parts(root, folder)
    metadata = _metadata(parts, folder.removesuffix(".dist-info"))
    problem = None
    record, why = parts.read("RECORD", RECORD_CAP)
    listing: Listing | None = None
    if record is not None:
        try:
            listing = _listing(record, layout, library, folder)
        except ValueError as wrong:
            why = str(wrong)
    if listing is None:
        problem = _problem(why, found=record is not None)
    targets = _targets(parts)
    tops = _top_level(parts)
    modules = (
        distinfo.top_level_modules(row.path for row in listing.placed if row.root == "library")
        if listing is not None
        else tops or {metadata.name.replace("-", "_")}
    )
    installed = Installed(
        in_library=library,
        folder=folder,
        name=distinfo.canonical(metadata.name),
        version=metadata.version,
        installer=distinfo.read_installer(parts.read("INSTALLER")[0] or b""),
        problem=problem,
        record=listing.record.hex if listing is not None else None,
        record_data=listing.record_data.hex if listing is not None and listing.record_data is not None else None,
        content=_content(record, targets, problem, metadata, () if listing is not None else modules),
        modules=tuple(sorted(modules)),
        targets=targets,
        requires=metadata.requires,
        direct=parts.has("direct_url.json"),
    )
    return installed, listing


def read_listing(layout: Layout, library: int, folder: str) -> Listing:
    """Read a RECORD again. OSError, ValueError."""
    path = os.path.join(layout.libraries[library], folder, "RECORD")  # noqa: PTH118 - odd names must not raise
    return _listing(read_file(path, cap=RECORD_CAP), layout, library, folder)


def distribution(
    layout: Layout, installed: Installed, origin: Callable[[Installed], Origin | None]
) -> Distribution:
    """As a fact; its listing is read when somebody asks for it."""
    return Distribution(
        name=installed.name,
        version=installed.version,
        record=Digest(installed.record) if installed.record else None,
        record_data=Digest(installed.record_data) if installed.record_data else None,
        installer=installed.installer,
        origin=origin(installed) if installed.direct else None,
        folder=_shown_folder(layout, installed),
        problem=installed.problem,
        listing=LazyRows(layout, installed) if installed.record else None,
    )


class LazyRows(Mapping[Key, Row]):
    """A distribution's rows, parsed at the first question; none when RECORD is no longer the one seen."""

    def __init__(self, layout: Layout, installed: Installed) -> None:
        self._layout = layout
        self._installed = installed
        self._rows: Mapping[Key, Row] | None = None

    def _load(self) -> Mapping[Key, Row]:
        if self._rows is None:
            try:
                listing = read_listing(self._layout, self._installed.in_library, self._installed.folder)
            except (OSError, ValueError):
                self._rows = {}
            else:
                self._rows = listing.rows if listing.record.hex == self._installed.record else {}
        return self._rows

    def __getitem__(self, key: Key) -> Row:
        return self._load()[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())


class _Parts:
    """The files of one dist-info folder."""

    def __init__(self, root: Root, folder: str) -> None:
        self._root = root
        self._folder = folder

    def read(self, name: str, cap: int = _SMALL_CAP) -> tuple[bytes | None, str]:
        """A file's bytes; or None, and why."""
        try:
            path = f"{self._folder}/{name}"
            return read_file(path, self._root, cap=cap, follow=name not in _INSTALLERS), ""
        except FileNotFoundError:
            return None, "missing"
        except OSError as problem:
            return None, problem.strerror or str(problem)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            place, folder = at(f"{self._folder}/{name}", self._root)
            os.stat(place, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        return True


def _metadata(parts: _Parts, stem: str) -> distinfo.Metadata:
    """METADATA's header; by the folder's name where it can't be read (its own row in RECORD tells of that)."""
    try:
        return distinfo.read_metadata(parts.read("METADATA")[0] or b"")
    except ValueError:
        name, dash, version = stem.rpartition("-")
        return distinfo.Metadata(name, version) if dash else distinfo.Metadata(stem, "unknown")


def _problem(why: str, *, found: bool) -> str:
    if found:
        return f"RECORD can't be used: {why}"
    return "RECORD is missing" if why == "missing" else f"RECORD can't be read: {why}"


def _targets(parts: _Parts) -> tuple[tuple[str, str], ...]:
    content = parts.read("entry_points.txt")[0]
    try:
        return tuple((point.name, point.target) for point in distinfo.read_entry_points(content or b""))
    except ValueError:  # installers refuse such a file, so there are no launchers
        return ()


def _top_level(parts: _Parts) -> frozenset[str]:
    content = parts.read("top_level.txt")[0] or b""
    return frozenset(name for name in content.decode("utf-8", "replace").split() if "/" not in name)


def _content(
    record: bytes | None,
    targets: tuple[tuple[str, str], ...],
    problem: str | None,
    metadata: distinfo.Metadata,
    modules: Iterable[str],
) -> bytes:
    state = hashlib.blake2b(record or b"", digest_size=16)
    rest = repr((targets, problem, metadata.name, metadata.version, sorted(modules)))
    state.update(rest.encode("utf-8", "backslashreplace"))
    return state.digest()


def _listing(record: bytes, layout: Layout, library: int, folder: str) -> Listing:
    from envguard.formats.record import read_installed  # not where RECORDs are known

    return read_installed(
        record,
        folder,
        site=layout.libraries[library].as_posix(),
        prefix=layout.prefix.as_posix(),
        scripts=layout.scripts.as_posix(),
        headers=layout.headers.as_posix(),
    )


def _shown_folder(layout: Layout, installed: Installed) -> str:
    if len(layout.libraries) == 1:
        return installed.folder
    library: Path = layout.libraries[installed.in_library]
    return f"{library.parent.name}/{library.name}/{installed.folder}"


def _read_egg(library: int, root: Root, folder: str) -> Installed:
    parts = _Parts(root, folder)
    stem = folder.removesuffix(".egg-info")
    name, _, version = stem.partition("-")
    version = version.partition("-py")[0] or "unknown"
    content = parts.read("PKG-INFO")[0]
    if content is None:
        content = _Parts(root, ".").read(folder)[0]  # a lone file, as distutils wrote it
    try:
        metadata = distinfo.read_metadata(content or b"")
    except ValueError:
        metadata = distinfo.Metadata(name, version)
    modules = _top_level(parts) or {name.replace("-", "_")}
    return Installed(
        in_library=library,
        folder=folder,
        name=distinfo.canonical(metadata.name),
        version=metadata.version,
        installer=None,
        problem=f"{_SYSTEM} (egg-info has no RECORD)",
        record=None,
        record_data=None,
        content=_content(None, (), _SYSTEM, metadata, modules),
        modules=tuple(sorted(modules)),
        targets=(),
        requires=(),
        direct=False,
    )
