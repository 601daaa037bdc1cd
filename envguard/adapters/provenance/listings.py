"""The listings of a wheel: of a wheel file, or of a folder that one was unpacked into."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from envguard.adapters.provenance.reading import RECORD_CAP, files, read
from envguard.formats.record import read_wheel
from envguard.model.record import Listing

_DIRECTORY_CAP = 8 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
)


class _Capped:
    """A stream that refuses to be read in pieces larger than a zip's directory may be."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        content = self._stream.read(size if 0 <= size <= _DIRECTORY_CAP else _DIRECTORY_CAP + 1)
        if len(content) > _DIRECTORY_CAP:
            raise zipfile.BadZipFile("asks for too much at once")
        return content


def of_wheel(stream: BinaryIO) -> tuple[Listing, Listing] | None:
    """The two listings of a wheel file; None when it is broken, hostile or without one RECORD."""
    try:
        with zipfile.ZipFile(_Capped(stream)) as archive:
            entries = archive.namelist()
            records = [entry for entry in entries if _is_record(entry)]
            if len(records) != 1 or archive.getinfo(records[0]).compress_type not in _METHODS:
                return None
            with archive.open(records[0]) as record:
                content = record.read(RECORD_CAP + 1)
    except _BROKEN_ZIP:
        return None
    return _listings(content, records[0].partition("/")[0], entries)


def of_folder(unpacked: Path, dist_info: str) -> Iterator[Listing]:
    """The listings of an unpacked wheel, one after the other: its files are only looked for when asked on."""
    content = read(unpacked / dist_info / "RECORD", RECORD_CAP)
    if content is None:
        return
    if found := _listings(content, dist_info, ()):
        yield found[0]
        entries = [path.relative_to(unpacked).as_posix() for path in files(unpacked)]
        yield from (_listings(content, dist_info, entries) or ())[1:]


def _is_record(entry: str) -> bool:
    folder, _, name = entry.partition("/")
    return name == "RECORD" and folder.endswith(".dist-info")


def _listings(content: bytes, dist_info: str, entries: Sequence[str]) -> tuple[Listing, Listing] | None:
    if len(content) > RECORD_CAP:
        return None
    try:
        return read_wheel(content, dist_info, entries)
    except ValueError:
        return None
