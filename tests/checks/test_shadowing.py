"""Modules that would come from elsewhere."""

from __future__ import annotations

import pytest

from envguard.checks.shadowing import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, Shadow
from envguard.model.observed import Value
from tests.builders import facts
from tests.checks.lines import lines


def having(*shadows: Shadow) -> Facts:
    return facts(shadows=Value(shadows))


@pytest.mark.parametrize(
    ("shadow", "line", "hint"),
    [
        (
            Shadow("triton", "triton", "PYTHONPATH", "/opt/mine/triton"),
            "triton would be imported from PYTHONPATH (/opt/mine/triton), not from triton",
            "unset PYTHONPATH for the run",
        ),
        (
            Shadow("numpy", "numpy", "user site"),
            "numpy would be imported from the user site, not from numpy",
            "set PYTHONNOUSERSITE=1 for the run",
        ),
        (
            Shadow("yaml", "pyyaml", ".pth"),
            "yaml would be imported from a folder that a .pth names, not from pyyaml",
            "look at the .pth files of the environment",
        ),
        (
            Shadow("requests", "requests", "working folder"),
            "requests would be imported from the working folder, not from requests",
            "start the run from another folder, or with python -P",
        ),
        (
            Shadow("dataclasses", "dataclasses", "standard library"),
            "dataclasses would be imported from the standard library, not from dataclasses",
            None,
        ),
    ],
    ids=lambda value: value.place if isinstance(value, Shadow) else "",
)
def test_new(shadow: Shadow, line: str, hint: str | None) -> None:
    assert lines(CHECK, having(), having(shadow)) == [f"drift {line}"]
    (finding,) = CHECK.run(having(), having(shadow)).findings
    assert finding.hint == hint
    assert finding.key == f"distribution[{shadow.distribution}]"


def test_as_recorded_wherever_it_lies() -> None:
    was = Shadow("triton", "triton", "PYTHONPATH")
    now = Shadow("triton", "triton", "PYTHONPATH", "/elsewhere/triton")
    assert CHECK.run(having(was), having(now)).outcome is Outcome.MATCH


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (
            "user site",
            "drift triton would be imported from triton; when it was recorded it came from the user site",
        ),
        (
            "working folder",
            "note triton would be imported from triton; when it was recorded it came from the working folder",
        ),
    ],
)
def test_gone(place: str, line: str) -> None:
    assert lines(CHECK, having(Shadow("triton", "triton", place)), having()) == [line]
