"""A later run against the recorded one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.checks.run import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts
from envguard.model.observed import Absent, Unobserved, Value
from envguard.model.run import Ending, LoggedHazard, Run, RunDevice, RunThread
from tests.builders import facts
from tests.checks.lines import lines, run

WHOLE = Run(
    build="2.11.0+cu130",
    commit="70d99e998b",
    threads=(RunThread("drafter", "cuda:0", 0, 4000), RunThread("target", "cuda:1")),
    devices=(RunDevice("cuda:0", 24, 0, 1, 1000, 2000, 600), RunDevice("cuda:1", 6)),
    processes=1,
    warm=True,
    tokens_per_second=4000,
)


def side(**changes: Any) -> Facts:
    return facts(run=Value(replace(WHOLE, **changes)))


def held(recorded: dict[str, Any], observed: dict[str, Any]) -> list[str]:
    return lines(CHECK, side(**recorded), side(**observed))


def device(**changes: Any) -> tuple[RunDevice, ...]:
    return (replace(WHOLE.devices[0], **changes), WHOLE.devices[1])


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "equal": ({}, {}, []),
    "faster": ({}, {"tokens_per_second": 9000}, []),
    "as slow as allowed": ({}, {"tokens_per_second": 3600}, []),
    "slower": ({}, {"tokens_per_second": 3500}, ["drift tokens/s 4,000 → 3,500: 13 % slower, 10 % allowed"]),
    "slower, allowed by the lock": ({"slower": 20}, {"tokens_per_second": 3500}, []),
    "no throughput told": (
        {},
        {"tokens_per_second": None},
        ["unknown tokens/s the program told none: guard.step(tokens=…)"],
    ),
    "throughput that was not recorded": ({"tokens_per_second": None}, {}, []),
    "as much memory as allowed": ({}, {"devices": device(reserved_mib=2100)}, []),
    "less memory": ({}, {"devices": device(reserved_mib=1, peak_mib=1)}, []),
    "more memory": (
        {},
        {"devices": device(peak_mib=1500)},
        ["drift cuda:0 peak memory 1,000 MiB → 1,500 MiB: 50 % more, 5 % allowed"],
    ),
    "a larger context": (
        {},
        {"devices": device(context_mib=700)},
        ["drift cuda:0 context 600 MiB → 700 MiB: 16 % more, 5 % allowed"],
    ),
    "memory where none was": (
        {"devices": device(context_mib=0)},
        {},
        ["drift cuda:0 context 0 MiB → 600 MiB"],
    ),
    "memory not in the log": (
        {},
        {"devices": device(reserved_mib=None)},
        ["unknown cuda:0 memory held not in the log"],
    ),
    "misses": (
        {},
        {"devices": device(hits=0, misses=24)},
        ["drift cuda:0 24 hits, 0 misses → 0 hits, 24 misses: a start that compiles"],
    ),
    "one miss": (
        {},
        {"devices": device(hits=23, misses=1)},
        ["drift cuda:0 24 hits, 0 misses → 23 hits, 1 miss: a start that compiles"],
    ),
    "fewer misses than the recorded cold run": ({"devices": device(hits=0, misses=24)}, {}, []),
    "another device": (
        {"devices": (WHOLE.devices[1],)},
        {"devices": (replace(WHOLE.devices[1], device="cuda:2"),)},
        ["drift cuda:1 used → not used", "drift cuda:2 not used → used"],
    ),
    "another device map": (
        {},
        {"threads": (RunThread("drafter", "cuda:1"), RunThread("target", "cuda:1"))},
        [
            "drift threads 1× drafter on cuda:0 and 1× target on cuda:1 → "
            "1× drafter on cuda:1 and 1× target on cuda:1"
        ],
    ),
    "nobody computes": (
        {"threads": ()},
        {},
        ["drift threads none → 1× drafter on cuda:0 and 1× target on cuda:1"],
    ),
    "more processes": ({}, {"processes": 2}, ["drift processes 1 → 2"]),
    "dense attention": ({}, {"dense_calls": 2}, ["drift dense attention calls 0 → 2"]),
    "late compiles": ({}, {"late_compiles": 1}, ["drift compiles after warm 0 → 1"]),
    "late compiles, where none were counted": ({"warm": False}, {"late_compiles": 1}, []),
    "never warm": ({}, {"warm": False}, ["unknown warm guard.warm() was not reached"]),
    "a stuck flag": (
        {},
        {"stuck": True},
        ["drift tracing flag was stuck at the end: compiled calls fail or run dense"],
    ),
    "an exception": (
        {},
        {"ended": Ending.EXCEPTION, "why": "ValueError: x"},
        ["drift end exception: ValueError: x"],
    ),
    "ended by a signal": ({}, {"ended": Ending.SIGNAL, "why": "SIGTERM"}, ["note end SIGTERM"]),
    "killed": ({}, {"ended": Ending.RUNNING}, ["note end it still runs, or was killed without a word"]),
    "another torch": (
        {},
        {"build": "2.11.0+cu128"},
        ["drift torch 2.11.0+cu130 70d99e998b → 2.11.0+cu128 70d99e998b: as the run itself saw it"],
    ),
    "a hazard": (
        {},
        {"hazards": (LoggedHazard("thread-died", "t: x", 2),)},
        ["note thread-died t: x (2×)"],
    ),
}


@pytest.mark.parametrize(("recorded", "observed", "expected"), CASES.values(), ids=CASES.keys())
def test_findings(recorded: dict[str, Any], observed: dict[str, Any], expected: list[str]) -> None:
    assert held(recorded, observed) == expected


def test_an_environment_without_a_log_is_not_asked_for_its_run() -> None:
    result = run(CHECK, side(), facts())
    assert (result.outcome, result.reason) == (Outcome.NOT_RECORDED, "not asked for")


def test_a_lock_without_a_run_has_nothing_to_compare() -> None:
    assert run(CHECK, facts(), side()).outcome is Outcome.NOT_RECORDED


def test_a_run_that_is_gone_or_could_not_be_read() -> None:
    assert run(CHECK, side(), facts(run=Absent())).outcome is Outcome.DRIFT
    assert run(CHECK, side(), facts(run=Unobserved("half a file"))).outcome is Outcome.UNKNOWN
