"""Baselines: written from a report, read as policy, strict about what stands in them."""

from __future__ import annotations

from datetime import date

import pytest

from envguard.formats.baseline import accepted, read_baseline, write_baseline
from envguard.formats.decode import WrongValueError
from envguard.formats.toml_text import TomlError
from envguard.model.policy import Ignore
from tests.formats.test_reports import incident

UNTIL = date(2027, 1, 31)


def test_it_accepts_the_drifts_of_a_report_alone() -> None:
    entries = accepted(incident(), by="ann", reason="known", until=UNTIL)
    assert [(entry.check, entry.subject) for entry in entries] == [
        ("torch-build", "torch"),
        ("files", "requests/api.py"),
    ]


def test_reading_gives_back_what_was_written() -> None:
    entries = (
        Ignore("files", 'a"b\\c\n[1].py', "ann", "a \x7f ü", UNTIL),
        Ignore("driver", "driver", "bob", "for ever"),
    )
    content = write_baseline(entries)
    assert set(read_baseline(content)) == set(entries)
    assert write_baseline(reversed(entries)) == content


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"= 1", TomlError),
        (b"schema = 1", WrongValueError),
        (b"[policy]\nstrict = true", WrongValueError),
        (b"[[policy.ignore]]\ncheck = 'a'\nsubject = 'b'\nby = 'c'\n", WrongValueError),
        (
            b"[[policy.ignore]]\ncheck = 'a'\nsubject = 'b'\nby = 'c'\nreason = 'd'\nuntil = 'soon'",
            WrongValueError,
        ),
    ],
    ids=["no TOML", "a lock", "other policy", "no reason", "no day"],
)
def test_what_is_no_baseline(content: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_baseline(content)


def test_an_empty_one() -> None:
    assert read_baseline(b"") == ()
    assert read_baseline(write_baseline(())) == ()
