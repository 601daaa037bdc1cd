"""A wheel made again from its installed files: the same record fingerprint, and bytes of its own.

Every file is held against RECORD while it is copied: what was changed after its installation is no source.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from envguard.adapters.claims import place_of
from envguard.adapters.hashing import open_file, read_file
from envguard.adapters.provenance.installed import locate
from envguard.adapters.site import RECORD_CAP
from envguard.errors import NotRebuildableError
from envguard.formats import distinfo
from envguard.formats.record import read_installed, read_wheel
from envguard.formats.wheel_zip import WheelZip, record_text
from envguard.model.archive import RebuiltWheel
from envguard.model.distribution import Distribution
from envguard.model.record import InstalledRow, Listing
from envguard.model.target import Layout
from envguard.planning import launchers, rebuild, wheel_names
from envguard.planning.rebuild import Wheelside

Elsewhere = Callable[[str, str], Path | None]
"""Path in a library and ``algorithm:hex`` → a file of those bytes, or None."""

_PIECE = 1 << 20
_SMALL = 1 << 20
"""Bytes up to which a file is read whole, and may be a script that an installer wrote into."""
_TAG = re.compile(r"(?m)^Tag:\s*(\S+)\s*$")


def rebuilt_wheel(
    layout: Layout, distribution: Distribution, folder: Path, *, elsewhere: Elsewhere | None = None
) -> RebuiltWheel:
    """Make the wheel in ``folder``, under a name of no meaning.

    ``elsewhere`` is asked for the bytes of a file that several distributions own, where the last one installed
    brought others. NotRebuildableError names the file that is in the way. OSError: ``folder`` can't be written.
    """
    source = _source(layout, distribution)
    path = folder / f"{secrets.token_hex(8)}.whl.tmp"
    try:
        with path.open("xb") as stream:
            remarks = _Making(source, elsewhere).write(stream)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return RebuiltWheel(path, _filename(distribution, source), remarks)


@dataclass(frozen=True, slots=True)
class _Source:
    """An installed distribution, opened up."""

    layout: Layout
    distribution: Distribution
    site: Path
    listing: Listing
    wheel: Wheelside
    tags: str
    """The text of WHEEL."""

    def refuse(self, reason: str, path: str | None = None) -> NotRebuildableError:
        name = self.distribution.name
        return NotRebuildableError(
            f"{name} can't be rebuilt as a wheel: {reason}",
            where=path,
            hint=f"install it anew (uv pip install --reinstall-package {name} …), or archive it from an index",
        )


def _source(layout: Layout, distribution: Distribution) -> _Source:
    name = distribution.name
    refusal = _why_not(distribution)
    info = locate(layout, distribution).folder
    if refusal is None and info is None:
        refusal = "its dist-info folder is not there"
    if refusal is not None or info is None:
        raise NotRebuildableError(f"{name} can't be rebuilt as a wheel: {refusal}")
    try:
        listing = read_installed(
            read_file(str(info / "RECORD"), cap=RECORD_CAP),
            info.name,
            site=info.parent.as_posix(),
            prefix=layout.prefix.as_posix(),
            scripts=layout.scripts.as_posix(),
            headers=layout.headers.as_posix(),
        )
        tags = read_file(str(info / "WHEEL"), cap=_SMALL, follow=True)
        points = _entry_points(info)
    except (OSError, ValueError) as problem:
        raise NotRebuildableError(f"{name} can't be rebuilt as a wheel: {problem}", where=str(info)) from None
    wheel = Wheelside(info.name, name, frozenset(points), purelib=distinfo.read_wheel_tags(tags).root_is_purelib)
    return _Source(layout, distribution, info.parent, listing, wheel, tags.decode("utf-8", "surrogateescape"))


def _why_not(distribution: Distribution) -> str | None:
    origin = distribution.origin
    if origin is not None and origin.editable:
        return "it is an editable install, whose files lie elsewhere"
    if distribution.record is None:
        return distribution.problem or "its RECORD can't be read"
    if distribution.installer not in (None, "pip", "uv"):
        return f"it was installed by {distribution.installer}, not from a wheel"
    return None


def _entry_points(info: Path) -> Iterator[str]:
    try:
        content = read_file(str(info / "entry_points.txt"), cap=_SMALL, follow=True)
    except FileNotFoundError:
        return
    for point in distinfo.read_entry_points(content):
        yield point.name


def _filename(distribution: Distribution, source: _Source) -> str:
    """The wheel's own name where it is known, else one that can be installed."""
    known, dist_info = distribution.wheel.filename, source.wheel.dist_info
    if known is not None and wheel_names.fits(known, distribution.name, distribution.version):
        return known
    name = wheel_names.rebuilt(dist_info, source.tags)
    if name is not None and wheel_names.fits(name, distribution.name, distribution.version):
        return name
    tag = _TAG.search(source.tags)
    stem = f"{distribution.name.replace('-', '_')}-{distribution.version}"
    return f"{stem}-{tag[1] if tag else 'py3-none-any'}.whl"


