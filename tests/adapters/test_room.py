"""Full disks in words."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from envguard.adapters import room


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (530_579_456, "530.6 MB"),
        (2 * 10**9, "2.0 GB"),
        (10**13, "10.0 TB"),
    ],
)
def test_size(count: int, words: str) -> None:
    assert room.size(count) == words


def test_needs_and_has(tmp_path: Path) -> None:
    words = room.needs_and_has(tmp_path, 5000)
    assert words.startswith("needs 5.0 kB, has ")
    assert room.needs_and_has(tmp_path, None).startswith("has ")
    assert room.needs_and_has(tmp_path / "missing", 5000) == "needs 5.0 kB"


def test_is_full() -> None:
    assert room.is_full(OSError(errno.ENOSPC, ""))
    assert not room.is_full(OSError(errno.EIO, ""))
