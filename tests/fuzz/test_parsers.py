"""No parser raises anything but what it documents, whatever it is given."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.parsers import PARSERS, Parser

EXAMPLES = int(os.environ.get("ENVGUARD_FUZZ_EXAMPLES", "60"))
"""For each parser; the nightly session asks for more."""

_TOKENS = (
    *(
        b"\0",
        b"\xff",
        b"\r",
        b"\n",
        b"\n\n",
        b"[",
        b"{",
        b"}",
        b"]",
        b'"',
        b"'",
        b"=",
        b".",
        b",",
        b"\\",
        b"@",
        b"%ff",
    ),
    *(b"../", b"-1", b"1e999", b"null", b"true", b"[]", b"{}", b'""', b"\xe2\x80\xa8", b"\xed\xa0\x80"),
    *(b"9" * 30, b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b"a." * 3000),
)


def _changed(seed: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    content = seed
    for at, length, new in edits:
        at = at % (len(content) + 1)
        content = content[:at] + new + content[at + length :]
    return content


def _mutants(seeds: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    new = st.one_of(st.sampled_from(_TOKENS), st.binary(max_size=8), st.sampled_from(seeds))
    edit = st.tuples(st.integers(0, max(map(len, seeds))), st.integers(0, 40), new)
    return st.builds(_changed, st.sampled_from(seeds), st.lists(edit, max_size=5))


def _check(parser: Parser) -> Callable[[], None]:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EXAMPLES <= 100,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(_mutants(parser.seeds), st.binary(max_size=200)))
    def check(content: bytes) -> None:
        parser(content)

    return check


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_only_documented_errors(parser: Parser) -> None:
    _check(parser)()


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_hard_cases(parser: Parser) -> None:
    """Empty, cut, doubled, deep, huge numbers: none raises what isn't documented."""
    for seed in parser.seeds:
        for cut in range(0, len(seed), max(1, len(seed) // 40)):
            parser(seed[:cut])
            parser(seed[cut:])
        parser(seed * 2)
    for hard in (b"", b"[" * 200_000, b'{"a":' * 200_000, b"9" * 10_000, b"\xff\xfe", b"\0" * 100, b"-" * 1000):
        parser(hard)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_its_seeds_are_read(parser: Parser) -> None:
    """Else the mutants would all be refused at the door."""
    assert all(parser(seed) for seed in parser.seeds)
