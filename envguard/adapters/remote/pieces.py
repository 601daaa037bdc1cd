"""A zip whose bytes come in pieces: what was fetched once is never fetched again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from envguard.adapters.remote.source import Source
from envguard.formats import zip_directory
from envguard.formats.zip_directory import BadZipError, End, Entry, Limits

_LEAST, _MOST = 32 << 10, 512 << 10
_UNKNOWN = 64 << 10
_GAP = 32 << 10
"""Bytes that are fetched along rather than asking once more."""


def first_piece(size: int | None) -> int:
    """How much of a file's end is asked for first: most wheels need no second request (measured on 276)."""
    return _UNKNOWN if size is None else min(max(size // 200, _LEAST), _MOST)


class ZipPieces:
    """A zip's directory and entries. BadZipError; whatever ``source`` raises passes through."""

    def __init__(self, source: Source, size: int | None, limits: Limits | None = None) -> None:
        """``size``: as somebody says; it only decides how much is asked for first."""
        self._source = source
        self._limits = limits or Limits()
        self._count = first_piece(size)
        self._pieces: list[tuple[int, bytes]] = []
        self._end: End | None = None
        self.entries: tuple[Entry, ...] = ()

    def begin(self) -> None:
        """Fetch the file's end; ``source`` knows its size then."""
        tail = self._source.tail(self._count)
        self._pieces = [(self._source.size - len(tail), tail)]
        self._end = zip_directory.find_end(tail, self._source.size, self._limits)

    def open(self, *, before: bool) -> None:
        """Read the directory; ``before``: what lies before it will be needed too."""
        end = self._end
        if end is None:
            raise AssertionError("begin first")
        start = end.start
        if before and not self._covers(end.start, end.stop):
            start = max(0, end.start - first_piece(self._source.size))
        self._ensure([(start, end.stop)])
        self.entries = zip_directory.read_directory(self._slice(end.start, end.stop), end, self._limits)

    def read(self, entries: Sequence[Entry], most: int) -> list[bytes]:
        """Contents of some entries, with as few requests as can be."""
        for entry in entries:
            if entry.size > most or entry.packed > most + 1024:
                raise BadZipError(f"{entry.name[:100]} claims {entry.size} bytes, more than {most}")
        self._ensure([(entry.offset, entry.stop) for entry in entries])
        return [self._content(entry, most) for entry in entries]

    def has(self, entry: Entry) -> bool:
        """Whether an entry needs no request."""
        return self._covers(entry.offset, entry.stop)

    def _content(self, entry: Entry, most: int) -> bytes:
        start = zip_directory.content_start(self._slice(entry.offset, entry.stop), entry)
        begin = entry.offset + start
        self._ensure([(begin, begin + entry.packed)])
        return zip_directory.unpacked(self._slice(begin, begin + entry.packed), entry, most)

    def _covers(self, start: int, stop: int) -> bool:
        return any(at <= start and stop <= at + len(content) for at, content in self._pieces)

    def _slice(self, start: int, stop: int) -> bytes:
        for at, content in self._pieces:
            if at <= start and stop <= at + len(content):
                return content[start - at : stop - at]
        raise AssertionError("asked for before it was fetched")

    def _ensure(self, spans: Iterable[tuple[int, int]]) -> None:
        for start, stop in _joined(part for span in spans for part in self._missing(*span)):
            self._pieces.append((start, self._source.read(start, stop)))
        self._pieces = _merged(self._pieces)

    def _missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        found = []
        for at, content in sorted(self._pieces):
            after = at + len(content)
            if after <= start or at >= stop:
                continue
            if at > start:
                found.append((start, at))
            start = after
        if start < stop:
            found.append((start, stop))
        return found


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans with little between them as one."""
    found: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1] + _GAP:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found


def _merged(pieces: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Pieces that touch or overlap as one."""
    found: list[tuple[int, bytes]] = []
    for start, content in sorted(pieces):
        if found and start <= found[-1][0] + len(found[-1][1]):
            at, before = found[-1]
            found[-1] = (at, before + content[at + len(before) - start :])
        else:
            found.append((start, content))
    return found
