from __future__ import annotations

import pytest

from envguard.formats import lock_note
from tests.builders import digest


def test_round_trip() -> None:
    content = lock_note.dump("/a/b\udcff.toml", [digest("b"), digest("a"), digest("a")])
    lock, objects = lock_note.load(content)
    assert lock == "/a/b\udcff.toml"
    assert objects == {digest("a"), digest("b")}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"schema": 2, "lock": "x", "objects": []}',
        b'{"schema": 1, "lock": "x", "objects": ["short"]}',
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        lock_note.load(content)
