"""lint over several locks: readable or not, fixed, accepted, strict; and the exit code that follows."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from envguard.formats.declared import Found
from envguard.formats.lint_text import lint_document, lint_lines
from envguard.formats.lockfile import write_lock
from envguard.model.declared import Declared
from envguard.model.drift import Outcome
from envguard.model.policy import Ignore
from envguard.operations.lint import Linted, LockText, lint
from envguard.planning.lint import RULES
from tests.planning.lint.subjects import TODAY, good

GOOD = write_lock(good())


class Nothing:
    """Projects that declare this."""

    def __init__(self, *declared: Declared) -> None:
        self.declared = declared

    def of(self, lock: Path) -> Found:
        return Found(self.declared)


def text(content: bytes = GOOD, name: str = "lockfiles/good.toml", *ignores: Ignore) -> LockText:
    return LockText(Path(name), name, content, ignores)


def lines(linted: Linted) -> list[str]:
    return [line.partition(" → ")[0] for line in lint_lines(linted.cases)][:-1]


def test_a_good_lock() -> None:
    linted = lint([text()], Nothing(), today=TODAY)
    assert linted.exit_code == 0
    assert lines(linted) == []
    assert [case.outcome for case in linted.cases.cases] == [Outcome.MATCH] * (len(RULES) + 1)
    assert linted.cases.summary.startswith("0 errors   1 lock")


def test_findings_point_at_lines() -> None:
    content = GOOD.replace(b'build = "2.11.0+cu130"', b'build = "2.11.0+cu128"')
    declared = Declared("torch", "pyproject.toml", 6, "==2.12")
    linted = lint([text(content)], Nothing(declared), today=TODAY)
    assert linted.exit_code == 1
    rows = content.decode().splitlines()
    line = rows.index('variant = "cu130"') + 1
    assert lines(linted) == [
        f"lockfiles/good.toml:{line}: torch-build: the build 2.11.0+cu128 is of cu128, the variant says cu130",
        "pyproject.toml:6: declared-version: asks for torch==2.12, and lockfiles/good.toml records 2.11.0+cu128",
    ]


UNREADABLE = {
    "conflict": (b"schema = 1\n<<<<<<< HEAD\nname = 'a'\n", 2, "a merge conflict is left in it"),
    "no lock": (b"[tool]\nx = 1\n", None, "resolve it by hand"),
    "another schema": (GOOD.replace(b"schema = 1", b"schema = 9"), 1, "resolve it by hand"),
    "a wrong digest": (GOOD.replace(b'record = "sha256:', b'record = "md5:', 1), None, "resolve it by hand"),
    "not UTF-8": (GOOD + b'x = "\xff"\n', None, "resolve it by hand"),
    "empty": (b"", None, "resolve it by hand"),
}


@pytest.mark.parametrize(("content", "line", "hint"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_no_lock_is_told_and_the_others_are_looked_at(content: bytes, line: int | None, hint: str) -> None:
    linted = lint([text(content, "bad.toml"), text()], Nothing(), today=TODAY)
    assert linted.exit_code == 2
    (finding,) = linted.cases.findings
    assert finding.file == "bad.toml"
    assert finding.message.startswith("not a lock: ")
    assert finding.hint is not None
    assert finding.hint.startswith(hint)
    if line:
        assert finding.line == line
    assert len(linted.cases.cases) == len(RULES) + 2


class TestFix:
    def test_it_is_rewritten_once(self) -> None:
        content = b"# ours\n" + GOOD.replace(b'name = "good"', b"name   =  'good'", 1)
        without = lint([text(content)], Nothing(), today=TODAY)
        assert lines(without) == [
            "lockfiles/good.toml:3: canonical: not in the form that envguard writes, from this line on"
        ]
        assert without.rewritten == ()
        linted = lint([text(content)], Nothing(), today=TODAY, fix=True)
        assert linted.exit_code == 0
        ((_, wanted),) = linted.rewritten
        assert wanted == b"# ours\n" + GOOD
        assert lint([text(wanted)], Nothing(), today=TODAY, fix=True).rewritten == ()

    def test_lines_are_those_of_the_new_text(self) -> None:
        content = b"\n\n" + GOOD.replace(b"[torch]\n", b"[torch]\n\n\n").replace(
            b'"2.11.0+cu130"', b'"2.11.0+cu128"'
        )
        linted = lint([text(content)], Nothing(), today=TODAY, fix=True)
        ((_, wanted),) = linted.rewritten
        (finding,) = linted.cases.findings
        assert wanted.decode().splitlines()[(finding.line or 0) - 1] == 'variant = "cu130"'


class TestAccepted:
    content = GOOD.replace(b'"2.11.0+cu130"', b'"2.11.0+cu128"')

    def test_an_ignored_finding_is_told_and_does_not_count(self) -> None:
        accepted = Ignore("torch-build", "torch", "ann", "a build of our own", date(2027, 1, 1))
        linted = lint([text(self.content, "l.toml", accepted)], Nothing(), today=TODAY)
        assert linted.exit_code == 0
        (line, last) = lint_lines(linted.cases)
        assert line.endswith("(ignored by ann: a build of our own, until 2027-01-01)")
        assert last.startswith("0 errors, 1 ignored")
        assert list(lint_lines(linted.cases, quiet=True)) == []

    def test_after_its_day_it_counts_again_and_says_so(self) -> None:
        accepted = Ignore("torch-build", "torch", "ann", "soon", date(2026, 11, 28))
        linted = lint([text(self.content, "l.toml", accepted)], Nothing(), today=TODAY)
        assert linted.exit_code == 1
        assert (linted.cases.findings[0].hint or "").endswith("was ignored by ann until 2026-11-28: soon")

    def test_in_the_lock_itself(self) -> None:
        entry = b'\n[[policy.ignore]]\ncheck = "torch-build"\nsubject = "torch"\nby = "ann"\nreason = "ours"\n'
        linted = lint([text(self.content + entry)], Nothing(), today=TODAY, fix=True)
        assert linted.exit_code == 0


def test_warnings_fail_only_when_strict() -> None:
    declared = Declared("requests", "requirements-docs.txt", 1, "==0.1", side=True)
    linted = lint([text()], Nothing(declared), today=TODAY)
    assert linted.exit_code == 0
    assert lines(linted)[0].startswith(
        "requirements-docs.txt:1: declared-version: warning: asks for requests==0.1"
    )
    assert lint([text()], Nothing(declared), today=TODAY, strict=True).exit_code == 1


def test_json() -> None:
    linted = lint([text(TestAccepted.content)], Nothing(), today=TODAY)
    document = lint_document(linted.cases, linted.exit_code)
    assert document["schema"] == "envguard-lint-1"
    assert document["locks"] == ["lockfiles/good.toml"]
    assert document["exit-code"] == 1
    (finding,) = document["findings"]
    assert finding["rule"] == "torch-build"
    assert finding["key"] == "torch.variant"


def test_control_characters_stay_in_their_line() -> None:
    declared = Declared("torch", "a\x1b[31m\nb.txt", 1, "==9")
    shown = list(lint_lines(lint([text()], Nothing(declared), today=TODAY).cases))
    assert shown[0].startswith("a\\x1b[31m\\nb.txt:1: declared-version")
    assert all(line.isprintable() for line in shown)
