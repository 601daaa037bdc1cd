"""Listings of wheel files and unpacked wheels; hostile ones do no harm."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from envguard.adapters.provenance import listings, reading
from tests.adapters.provenance.world import World, distribution_of

RECORD = "idna-3.10.dist-info/RECORD"


def _zip(
    entries: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED, change: Callable[[bytes], bytes] = bytes
) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return io.BytesIO(change(stream.getvalue()))


def test_of_a_wheel(world: World) -> None:
    wheel = world.wheel()
    with wheel.open("rb") as stream:
        found = listings.of_wheel(stream)
    assert found is not None
    assert {listing.record for listing in found} == {distribution_of(wheel).record}


def test_of_a_folder_both_listings(world: World) -> None:
    wheel = world.wheel()
    unpacked = world.cached(wheel)
    found = list(listings.of_folder(unpacked, "idna-3.10.dist-info"))
    assert [listing.record for listing in found] == [distribution_of(wheel).record] * 2


@pytest.mark.parametrize("content", [None, b"a\0b"], ids=["no RECORD", "no text"])
def test_of_a_folder_without_a_record(world: World, content: bytes | None) -> None:
    unpacked = world.cached(world.wheel())
    record = unpacked / RECORD
    record.unlink() if content is None else record.write_bytes(content)
    assert list(listings.of_folder(unpacked, "idna-3.10.dist-info")) == []


def _directory_size(claimed: int) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        end = content.rindex(b"PK\x05\x06")
        return content[: end + 12] + struct.pack("<L", claimed) + content[end + 16 :]

    return change


def _encrypted(content: bytes) -> bytes:
    start = content.rindex(b"PK\x01\x02")
    return content[: start + 8] + b"\x01" + content[start + 9 :]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(io.BytesIO(b""), id="empty"),
        pytest.param(io.BytesIO(b"PK\x05\x06"), id="the start of an end"),
        pytest.param(io.BytesIO(b"x" * 70_000), id="no zip"),
        pytest.param(_zip({}), id="no entries"),
        pytest.param(_zip({"idna/x.py": b""}), id="no RECORD"),
        pytest.param(_zip({"a/b.dist-info/RECORD": b""}), id="only a vendored RECORD"),
        pytest.param(_zip({RECORD: b"", "other-1.dist-info/RECORD": b""}), id="two RECORDs"),
        pytest.param(_zip({RECORD: b"x,,\n" * 99}, change=lambda zipped: zipped[20:]), id="start missing"),
        pytest.param(_zip({RECORD: b"x,,\n"}, zipfile.ZIP_LZMA), id="a method that needs much memory"),
        pytest.param(_zip({RECORD: b"x,,\n"}, change=_directory_size(0xFFFF_FFFE)), id="a directory of 4 GiB"),
        pytest.param(_zip({RECORD: b"x,,\n"}, change=_directory_size(5)), id="a directory too short"),
        pytest.param(_zip({RECORD: b"x,,\n"}, change=_encrypted), id="encrypted"),
        pytest.param(
            _zip({RECORD: b"x,,\n"}, zipfile.ZIP_STORED, lambda zipped: zipped.replace(b"x,,", b"y,,")),
            id="a wrong checksum",
        ),
        pytest.param(_zip({RECORD: b"a\0b,,\n"}), id="RECORD no text"),
    ],
)
def test_broken_and_hostile_files_list_nothing(stream: io.BytesIO) -> None:
    assert listings.of_wheel(stream) is None


def test_a_record_that_unpacks_to_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "RECORD_CAP", 1000)
    assert listings.of_wheel(_zip({RECORD: b"x,,\n" * 250})) is not None
    assert listings.of_wheel(_zip({RECORD: b"x,,\n" * 251})) is None


def test_a_directory_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {RECORD: b"x,,\n"} | {f"idna/{number}.py": b"" for number in range(2000)}
    assert listings.of_wheel(_zip(entries)) is not None
    monkeypatch.setattr(listings, "_DIRECTORY_CAP", 100_000)
    assert listings.of_wheel(_zip(entries)) is None


def test_reading_stops_at_a_cap(world: World) -> None:
    file = world.root / "x"
    file.write_bytes(b"12345")
    assert reading.read(file, 5) == b"12345"
    assert reading.read(file, 4) is None
    assert reading.read(world.root, 4) is None
    assert reading.names(file) == []


def test_walking_skips_and_stops(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b/src", "c"):
        (world.root / folder).mkdir(parents=True)
        (world.root / folder / "x").touch()
    (world.root / "c" / "loop").symlink_to(world.root)
    found = [
        path.relative_to(world.root).as_posix() for path in reading.files(world.root, skip=frozenset({"src"}))
    ]
    assert found == ["a/x", "c/x"]
    monkeypatch.setattr(reading, "_MOST_FOLDERS", 2)
    assert [path.name for path in reading.files(world.root)] == ["x"]
