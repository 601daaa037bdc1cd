"""The registry is the folder; every rule explains itself, and is silent on a good lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from envguard.planning import lint
from envguard.planning.lint import RULES, WELL_FORMED
from envguard.planning.lint.rule import Rule
from tests.planning.lint.subjects import good, subject

_NO_RULES = {"__init__", "rule", "agreement"}


def test_every_file_is_a_rule_and_named_after_it() -> None:
    files = {file.stem for file in Path(lint.__file__).parent.glob("*.py")} - _NO_RULES
    assert {rule.slug.replace("-", "_") for rule in RULES} == files
    assert len({rule.slug for rule in RULES} | {WELL_FORMED}) == len(RULES) + 1


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_a_rule_explains_itself(rule: Rule) -> None:
    text = rule.explanation or ""
    title, _, rest = text.strip().partition("\n")
    assert title.endswith(".")
    assert len(title) < 90
    for word in ("What:", "Why:", "How to mend it:"):
        assert word in rest, word


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_a_good_lock_is_left_alone(rule: Rule) -> None:
    assert rule.run(subject(good())) == ()
