"""uv's pointer files: the measured format, and anything else."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.adapters.provenance.uv_pointer import (
    SdistPointer,
    WheelPointer,
    read_sdist_pointer,
    read_wheel_pointer,
)
from tests.adapters.provenance.world import pointer
from tests.builders import digest

HASH = [{"Sha256": digest("wheel").hex}]
WHOLE: list[Any] = ["MG38DKJ9bk6qx-RY", HASH, "idna-3.10-py3-none-any.whl", 0, 70442]


def test_a_wheels_pointer() -> None:
    assert read_wheel_pointer(pointer(WHOLE)) == WheelPointer(
        "MG38DKJ9bk6qx-RY", "idna-3.10-py3-none-any.whl", digest("wheel"), 70442
    )


@pytest.mark.parametrize(
    ("value", "size"),
    [
        pytest.param([*WHOLE[:4], None], None, id="no size told"),
        pytest.param(WHOLE[:3], None, id="an older, shorter one"),
        pytest.param([WHOLE[0], [{"Md5": "0"}, *HASH], *WHOLE[2:]], 70442, id="several hashes"),
    ],
)
def test_variants_of_a_wheels_pointer(value: object, size: int | None) -> None:
    found = read_wheel_pointer(pointer(value))
    assert found is not None
    assert (found.sha256, found.size) == (digest("wheel"), size)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00" * 7, id="shorter than its length field"),
        pytest.param(b"\x00" * 64, id="zeros"),
        pytest.param(b"\xff" * 64, id="a length beyond the end"),
        pytest.param(pointer(WHOLE)[1:], id="a byte missing at the start"),
        pytest.param(b"\x91" * 5000 + (5000).to_bytes(8, "little"), id="nested deeply"),
        pytest.param(b"\xdd\xff\xff\xff\xff" + (5).to_bytes(8, "little"), id="an array that claims 4 G entries"),
        pytest.param(b"\xdb\xff\xff\xff\xff" + (5).to_bytes(8, "little"), id="a text that claims 4 GiB"),
        pytest.param(pointer([WHOLE[0], [], *WHOLE[2:]]), id="no hash"),
        pytest.param(pointer([WHOLE[0], [{"Sha256": "xx"}], *WHOLE[2:]]), id="a hash that is none"),
        pytest.param(pointer([WHOLE[0], [5, "x", None], *WHOLE[2:]]), id="hashes of other kinds"),
        pytest.param(pointer(["../../etc", *WHOLE[1:]]), id="an archive outside"),
        pytest.param(pointer([5, *WHOLE[1:]]), id="an archive that is a number"),
        pytest.param(pointer({"archive": "x"}), id="a map"),
        pytest.param(pointer([{}, []]), id="short"),
        pytest.param(pointer({(1, 2): 3}), id="odd keys"),
    ],
)
def test_what_is_no_pointer(content: bytes) -> None:
    assert read_wheel_pointer(content) is None


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff" * 64, id="a length beyond the end"),
        pytest.param(pointer(["../..", HASH, 5]), id="a revision outside"),
        pytest.param(pointer(["Xn9tqkvI9zAxIcI5", [], 5]), id="no hash"),
        pytest.param(pointer(["Xn9tqkvI9zAxIcI5"]), id="short"),
    ],
)
def test_what_is_no_sdists_pointer(content: bytes) -> None:
    assert read_sdist_pointer(content) is None


def test_the_policy_is_never_looked_at() -> None:
    assert read_wheel_pointer(pointer(WHOLE, b"")) == read_wheel_pointer(pointer(WHOLE, b"\xff" * 99))


def test_an_sdists_pointer() -> None:
    policy = b"\x01\x02https://example.org/packages/a2/docopt-0.6.2%2Bx.tar.gz\0\0more.zip?token=x"
    assert read_sdist_pointer(pointer(["Xn9tqkvI9zAxIcI5", HASH, 25901], policy)) == SdistPointer(
        "Xn9tqkvI9zAxIcI5", digest("wheel"), ("docopt-0.6.2+x.tar.gz", "more.zip")
    )


def test_an_sdists_pointer_without_an_address() -> None:
    found = read_sdist_pointer(pointer(["Xn9tqkvI9zAxIcI5", HASH], b""))
    assert found is not None
    assert found.filenames == ()


def test_no_cut_and_no_flipped_bit_is_an_error() -> None:
    whole = pointer(WHOLE)
    for place in range(len(whole)):
        for bit in range(8):
            flipped = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
            found = read_wheel_pointer(flipped)
            assert found is None or isinstance(found.filename, str)
            read_sdist_pointer(flipped)
        assert read_wheel_pointer(whole[:place]) is None
