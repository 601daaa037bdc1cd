"""The quick text is the writer's, or the writer is asked."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envguard.formats import canonical as module
from envguard.formats.canonical import canonical, first_difference
from envguard.formats.lockfile import read_lock, write_lock
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Unobserved, Value
from tests.builders import distribution, facts
from tests.formats.test_lockfile import whole

LOCKS = {
    "everything": whole(),
    "small": Lock("x", facts()),
    "nothing": Lock("x", Facts()),
    "absent": Lock("x", facts(torch=Absent(), gpus=Unobserved("libcuda: error 999"))),
    "odd note": Lock("x", facts(), note='a "b"\n\tc\\ é ☃ \x7f \x01'),
}


def quick(content: bytes) -> bytes | None:
    return module._written(read_lock(content, "x"), content, tomllib.loads(content.decode()))


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_of_what_was_written_the_quick_text_is_the_same(lock: Lock) -> None:
    content = write_lock(lock)
    said = quick(content)
    assert said == content or "\x7f" in (lock.note or "")
    assert canonical(read_lock(content, "x"), content, tomllib.loads(content.decode())) == content


HUMAN = {
    "head": b"# ours\n#\n\n# since May\n\n",
    "tables": b'\n[team]\npager = "5"\ndays = [1, 2]\nr = 0.5\n[team.more]\nat = 07:32:00\n[[team.list]]\na = 1\n',
}


def test_what_a_human_wrote_goes_through_the_writer() -> None:
    text = HUMAN["head"] + write_lock(whole()) + HUMAN["tables"]
    once = canonical(read_lock(text, "x"), text, tomllib.loads(text.decode()))
    assert once.startswith(HUMAN["head"])
    assert tomllib.loads(once.decode())["team"] == tomllib.loads(text.decode())["team"]
    assert canonical(read_lock(once, "x"), once, tomllib.loads(once.decode())) == once


@settings(deadline=None, max_examples=50)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40), st.booleans())
def test_never_canonical_where_the_writer_says_otherwise(note: str, multiline: bool) -> None:
    lock = replace(whole(), note=f"{note}\n" if multiline else note)
    content = write_lock(lock)
    again = read_lock(content, "x")
    assert write_lock(again, content) == content
    if quick(content) == content:
        assert write_lock(again, content) == content


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ((b'name = "good"', b"name = 'good'"), 2),
        ((b"[torch]\n", b"[torch]\n\n"), 7),
        ((b"\n\n[torch]", b"\n[torch]"), 5),
        ((b"\n", b"\r\n"), 1),
    ],
    ids=["quotes", "blank line", "no blank line", "line ends"],
)
def test_the_first_line_that_differs(change: tuple[bytes, bytes], line: int) -> None:
    content = write_lock(whole()).replace(*change, 1) if line != 1 else write_lock(whole()).replace(*change)
    wanted = canonical(read_lock(content, "x"), content, tomllib.loads(content.decode()))
    assert wanted == write_lock(whole())
    assert first_difference(content, wanted) == line
    assert first_difference(wanted, wanted) is None


def test_a_cut_off_end() -> None:
    assert first_difference(b"a\nb\n", b"a\nb\n\n") == 3


def test_many_values_of_a_list() -> None:
    lock = Lock("x", facts(distributions=Value((distribution("a", "1"),))), archive=())
    assert quick(write_lock(lock)) == write_lock(lock)
