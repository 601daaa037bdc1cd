"""The Triton that torch asks for."""

from __future__ import annotations

import sys

import pytest

from envguard.checks.triton_pin import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts
from envguard.model.observed import Absent, Unobserved, Value
from tests.builders import distribution, facts, torch_build
from tests.checks.lines import lines


def having(requires: tuple[str, ...], *, build: str = "2.11.0+cu130", **versions: str) -> Facts:
    entries = tuple(distribution(name.replace("_", "-"), version) for name, version in versions.items())
    return facts(torch=Value(torch_build(requires=requires, build=build)), distributions=Value(entries))


GOOD = having(("triton==3.6.0",), triton="3.6.0")


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param(
            GOOD,
            having(("triton==3.6.0",), triton="3.7.0"),
            "drift triton 3.6.0 → 3.7.0: torch 2.11.0+cu130 asks for triton==3.6.0",
            id="triton moved",
        ),
        pytest.param(
            GOOD,
            having(("triton==3.7.0",), build="2.12.0+cu130", triton="3.6.0"),
            "drift triton 3.6.0; torch 2.12.0+cu130 asks for triton==3.7.0",
            id="torch moved",
        ),
        pytest.param(
            GOOD,
            having(("triton==3.6.0",)),
            "drift triton 3.6.0 → missing: torch 2.11.0+cu130 asks for triton==3.6.0",
            id="missing",
        ),
        pytest.param(
            having((), build="2.11.0+cpu"),
            having(("triton~=3.9.0",), triton="3.10.0"),
            "drift triton none → 3.10.0: torch 2.11.0+cu130 asks for triton~=3.9.0",
            id="compatible release",
        ),
        pytest.param(
            having(("triton==3.6.0",), triton="3.7.0"),
            having(("triton==3.6.0",), triton="3.7.0"),
            "note triton 3.7.0; torch 2.11.0+cu130 asks for triton==3.6.0, as when it was recorded",
            id="as recorded",
        ),
        pytest.param(
            having(("triton==3.6.0",)),
            having(("triton==3.6.0",)),
            "note triton missing; torch 2.11.0+cu130 asks for triton==3.6.0, as when it was recorded",
            id="missing as recorded",
        ),
        pytest.param(
            GOOD,
            having(("pytorch-triton==3.6.0+git1b0418a9",), pytorch_triton="3.6.0+gitdeadbeef"),
            "drift pytorch-triton none → 3.6.0+gitdeadbeef: "
            "torch 2.11.0+cu130 asks for pytorch-triton==3.6.0+git1b0418a9",
            id="a nightly's own build",
        ),
        pytest.param(
            GOOD,
            having(("triton===",), triton="3.6.0"),
            "unknown triton torch asks for 'triton===', which can't be understood",
            id="a requirement that can't be understood",
        ),
        pytest.param(
            GOOD,
            having(("triton==3.6.0",), triton="main"),
            "unknown triton torch asks for 'triton==3.6.0', which can't be understood",
            id="a version that can't be understood",
        ),
    ],
)
def test_unmet(was: Facts, now: Facts, line: str) -> None:
    assert lines(CHECK, was, now) == [line]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(having(("triton==3.6.0",), triton="3.6.0"), id="exact"),
        pytest.param(having(("triton~=3.9.0",), triton="3.9.1"), id="compatible"),
        pytest.param(having(("triton==3.6.0",), triton="3.6.0+git1b0418a9"), id="a local label more"),
        pytest.param(having(("triton>=3.6",), triton="3.7.0rc1"), id="a pre-release"),
        pytest.param(having(('triton==3.6.0; platform_system == "Linux"',), triton="3.6.0"), id="with a marker"),
        pytest.param(having(("nvidia-nccl-cu13==2.30.7",)), id="other requirements"),
        pytest.param(having((), triton="3.6.0"), id="asks for none"),
    ],
)
def test_met(now: Facts) -> None:
    assert CHECK.run(GOOD, now).outcome is Outcome.MATCH


def test_an_exact_pin_needs_no_slow_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert CHECK.run(GOOD, GOOD).outcome is Outcome.MATCH
    with pytest.raises(ImportError):
        CHECK.run(GOOD, having(("triton==3.6.0",), triton="3.7.0"))


def test_torch_gone_is_told_elsewhere() -> None:
    gone = facts(torch=Absent())
    assert CHECK.run(GOOD, gone).outcome is Outcome.MATCH
    assert CHECK.run(gone, gone).outcome is Outcome.MATCH


def test_torch_that_came_asks_too() -> None:
    was = facts(torch=Absent(), distributions=Value(()))
    assert lines(CHECK, was, having(("triton==3.6.0",))) == [
        "drift triton missing; torch 2.11.0+cu130 asks for triton==3.6.0"
    ]


def test_torch_that_could_not_be_looked_at() -> None:
    assert CHECK.run(GOOD, facts(torch=Unobserved("no permission"))).outcome is Outcome.UNKNOWN


def test_key() -> None:
    (finding,) = CHECK.run(GOOD, having(("triton==3.6.0",), triton="3.7.0")).findings
    assert finding.key == "distribution[triton]"
