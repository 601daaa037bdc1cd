"""A zip's directory from its pieces: what Python's own reader sees, and a table of zips made to deceive."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from envguard.formats.zip_directory import (
    BadZipError,
    Entry,
    Limits,
    content_start,
    find_end,
    only,
    read_directory,
    unpacked,
)


def made(
    files: dict[str, bytes] | None = None, *, method: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in (
            files or {"a.py": b"x = 1\n" * 50, "b/c.py": b"", "d.bin": bytes(range(256))}
        ).items():
            archive.writestr(name, content)
        archive.comment = comment
    return stream.getvalue()


def entries_of(content: bytes, limits: Limits | None = None) -> tuple[Entry, ...]:
    end = find_end(content, len(content), limits)
    return read_directory(content[end.start : end.stop], end, limits)


def read_all(content: bytes, most: int = 1 << 20) -> dict[str, bytes]:
    found = {}
    for entry in entries_of(content):
        start = entry.offset + content_start(content[entry.offset : entry.stop], entry)
        found[entry.name] = unpacked(content[start : start + entry.packed], entry, most)
    return found


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
@pytest.mark.parametrize("comment", [b"", b"a comment"], ids=["plain", "comment"])
def test_same_as_pythons_reader(method: int, comment: bytes) -> None:
    content = made(method=method, comment=comment)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert read_all(content) == {name: archive.read(name) for name in archive.namelist()}


def test_the_end_alone_is_enough_to_find_the_directory() -> None:
    content = made()
    assert find_end(content[-22:], len(content)) == find_end(content, len(content))


def test_streamed_entries_have_their_sizes_behind_them() -> None:
    stream = io.BytesIO()

    class Pipe(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, content: object) -> int:
            return stream.write(content)  # type: ignore[arg-type]

    with zipfile.ZipFile(Pipe(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.py", b"x" * 1000)
    assert read_all(stream.getvalue()) == {"a.py": b"x" * 1000}


def test_zip64_entries() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, archive.open("a.py", "w", force_zip64=True) as entry:
        entry.write(b"x" * 100)
    assert read_all(stream.getvalue()) == {"a.py": b"x" * 100}


def zip64_end(content: bytes, **changes: int) -> bytes:
    """The same zip with a zip64 end before the plain one."""
    end = find_end(content, len(content))
    numbers = {
        "entries": end.entries,
        "size": end.stop - end.start,
        "start": end.start,
        "place": end.stop,
    } | changes
    record = struct.pack(
        "<4sQ2H2L4Q",
        b"PK\6\6",
        44,
        45,
        45,
        0,
        0,
        end.entries,
        numbers["entries"],
        numbers["size"],
        numbers["start"],
    )
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, numbers["place"], 1)
    plain = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return content[: end.stop] + record + locator + plain


def test_zip64_end() -> None:
    content = zip64_end(made())
    assert set(read_all(content)) == {"a.py", "b/c.py", "d.bin"}
    assert set(zipfile.ZipFile(io.BytesIO(content)).namelist()) == set(read_all(content))


CENTRAL, LOCAL = b"PK\1\2", b"PK\3\4"


def patched(content: bytes, mark: bytes, at: int, form: str, value: int | bytes, nth: int = 0) -> bytes:
    """One field changed in the nth header of its kind."""
    place = -1
    for _ in range(nth + 1):
        place = content.index(mark, place + 1)
    whole = bytearray(content)
    struct.pack_into(form, whole, place + at, value)
    return bytes(whole)


def both(content: bytes, central: int, local: int, form: str, value: int) -> bytes:
    """One field changed in the directory and in the entry's own header."""
    return patched(patched(content, CENTRAL, central, form, value), LOCAL, local, form, value)


def end_patched(at: int, form: str, value: int) -> bytes:
    content = made()
    return patched(content, b"PK\5\6", at, form, value)


def _overlapping() -> bytes:
    """Fifield's bomb in small: two entries on one content."""
    content = made({"a.py": b"x" * 5000, "b.py": b"x" * 5000})
    return patched(content, CENTRAL, 42, "<L", 0, nth=1)


