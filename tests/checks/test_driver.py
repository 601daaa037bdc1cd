"""The NVIDIA driver."""

from __future__ import annotations

import pytest

from envguard.checks.driver import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Driver, Facts
from envguard.model.observed import Absent, Unobserved, Value
from tests.builders import facts, torch_build
from tests.checks.lines import lines


def having(driver: str | None, variant: str = "cu130") -> Facts:
    seen = Absent() if driver is None else Value(Driver(driver))
    return facts(driver=seen, torch=Value(torch_build(variant=variant)))


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param(
            having("580.159"),
            having("570.124.06"),
            "drift driver 580.159 → 570.124.06: below 580, the floor of cu130",
            id="below the floor",
        ),
        pytest.param(
            having("570.124.06", "cu128"),
            having("570.124.06"),
            "drift driver 570.124.06: below 580, the floor of cu130 (cu128 when it was recorded)",
            id="below the floor of another variant",
        ),
        pytest.param(
            having("570.124.06"),
            having("570.124.06"),
            "note driver 570.124.06: below 580, the floor of cu130, as when it was recorded",
            id="below the floor, as recorded",
        ),
        pytest.param(
            having("580.159"),
            having("590.44.01"),
            "note driver 580.159 → 590.44.01: above 580, the floor of cu130",
            id="another above the floor",
        ),
        pytest.param(
            having("580.159", "cu128"),
            having("535.54.03", "cu128"),
            "note driver 580.159 → 535.54.03: above 525.60.13, the floor of cu128, "
            "older than 570, which came with its CUDA: it compiles no newer PTX",
            id="between floor and branch",
        ),
        pytest.param(
            having("580.159", "cpu"),
            having("570.1", "cpu"),
            "note driver 580.159 → 570.1: another driver",
            id="cpu",
        ),
        pytest.param(
            having("580.159"),
            having("n/a"),
            "note driver 580.159 → n/a: can't be held against 580, the floor of cu130",
            id="a version that can't be read",
        ),
        pytest.param(having(None), having("580.159"), "note driver none → 580.159", id="new"),
    ],
)
def test_driver(was: Facts, now: Facts, line: str) -> None:
    assert lines(CHECK, was, now) == [line]


def test_the_same() -> None:
    assert CHECK.run(having("580.159"), having("580.159")).findings == ()


def test_none_here_is_unknown() -> None:
    result = CHECK.run(having("580.159"), having(None))
    assert result.outcome is Outcome.UNKNOWN
    assert result.reason == "no NVIDIA driver on this machine; the lock was made with 580.159"


def test_none_on_both_sides() -> None:
    assert CHECK.run(having(None), having(None)).outcome is Outcome.NOT_RECORDED


@pytest.mark.parametrize("torch", [Absent(), Unobserved("no permission")])
def test_torch_need_not_be_known(torch: Absent | Unobserved) -> None:
    now = facts(driver=Value(Driver("570.1")), torch=torch)
    assert lines(CHECK, having("580.159"), now) == ["note driver 580.159 → 570.1: another driver"]