@dataclass(slots=True)
class _Making:
    """One wheel being written."""

    source: _Source
    elsewhere: Elsewhere | None
    rows: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name in the zip → digest and size for RECORD."""
    remarks: list[str] = field(default_factory=list)

    def write(self, stream: BinaryIO) -> tuple[str, ...]:
        """The whole file."""
        source, dist_info = self.source, self.source.wheel.dist_info
        placed = self._placed()
        with WheelZip(stream) as archive:
            for name in rebuild.in_order(placed, dist_info):
                self._add(archive, name, placed[name])
            present = {*self.rows, f"{dist_info}/RECORD"}
            for row in rebuild.rows_without_file(source.listing):
                self.rows.setdefault(rebuild.name_in_wheel(row, source.wheel), (row.digest, row.size))
            record = f"{dist_info}/RECORD"
            rows = [(name, *self.rows[name]) for name in rebuild.in_order(self.rows, dist_info)]
            content = record_text(rows, record)
            self._check(content, present)
            archive.write(record, content)
        stream.flush()
        return tuple(self.remarks)

    def _placed(self) -> dict[str, InstalledRow]:
        """Files by their name in the zip; rows whose file is not there are noted for RECORD."""
        placed: dict[str, InstalledRow] = {}
        for row in rebuild.files_of(self.source.listing, self.source.wheel):
            path = self._path(row)
            try:
                mode = (path.stat() if row.digest else path.lstat()).st_mode
            except OSError:
                self._absent(row)
                continue
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                raise self.source.refuse(f"{row.path} is no regular file", str(path))
            placed[self._name(row, path)] = row
        return placed

    def _absent(self, row: InstalledRow) -> None:
        """No file: its row stays where the fingerprint needs it."""
        if row.root in ("library", "data") and rebuild.is_hashed(row, self.source.listing):
            self.rows[rebuild.name_in_wheel(row, self.source.wheel)] = (row.digest, row.size)
            self.remarks.append(f"{self.source.distribution.name}: RECORD names {row.path}, which is not there")

    def _path(self, row: InstalledRow) -> Path:
        if row.root == "library":
            return Path(row.site) / row.path if row.site else self.source.site / row.path
        return place_of(self.source.layout, row.root, row.path)

    def _name(self, row: InstalledRow, path: Path) -> str:
        source = self.source
        scripted = row.root == "scripts" and self._undone(path) is not None
        inside = path.is_relative_to(source.layout.prefix)
        try:
            return rebuild.name_in_wheel(row, source.wheel, scripted=scripted, inside=inside)
        except ValueError as problem:
            raise source.refuse(f"{row.path}: {problem}", str(path)) from None

    def _undone(self, path: Path) -> bytes | None:
        """A script as the wheel held it, where it starts this environment's Python; else None."""
        if path.lstat().st_size > _SMALL:
            return None
        content = self._read(path)
        folder = _interpreters_folder(content)
        layout = self.source.layout
        own = {os.path.realpath(layout.scripts), os.path.realpath(layout.python.parent)}
        if folder is None or (folder != launchers.HERE and os.path.realpath(folder) not in own):
            return None
        undone = launchers.undo(content, folders=(folder,), target="")
        return None if undone == content else undone

    def _read(self, path: Path) -> bytes:
        try:
            return read_file(str(path), cap=_SMALL, follow=True)  # of rows whose digest is, or was, compared
        except OSError as problem:
            raise self.source.refuse(f"{path.name} can't be read: {problem.strerror}", str(path)) from None

    def _add(self, archive: WheelZip, name: str, row: InstalledRow) -> None:
        path = self._path(row)
        with self._opened(row, path) as (stream, mode, size):
            executable = bool(mode & 0o111)
            if size <= _SMALL:
                content = self._right(row, path, stream.read())
                if row.root == "scripts":
                    content = self._undone(path) or content
                archive.write(name, content, executable=executable)
                digest, size = f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)
            else:
                digest = self._copied(row, path, stream, archive, name, size, executable=executable)
        self.rows[name] = self._row(row, digest, size)

    def _row(self, row: InstalledRow, digest: str, size: int) -> tuple[str, str]:
        """What RECORD says: of a library or data file what it said before; nothing where it proved nothing."""
        if row.root not in ("library", "data"):
            return digest, str(size)
        return (row.digest, row.size) if rebuild.is_hashed(row, self.source.listing) else ("", "")

    @contextmanager
    def _opened(self, row: InstalledRow, path: Path) -> Iterator[tuple[BinaryIO, int, int]]:
        try:
            handle = open_file(str(path), follow=bool(row.digest))  # a digest proves what a link led to
        except OSError as problem:
            raise self.source.refuse(f"{row.path} can't be read: {problem.strerror}", str(path)) from None
        with os.fdopen(handle, "rb") as stream:
            status = os.fstat(handle)
            yield stream, status.st_mode, status.st_size

    def _right(self, row: InstalledRow, path: Path, content: bytes) -> bytes:
        """The bytes that RECORD means: those installed, or another owner's of the same path."""
        if _agrees(row.digest, content):
            return content
        other = self._from_elsewhere(row) if self.elsewhere is not None else None
        if other is not None:
            content = self._read(other)
            if _agrees(row.digest, content):
                return content
        raise self._edited(row, path)

    def _from_elsewhere(self, row: InstalledRow) -> Path | None:
        if self.elsewhere is None or row.root != "library" or not _is_shared(self.source, row.path):
            return None
        return self.elsewhere(row.path, row.digest)

    def _copied(
        self,
        row: InstalledRow,
        path: Path,
        stream: BinaryIO,
        archive: WheelZip,
        name: str,
        size: int,
        *,
        executable: bool,
    ) -> str:
        own, said = hashlib.sha256(), hashlib.new(row.digest.partition(":")[0] or "sha256", usedforsecurity=False)
        same = said.name == own.name
        with archive.entry(name, size, executable=executable) as entry:
            while piece := stream.read(_PIECE):
                own.update(piece)
                if not same:
                    said.update(piece)
                entry.write(piece)
        got = own if same else said
        if row.digest and row.digest != f"{got.name}:{got.hexdigest()}":
            raise self._edited(row, path)
        return f"sha256:{own.hexdigest()}"

    def _edited(self, row: InstalledRow, path: Path) -> NotRebuildableError:
        return self.source.refuse(f"{row.path} is not what its RECORD says: it was changed", str(path))

    def _check(self, record: bytes, names: set[str]) -> None:
        """No wheel is better than one that would be taken for another."""
        own = (self.source.distribution.record, self.source.distribution.record_data)
        listed = read_wheel(record, self.source.wheel.dist_info, names)
        if not any((listing.record, listing.record_data) == own for listing in listed):
            raise self.source.refuse("its RECORD can't be written again such that it has the same fingerprint")


def _interpreters_folder(content: bytes) -> str | None:
    python = launchers.interpreter(content)
    folder = posixpath.dirname(python) if python is not None else ""
    return folder if folder == launchers.HERE or folder.startswith("/") else None


def _agrees(digest: str, content: bytes) -> bool:
    algorithm, _, value = digest.partition(":")
    return not digest or hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() == value


def _is_shared(source: _Source, path: str) -> bool:
    """Whether another distribution's RECORD names this path too."""
    for record in source.site.glob("*.dist-info/RECORD"):
        if record.parent.name == source.wheel.dist_info:
            continue
        try:
            content = read_file(str(record), cap=RECORD_CAP)
        except OSError:
            continue
        if f"\n{path},".encode() in b"\n" + content:
            return True
    return False
