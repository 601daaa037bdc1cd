"""A zip's directory, read from pieces of the file: what is needed to fetch a few entries and nothing else.

Every zip is taken for hostile. What two readers could understand in two ways is refused: bytes after the end,
gaps between directory and end, entries that overlap, names twice, headers that disagree with the directory.
Source: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_END = struct.Struct("<4s4H2LH")
_END64_PLACE = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK = b"PK\5\6"
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
_DESCRIPTOR, _UTF8, _LOCKED = 0x8, 0x800, 0x1 | 0x40 | 0x2000
_STORED, _DEFLATED = 0, 8
_HEADER = _LOCAL.size
_MOST_EXTRA = 1 << 16

SMALLEST = _END.size
"""Bytes of the smallest zip there is."""


class BadZipError(ValueError):
    """It is no zip, or one that is refused; the text is for people."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a wheel's zip may have at most. Sizes in bytes."""

    entries: int = 150_000
    directory: int = 16 << 20
    name: int = 4096
    entry: int = 16 << 30
    whole: int = 128 << 30
    """All entries together, unpacked."""


@dataclass(frozen=True, slots=True)
class End:
    """Where the directory lies: bytes ``start`` to ``stop`` of the file, with so many entries."""

    start: int
    stop: int
    entries: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One file as the directory tells of it. ``reach``: where the next entry, or the directory, begins."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int
    reach: int = 0

    @property
    def is_folder(self) -> bool:
        """Whether it stands for a folder."""
        return self.name.endswith("/")

    @property
    def stop(self) -> int:
        """Up to where bytes are needed to read it: header, name, extra field of usual length, and content."""
        return min(self.reach, self.offset + _HEADER + len(self.name.encode()) + 1024 + self.packed)


def find_end(tail: bytes, total: int, limits: Limits | None = None) -> End:
    """Find the directory from a file's last bytes (``total``: the file's size). BadZipError.

    ``tail`` must hold the end records: with a zip64 end and a short comment, 1 KiB is enough.
    """
    limits = limits or Limits()
    base, at = total - len(tail), tail.rfind(_END_MARK)
    if at < 0 or len(tail) - at < _END.size:
        raise BadZipError("it is no zip: there is no end of a directory")
    _, disk, first, here, entries, size, start, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        raise BadZipError("there are bytes after its end, or a comment that looks like an end")
    numbers, stop = (disk, first, here, entries, size, start), base + at
    numbers, stop = _with_zip64(tail, base, at, numbers, stop)
    disk, first, here, entries, size, start = numbers
    if disk or first or here != entries:
        raise BadZipError("it is a part of several")
    if entries > limits.entries:
        raise BadZipError(f"it claims {entries} entries, more than {limits.entries}")
    if size > limits.directory:
        raise BadZipError(f"it claims a directory of {size} bytes, more than {limits.directory}")
    if start + size != stop:
        raise BadZipError("its directory doesn't lie where its end says")
    if entries * _CENTRAL.size > size:
        raise BadZipError("its directory is too short for its entries")
    return End(start, stop, entries)


_Numbers = tuple[int, int, int, int, int, int]


def _with_zip64(tail: bytes, base: int, at: int, numbers: _Numbers, stop: int) -> tuple[_Numbers, int]:
    """The numbers of a zip64 end, where there is one; what both ends say must agree."""
    place = at - _END64_PLACE.size
    full = (_FULL16, _FULL16, _FULL16, _FULL16, _FULL32, _FULL32)
    if place < 0 or tail[place : place + 4] != b"PK\6\7":
        if any(number == most for number, most in zip(numbers, full, strict=True)):
            raise BadZipError("its numbers are in a zip64 end that isn't there")
        return numbers, stop
    _, disk, where, disks = _END64_PLACE.unpack_from(tail, place)
    found = where - base
    if disk or disks != 1 or found < 0 or found + _END64.size > place or tail[found : found + 4] != b"PK\6\6":
        raise BadZipError("its zip64 end doesn't lie where it should")
    _, length, _, _, *long = _END64.unpack_from(tail, found)
    if found + 12 + length != place:
        raise BadZipError("its zip64 end doesn't lie where it should")
    for short, most, whole in zip(numbers, full, long, strict=True):
        if short not in (most, whole):
            raise BadZipError("its two ends disagree")
    return (long[0], long[1], long[2], long[3], long[4], long[5]), where


