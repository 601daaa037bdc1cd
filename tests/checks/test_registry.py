"""One file is one check, and the registry names them all."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import envguard.checks
from envguard.checks import CHECKS
from envguard.checks.check import AnyCheck
from envguard.model.drift import Outcome
from tests.builders import facts
from tests.checks.lines import run

FOLDER = Path(envguard.checks.__file__).parent
SHARED = {"__init__", "check", "judge", "installed", "origin", "rows", "words"}
"""Modules that serve checks and are none."""

each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.slug)


def test_files_on_disk_are_the_registry() -> None:
    on_disk = {path.stem for path in FOLDER.glob("*.py")} - SHARED
    assert on_disk == {check.slug.replace("-", "_") for check in CHECKS}


def test_order_of_telling() -> None:
    assert [check.slug for check in CHECKS] == [
        "torch-build",
        "distributions",
        "files",
        "startup-code",
        "shared-files",
        "bytecode",
        "cuda-mix",
        "triton-pin",
        "shadowing",
        "installer",
        "interpreter",
        "driver",
        "gpus",
        "variables",
        "compile-cache",
        "code",
        "live-torch",
        "run",
    ]


@each_check
def test_slug_is_the_file_name(check: AnyCheck) -> None:
    module = importlib.import_module(f"envguard.checks.{check.slug.replace('-', '_')}")
    assert module.CHECK is check
    assert check.explanation == module.__doc__


@each_check
def test_explanation_is_of_a_useful_length_and_fits_a_terminal(check: AnyCheck) -> None:
    assert check.explanation
    lines = check.explanation.strip().splitlines()
    assert 8 <= len(lines) <= 25
    assert max(map(len, lines)) <= 110
    assert lines[0].endswith(".")
    assert lines[1] == ""


@each_check
def test_explanation_says_what_why_and_how_to_mend_it(check: AnyCheck) -> None:
    text = check.explanation or ""
    for question in ("What drifts: ", "Why it changes a training: ", "How to read it: ", "How to mend it: "):
        assert text.count(question) == 1
    assert "``" not in text


@each_check
def test_has_a_test_of_its_own(check: AnyCheck) -> None:
    assert (Path(__file__).parent / f"test_{check.slug.replace('-', '_')}.py").is_file()


@each_check
def test_checks_do_not_import_each_other(check: AnyCheck) -> None:
    source = (FOLDER / f"{check.slug.replace('-', '_')}.py").read_text()
    imported = set(re.findall(r"from envguard\.checks\.(\w+)", source))
    assert imported <= SHARED


@each_check
def test_an_environment_matches_itself_even_strictly(check: AnyCheck) -> None:
    result = run(check, facts(), facts())
    assert result.outcome in (Outcome.MATCH, Outcome.NOT_RECORDED)
    assert result.findings == ()
