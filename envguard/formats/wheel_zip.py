"""A wheel's zip whose bytes follow from its content alone, and the RECORD that belongs to it.

Stored, not deflated: what deflating gives depends on the zlib that does it.
"""

from __future__ import annotations

import base64
import csv
import io
import zipfile
from collections.abc import Iterable
from types import TracebackType
from typing import IO, BinaryIO

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_REGULAR = 0o100000


class WheelZip:
    """Writes entries in the order they are given; use as a context. The stream must be seekable."""

    def __init__(self, stream: BinaryIO) -> None:
        self._archive = zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED)

    def __enter__(self) -> WheelZip:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def entry(self, name: str, size: int, *, executable: bool = False) -> IO[bytes]:
        """A stream for one entry's ``size`` bytes; close it before the next. ValueError for an impossible name."""
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError("its name is no text") from None
        head = zipfile.ZipInfo(name, _EPOCH)
        head.create_system = _UNIX
        head.external_attr = (_REGULAR | (0o755 if executable else 0o644)) << 16
        head.file_size = size  # from it follows whether the entry needs a 64-bit header
        return self._archive.open(head, "w")

    def write(self, name: str, content: bytes, *, executable: bool = False) -> None:
        """One entry from memory."""
        with self.entry(name, len(content), executable=executable) as stream:
            stream.write(content)


def record_text(rows: Iterable[tuple[str, str, str]], own: str) -> bytes:
    """RECORD's bytes: (path, ``algorithm:hex`` or empty, size) a row, in order, and at last its ``own`` path."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    for path, digest, size in rows:
        writer.writerow((path, _coded(digest), size))
    writer.writerow((own, "", ""))
    return written.getvalue().encode("utf-8", "surrogateescape")


def _coded(digest: str) -> str:
    if not digest:
        return ""
    algorithm, _, value = digest.partition(":")
    return f"{algorithm}={base64.urlsafe_b64encode(bytes.fromhex(value)).rstrip(b'=').decode()}"
