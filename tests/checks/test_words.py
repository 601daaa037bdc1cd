"""How checks say things."""

from __future__ import annotations

import pytest

from envguard.checks.words import arrow, count, few, head
from envguard.model.digest import Digest

OLD, NEW = Digest("9f2c" + "0" * 60), Digest("41aa" + "0" * 60)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
        (list("abcdefg"), "a, b, c and 4 more"),
    ],
)
def test_few(names: list[str], text: str) -> None:
    assert few(names) == text


def test_many() -> None:
    assert few(["x"] * 1203) == "x, x, x and 1,200 more"


@pytest.mark.parametrize(("number", "text"), [(0, "0 files"), (1, "1 file"), (61204, "61,204 files")])
def test_count(number: int, text: str) -> None:
    assert count(number, "file") == text


def test_digests() -> None:
    assert head(OLD) == "9f2c…"
    assert arrow(OLD, NEW) == " (sha256 9f2c… → 41aa…)"
    assert arrow(None, NEW) == " (sha256 unknown → 41aa…)"
    assert arrow(OLD, None) == " (sha256 9f2c… → unknown)"
    assert arrow(None, None) == ""
