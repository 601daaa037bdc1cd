"""Limits that hold before a parser runs, and lines of key paths."""

from __future__ import annotations

import pytest

from envguard.formats.toml_text import SIZE_LIMIT, TomlError, line_of, parse

HOSTILE = {
    "dotted key of 10,000 parts": b"a." * 10_000 + b"a = 1",
    "quoted dotted key": b'"a".' * 10_000 + b'"a" = 1',
    "spaced dotted key": b"a . " * 10_000 + b"a = 1",
    "header of 20,000 parts": b"[" + b"a." * 20_000 + b"a]",
    "dotted key in an inline table": b"x = {" + b"a." * 10_000 + b"a = 1}",
    "nested arrays": b"x = " + b"[" * 100_000,
    "nested inline tables": b"x = " + b"{a = " * 50_000,
    "too large": b"#" * (SIZE_LIMIT + 1),
    "not UTF-8": b'a = "\xff"',
    "NUL": b"a = \x00",
    "not TOML": b"<html>",
    "a key twice": b"a = 1\na = 2",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused(content: bytes) -> None:
    with pytest.raises(TomlError):
        parse(content)


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"a = 1\nb =\n", 2), (b"\n\n" + b"a." * 50 + b"a = 1", 3), (b'a = 1\nb = "\xff"', 2)],
    ids=["syntax", "deep key", "encoding"],
)
def test_errors_name_the_line(content: bytes, line: int) -> None:
    with pytest.raises(TomlError) as caught:
        parse(content)
    assert caught.value.line == line


def test_long_text_in_strings_is_no_key() -> None:
    text = "1.2.3 " * 40 + "a-b " * 1000
    assert parse(f'note = "{text}"'.encode()) == {"note": text}


LOCK = """schema = 1
[torch]
version = "2"
[machine]
gpus = [
    {index = 0},
]
[[distribution]]
name = "a"
[[distribution]]
name = "b"
sha256 = "x"
[policy]
[[policy.ignore]]
check = "files"
[[policy.ignore]]
check = "torch-build"
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("schema", 1),
        ("torch.version", 3),
        ("torch.cuda", 2),
        ("machine.gpus[0].index", 5),
        ("distribution[0].sha256", 8),
        ("distribution[1].sha256", 12),
        ("policy.ignore[1].check", 17),
        ("nothing", None),
    ],
)
def test_line_of_a_key_path(path: str, line: int | None) -> None:
    assert line_of(LOCK, path) == line
