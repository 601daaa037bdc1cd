from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from envguard.formats import rehearsal as form
from envguard.model.rehearsal import Outcome, Pass, Rehearsal, Schedule, Verdict
from envguard.model.warmup import FlexAttention
from envguard.planning.rehearsal import actors_of, verdicts

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/rehearsal-1.json").read_text())
TOTALS = {
    "autograd_hits": 1, "autograd_misses": 2, "autograd_bypasses": 3,
    "compiles": 4, "fx_traces": 5, "dense_calls": 6,
}  # fmt: skip
ANSWER: dict[str, Any] = {
    "schema": 1, "seconds": 1.5, "hung": None, "stacks": "", "errors": {"ValueError: no": 2}, "calls": 7,
    "build": "2.11.0+cu130", "flag": "guard", "stuck": False, "totals": TOTALS,
}  # fmt: skip
SCHEDULE = Schedule(actors_of("1t1d", ["cuda:0"]), FlexAttention(lengths=(128,), kv_heads=2), deadline=9.0)


def test_an_answer_is_a_pass() -> None:
    assert form.read_pass(json.dumps(ANSWER), warm=True) == Pass(
        warm=True, seconds=1.5, calls=7, errors={"ValueError: no": 2}, hits=1, misses=2, bypasses=3, compiles=4,
        traces=5, dense=6, flag="guard", build="2.11.0+cu130",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(
            '{"failure": {"kind": "no-device", "detail": "cuda:7"}}', "there is no cuda:7", id="no-device"
        ),
        pytest.param(
            '{"failure": {"kind": "too-old", "detail": "3.8.1"}}',
            "the target is Python 3.8.1, and 3.9 is needed",
            id="too-old",
        ),
        pytest.param(
            '{"failure": {"kind": "failed", "detail": "ImportError: no"}}',
            "the rehearsal could not start: ImportError: no",
            id="failed",
        ),
        pytest.param("", "the rehearsal's answer can't be read", id="empty"),
        pytest.param("[]", "the rehearsal's answer can't be read", id="a-list"),
        pytest.param("{}", "the rehearsal's answer can't be read", id="nothing-in-it"),
        pytest.param(json.dumps({**ANSWER, "totals": {}}), "the rehearsal's answer can't be read", id="no-totals"),
        pytest.param(json.dumps({**ANSWER, "errors": 3}), "the rehearsal's answer can't be read", id="no-errors"),
    ],
)
def test_an_answer_that_is_none(answer: str, said: str) -> None:
    assert form.read_pass(answer, warm=False) == said


def test_the_plan() -> None:
    plan = json.loads(form.plan_text(SCHEDULE))

    assert plan["deadline"] == 9.0 and plan["workload"]["kv_heads"] == 2
    assert plan["actors"][1] == {"name": "drafter-0", "device": "cuda:0", "delay": 0.35}


def rehearsed(*passes: Pass) -> Rehearsal:
    return Rehearsal(SCHEDULE, passes, verdicts(SCHEDULE, passes))


def test_lines() -> None:
    lines = list(
        form.lines(rehearsed(Pass(False, hung="staggered starts", stacks="Thread 1\n  File x")), "x", quiet=True)
    )

    assert lines[0] == "seen   shared-device    cold: staggered starts did not end within 9 s"
    assert lines[-4:-1] == ["stacks of all threads, cold:", "Thread 1", "  File x"]
    assert lines[-1].startswith("1 seen   x, 2 threads on cuda:0, with the guard")


def test_quiet_when_nothing_was_seen() -> None:
    good = Rehearsal(SCHEDULE, (), (Verdict("errors", Outcome.CLEAR, "none"),))

    assert list(form.lines(good, "x", quiet=True)) == []
    assert list(form.lines(good, "x", quiet=False))[-1].startswith("nothing seen")


def test_document() -> None:
    document = form.document(
        rehearsed(Pass(False, flag="guard"), Pass(True, flag="guard", errors={"a": 1})), "good"
    )

    jsonschema.validate(document, SCHEMA)
    assert document["schema"] == "envguard-rehearsal-1" and document["exit_code"] == 1