def _twice(second: bytes) -> bytes:
    content = made({"a.py": b"first", "b.py": second})
    return content.replace(b"b.py", b"a.py")


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "no zip"),
    "a page instead": (lambda: b"<!DOCTYPE html>" + b"x" * 3000, "no zip"),
    "cut off": (lambda: made()[:-5], "no zip"),
    "bytes after the end": (lambda: made() + b"\0", "bytes after its end"),
    "an end within a comment": (lambda: made(comment=b"x" * 5 + b"PK\5\6" + b"y" * 18), "bytes after its end"),
    "bytes before the start": (lambda: b"#!/bin/sh\n" + made(), "doesn't lie where"),
    "a part of several": (lambda: end_patched(4, "<H", 1), "part of several"),
    "two counts": (lambda: end_patched(8, "<H", 2), "part of several"),
    "more entries than there are": (
        lambda: patched(end_patched(8, "<H", 9), b"PK\5\6", 10, "<H", 9),
        "too short|damaged",
    ),
    "fewer entries than there are": (
        lambda: patched(end_patched(8, "<H", 2), b"PK\5\6", 10, "<H", 2),
        "more than its entries",
    ),
    "many entries": (lambda: zip64_end(made(), entries=10**9), "part of several|entries"),
    "a huge directory": (lambda: end_patched(12, "<L", 1 << 30), "a directory of"),
    "a directory elsewhere": (lambda: end_patched(16, "<L", 0), "doesn't lie where"),
    "zip64 numbers without a zip64 end": (lambda: end_patched(16, "<L", 0xFFFFFFFF), "isn't there"),
    "a zip64 end elsewhere": (lambda: zip64_end(made(), place=0), "zip64 end doesn't lie"),
    "two ends that disagree": (
        lambda: patched(zip64_end(made()), b"PK\5\6", 12, "<L", 46),
        "ends disagree",
    ),
    "overlapping entries": (_overlapping, "on the bytes of something else"),
    "an entry in the directory": (lambda: patched(made(), CENTRAL, 20, "<L", 10**6), "on the bytes|closer"),
    "closer than deflate can": (lambda: patched(made(), CENTRAL, 24, "<L", 10**8), "closer than deflate"),
    "a huge entry": (lambda: both(both(made(), 24, 22, "<L", 0xFFFFFFF0), 10, 8, "<H", 12), "more than 1048576"),
    "stored in two sizes": (lambda: patched(made(method=0), CENTRAL, 24, "<L", 7), "two sizes"),
    "two contents for one name": (lambda: _twice(b"another"), "two contents"),
    "leads out": (lambda: made({"../evil.py": b""}), "leads out"),
    "leads out by backslashes": (lambda: made({"a/..\\..\\evil.py": b""}), "leads out"),
    "an absolute name": (lambda: made({"/etc/evil": b""}), "leads out"),
    "a drive": (lambda: made({"C:/evil": b""}), "leads out"),
    "a name of no length": (lambda: patched(made(), CENTRAL, 28, "<H", 0), "0 bytes|damaged"),
    "a name that isn't UTF-8": (
        lambda: (
            patched(made({"aaaa": b""}), CENTRAL, 8, "<H", 0x800)
            .replace(b"PK\1\2", b"PK\1\2")
            .replace(b"aaaa", b"a\xff\xffa")
        ),
        "UTF-8",
    ),
    "a damaged directory": (lambda: made().replace(CENTRAL, b"PK\1\0"), "damaged"),
    "another name in its own header": (lambda: patched(made(), LOCAL, 30, "4s", b"z.py"), "another name"),
    "another method in its own header": (lambda: patched(made(), LOCAL, 8, "<H", 0), "another name or method"),
    "another checksum in its own header": (lambda: patched(made(), LOCAL, 14, "<L", 1), "own header"),
    "another size in its own header": (lambda: patched(made(), LOCAL, 22, "<L", 1), "own header"),
    "no header of its own": (lambda: patched(made(), LOCAL, 0, "4s", b"PK\3\5"), "no header"),
    "an own header that reaches on": (lambda: patched(made(), LOCAL, 28, "<H", 60000), "cut off|something else"),
    "encrypted": (
        lambda: patched(patched(made(), CENTRAL, 8, "<H", 1), LOCAL, 6, "<H", 1),
        "encrypted",
    ),
    "another packing": (
        lambda: patched(patched(made(), CENTRAL, 10, "<H", 14), LOCAL, 8, "<H", 14),
        "method 14",
    ),
    "another content": (
        lambda: patched(made(method=0), LOCAL, 34, "4s", b"evil"),
        "checksum",
    ),
    "a size too small": (
        lambda: patched(patched(made(), CENTRAL, 24, "<L", 3), LOCAL, 22, "<L", 3),
        "more than it claims",
    ),
    "not deflated": (lambda: patched(made(), LOCAL, 34, "4s", b"\xff\xff\xff\xff"), "damaged|checksum"),
}


@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_zips_are_refused(case: tuple[Callable[[], bytes], str]) -> None:
    make, words = case
    with pytest.raises(BadZipError, match=words):
        read_all(make())


def test_an_entry_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(BadZipError, match="claims 300 bytes, more than 299"):
        read_all(made(), most=299)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(entries=2), "3 entries"),
        (Limits(directory=50), "directory of"),
        (Limits(name=4), "name has 6 bytes"),
        (Limits(entry=256), "claims 300 bytes"),
        (Limits(whole=400), "claim 556 bytes"),
    ],
    ids=["entries", "directory", "name", "entry", "whole"],
)
def test_limits(limits: Limits, words: str) -> None:
    with pytest.raises(BadZipError, match=words):
        entries_of(made(), limits)


def test_equal_duplicates_are_kept_and_not_chosen_from() -> None:
    entries = entries_of(_twice(b"first"))
    with pytest.raises(BadZipError, match="twice"):
        only(entries, "a.py")
    assert only(entries, "z.py") is None


def test_flipped_bits_never_give_another_content() -> None:
    """Whatever a bit does, the answer is the right bytes or a refusal."""
    content = made()
    right = read_all(content)
    draw = random.Random(5)
    refused = 0
    for _ in range(1500):
        whole = bytearray(content)
        whole[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        try:
            found = read_all(bytes(whole))
        except BadZipError:
            refused += 1
        else:
            assert sorted(found.values()) == sorted(right.values())
    assert refused > 700


def test_real_wheels(find_links: list[Path]) -> None:
    wheels = [path for folder in find_links for path in folder.glob("*.whl")][:3]
    if not wheels:
        pytest.skip("no folder of wheels is named")
    for path in wheels:
        content = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            assert [entry.name for entry in entries_of(content)] == archive.namelist()