def read_directory(content: bytes, end: End, limits: Limits | None = None) -> tuple[Entry, ...]:
    """All entries, in the directory's order. BadZipError."""
    limits = limits or Limits()
    if len(content) != end.stop - end.start:
        raise BadZipError("its directory is cut off")
    entries, at = [], 0
    for _ in range(end.entries):
        entry, at = _central(content, at, limits)
        entries.append(entry)
    if at != len(content):
        raise BadZipError("its directory holds more than its entries")
    _refuse_sizes(entries, limits)
    _refuse_names(entries)
    return _placed(entries, end)


def _central(content: bytes, at: int, limits: Limits) -> tuple[Entry, int]:
    if at + _CENTRAL.size > len(content) or content[at : at + 4] != b"PK\1\2":
        raise BadZipError("its directory is damaged")
    fields = _CENTRAL.unpack_from(content, at)
    flags, method, crc, packed, size = fields[3], fields[4], fields[7], fields[8], fields[9]
    name_length, extra_length, comment_length, disk, offset = *fields[10:14], fields[16]
    at += _CENTRAL.size
    stop = at + name_length + extra_length + comment_length
    if stop > len(content):
        raise BadZipError("its directory is damaged")
    if not 0 < name_length <= limits.name:
        raise BadZipError(f"an entry's name has {name_length} bytes")
    name = _name(content[at : at + name_length], flags)
    extra = content[at + name_length : at + name_length + extra_length]
    size, packed, offset, disk = _extended(extra, (size, packed, offset), disk)
    if disk:
        raise BadZipError("it is a part of several")
    return Entry(name, flags, method, crc, packed, size, offset), stop


def _name(raw: bytes, flags: int) -> str:
    try:
        name = raw.decode("utf-8" if flags & _UTF8 else "cp437")
    except UnicodeDecodeError:
        raise BadZipError("an entry's name is not the UTF-8 that it claims to be") from None
    parts = name.replace("\\", "/").split("/")
    if "\0" in name or ".." in parts or parts[0] == "" or ":" in parts[0]:
        raise BadZipError(f"an entry's name leads out of the wheel: {name[:100]!r}")
    return name


def _extended(extra: bytes, numbers: tuple[int, int, int], disk: int) -> tuple[int, int, int, int]:
    """Numbers that are too large for their fields stand in an extra field (id 1), in this order."""
    if _FULL32 not in numbers and disk != _FULL16:
        return *numbers, disk
    long, at = _zip64_extra(extra), 0
    found = []
    for number in numbers:
        if number == _FULL32:
            if at + 8 > len(long):
                raise BadZipError("an entry's zip64 numbers are missing")
            number = int.from_bytes(long[at : at + 8], "little")
            at += 8
        found.append(number)
    if disk == _FULL16:
        disk = int.from_bytes(long[at : at + 4], "little")
    return found[0], found[1], found[2], disk


def _zip64_extra(extra: bytes) -> bytes:
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            return extra[at + 4 : at + 4 + length]
        at += 4 + length
    return b""


def _refuse_sizes(entries: Iterable[Entry], limits: Limits) -> None:
    whole = 0
    for entry in entries:
        whole += entry.size
        if entry.size > limits.entry:
            raise BadZipError(f"{entry.name[:100]} claims {entry.size} bytes, more than {limits.entry}")
        if entry.method == _STORED and entry.packed != entry.size:
            raise BadZipError(f"{entry.name[:100]} is stored as it is, and claims two sizes")
        if entry.method == _DEFLATED and entry.size > 1032 * entry.packed + 64:
            raise BadZipError(f"{entry.name[:100]} claims to be packed closer than deflate can")
    if whole > limits.whole:
        raise BadZipError(f"its entries claim {whole} bytes, more than {limits.whole}")


def _refuse_names(entries: Iterable[Entry]) -> None:
    seen: dict[str, Entry] = {}
    for entry in entries:
        other = seen.setdefault(entry.name, entry)
        if (other.crc, other.size) != (entry.crc, entry.size):
            raise BadZipError(f"it holds two contents for {entry.name[:100]}")


