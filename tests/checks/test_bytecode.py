"""What really runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.checks.bytecode import CHECK
from envguard.model.bytecode import OTHER_TIME, UNUSED
from envguard.model.digest import Digest
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, FileFact, FileKind
from envguard.model.observed import Value
from tests.builders import facts
from tests.checks.lines import lines

OLD, NEW = Digest("9f2c" + "0" * 60), Digest("41aa" + "0" * 60)


def pyc(path: str = "requests/__pycache__/api.pyc", **changes: Any) -> FileFact:
    whole: dict[str, Any] = {
        "path": path,
        "kind": FileKind.BYTECODE,
        "sha256": OLD,
        "owners": ("requests",),
        **changes,
    }
    return FileFact(**whole)


def having(*files: FileFact) -> Facts:
    return facts(files=Value(files))


def test_new() -> None:
    assert lines(CHECK, having(), having(pyc(detail="its header names another size"))) == [
        "drift requests/__pycache__/api.pyc isn't its source's: its header names another size"
    ]


@pytest.mark.parametrize("why", sorted(UNUSED))
def test_what_python_leaves_alone_is_a_note(why: str) -> None:
    assert lines(CHECK, having(), having(pyc(detail=why))) == [
        f"note requests/__pycache__/api.pyc isn't its source's: {why}; Python compiles anew"
    ]


def test_among_many_left_alone_one_that_runs_is_told_apart() -> None:
    files = [pyc(f"requests/__pycache__/{name}.pyc", detail=OTHER_TIME) for name in "abcd"]
    evil = pyc("requests/__pycache__/e.pyc", detail="not its source's code")
    drift, note = sorted(lines(CHECK, having(), having(*files, evil)))
    assert drift == "drift requests/__pycache__/e.pyc isn't its source's: not its source's code"
    assert note.startswith("note requests 4 .pyc files aren't their sources'")


def test_as_recorded() -> None:
    assert CHECK.run(having(pyc()), having(pyc())).outcome is Outcome.MATCH


def test_changed() -> None:
    assert lines(CHECK, having(pyc()), having(pyc(sha256=NEW))) == [
        "drift requests/__pycache__/api.pyc isn't its source's, as when it was recorded, "
        "but changed (sha256 9f2c… → 41aa…)"
    ]


def test_gone() -> None:
    assert lines(CHECK, having(pyc()), having()) == [
        "note requests/__pycache__/api.pyc fits its source now, or is gone; it did not when it was recorded"
    ]


def test_many_of_one_distribution_are_one_finding() -> None:
    files = [pyc(f"requests/__pycache__/{name}.pyc") for name in "dabce"]
    assert lines(CHECK, having(), having(*files)) == [
        "drift requests 5 .pyc files aren't their sources' (requests/__pycache__/a.pyc, "
        "requests/__pycache__/b.pyc, requests/__pycache__/c.pyc and 2 more)"
    ]


def test_many_without_an_owner_are_one_finding_a_folder() -> None:
    files = [pyc(f"old/__pycache__/{name}.pyc", owners=()) for name in "abcd"]
    (line,) = lines(CHECK, having(), having(*files))
    assert line.startswith("drift old/__pycache__ 4 .pyc files aren't their sources' (")


def test_few_are_told_one_by_one() -> None:
    files = [pyc(f"{name}.pyc", owners=()) for name in "ab"]
    assert lines(CHECK, having(), having(*files)) == [
        "drift a.pyc isn't its source's",
        "drift b.pyc isn't its source's",
    ]


def test_other_kinds_are_told_elsewhere() -> None:
    assert lines(CHECK, having(), having(replace(pyc(), kind=FileKind.UNOWNED))) == []


def test_key() -> None:
    (finding,) = CHECK.run(having(), having(pyc())).findings
    assert finding.key == "distribution[requests]"