def _placed(entries: Sequence[Entry], end: End) -> tuple[Entry, ...]:
    """With their reach; BadZipError where two lie on the same bytes, or one in the directory."""
    order = sorted(range(len(entries)), key=lambda place: entries[place].offset)
    reach = [0] * len(entries)
    after = end.start
    for place in reversed(order):
        entry = entries[place]
        if entry.offset + _HEADER + len(entry.name) + entry.packed > after:
            raise BadZipError(f"{entry.name[:100]} lies on the bytes of something else")
        reach[place] = after
        after = entry.offset
    return tuple(
        Entry(one.name, one.flags, one.method, one.crc, one.packed, one.size, one.offset, far)
        for one, far in zip(entries, reach, strict=True)
    )


def only(entries: Iterable[Entry], name: str) -> Entry | None:
    """The one entry of that name; None when there is none. BadZipError when there are two, even equal ones."""
    found = [entry for entry in entries if entry.name == name]
    if len(found) > 1:
        raise BadZipError(f"it holds {name[:100]} twice")
    return found[0] if found else None


def content_start(head: bytes, entry: Entry) -> int:
    """Where an entry's content begins, in bytes from its offset. ``head``: what lies at its offset.

    BadZipError when its own header says otherwise than the directory does.
    """
    if len(head) < _HEADER or head[:4] != b"PK\3\4":
        raise BadZipError(f"{entry.name[:100]} has no header of its own")
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _LOCAL.unpack_from(head)
    start = int(_HEADER + name_length + extra_length)
    if len(head) < start:
        raise BadZipError(f"{entry.name[:100]} has a header that is cut off")
    name = head[_HEADER : _HEADER + name_length]
    extra = head[_HEADER + name_length : start]
    if _name(name, flags) != entry.name or method != entry.method or (flags ^ entry.flags) & (_LOCKED | _UTF8):
        raise BadZipError(f"{entry.name[:100]} has another name or method in its own header")
    own = _own_numbers(extra, size, packed)
    told = (crc, *own)
    if told != (entry.crc, entry.size, entry.packed) and not (flags & _DESCRIPTOR and not any(told)):
        raise BadZipError(f"{entry.name[:100]} has other sizes, or another checksum, in its own header")
    if entry.offset + start + entry.packed > entry.reach:
        raise BadZipError(f"{entry.name[:100]} lies on the bytes of something else")
    return start


def _own_numbers(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    if _FULL32 not in (size, packed):
        return size, packed
    long = _zip64_extra(extra)
    if len(long) < 16:
        raise BadZipError("an entry's zip64 numbers are missing")
    first, second = struct.unpack_from("<2Q", long)
    return int(first), int(second)


def unpacked(content: bytes, entry: Entry, most: int) -> bytes:
    """An entry's bytes from its packed ones. BadZipError when they are not what the directory says.

    ``most``: bytes that are taken in at all; an entry that claims more is refused before it is unpacked.
    """
    if entry.flags & _LOCKED:
        raise BadZipError(f"{entry.name[:100]} is encrypted")
    if entry.size > most:
        raise BadZipError(f"{entry.name[:100]} claims {entry.size} bytes, more than {most}")
    if entry.method == _STORED:
        plain = content
    elif entry.method == _DEFLATED:
        plain = _inflated(content, entry)
    else:
        raise BadZipError(f"{entry.name[:100]} is packed by method {entry.method}, which is not read")
    if len(plain) != entry.size or zlib.crc32(plain) != entry.crc:
        raise BadZipError(f"{entry.name[:100]} is damaged: it is not what its checksum says")
    return plain


def _inflated(content: bytes, entry: Entry) -> bytes:
    machine = zlib.decompressobj(-15)
    try:
        plain = machine.decompress(content, entry.size + 1)
    except zlib.error:
        raise BadZipError(f"{entry.name[:100]} is damaged: it can't be unpacked") from None
    if len(plain) > entry.size or (machine.unconsumed_tail and len(plain) == entry.size):
        raise BadZipError(f"{entry.name[:100]} unpacks to more than it claims")
    if not machine.eof or machine.unused_data:
        raise BadZipError(f"{entry.name[:100]} is damaged: it ends too early or too late")
    return plain
