"""Logs of a run's processes become one run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from envguard.formats.run_log import read_run_log
from envguard.model.observed import NOT_RECORDED, Value
from envguard.model.run import Ending, Run, RunDevice, RunLog, RunThread
from envguard.planning.run_logs import not_good, remarks_of, run_of, run_to_record
from tests.builders import facts, torch_build
from tests.runlogs import document


def log(**changes: Any) -> RunLog:
    return read_run_log(json.dumps(document(**changes)).encode())


def whole(*logs: RunLog) -> Run:
    run = run_of(logs)
    assert run is not None
    return run


def test_one_process() -> None:
    run = whole(log())
    assert run.threads == (RunThread("drafter", "cuda:0", 0, 4000), RunThread("target", "cuda:0", 0))
    assert run.devices == (RunDevice("cuda:0", 7, 0, 0, 2048, 3072, 601),)
    assert (run.processes, run.warm, run.tokens_per_second, run.late_compiles) == (1, True, 4000, 0)
    assert (run.ended, run.why, run.stuck, run.hazards) == (Ending.EXIT, None, False, ())


def test_launchers_are_no_part_of_a_run_with_ranks() -> None:
    ranks = [log(process__rank=number, end__how=how) for number, how in ((1, "exit"), (0, "exit"))]
    run = whole(log(process__role="launcher", end__how="exception"), *ranks)
    assert (run.processes, run.ended) == (2, Ending.EXIT)
    assert [thread.process for thread in run.threads] == [0, 0, 1, 1]
    assert run.tokens_per_second == 8001
    assert run.devices[0].hits == 14
    assert run.devices[0].reserved_mib == 3072


def test_the_gravest_ending_is_the_run_s() -> None:
    run = whole(
        log(), log(end__how="signal", end__detail="SIGTERM"), log(end__how="exception", end__detail="E: x")
    )
    assert (run.ended, run.why) == (Ending.EXCEPTION, "E: x")


def test_no_log_is_no_run() -> None:
    assert run_of([]) is None


def test_nothing_known_stays_unknown() -> None:
    run = whole(log(memory=[], throughput=[], threads=[], counts=[]))
    assert (run.threads, run.devices, run.tokens_per_second, run.budget_mib) == ((), (), None, None)


def test_devices_are_in_the_order_of_their_numbers() -> None:
    counts = [{"thread": "a", "device": device} for device in ("cuda:10", "cuda:2", "cpu")]
    assert [device.device for device in whole(log(counts=counts, memory=[])).devices] == [
        "cpu",
        "cuda:2",
        "cuda:10",
    ]


def test_hazards_of_all_processes_are_counted_together() -> None:
    hazard = {"hazard": "dense-attention", "detail": "d", "device": "cpu", "thread": "t", "times": 2}
    run = whole(log(hazards=[hazard]), log(hazards=[hazard]))
    assert [(one.slug, one.times) for one in run.hazards] == [("dense-attention", 4)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"end__how": "signal"}, None),
        ({"end__how": "running"}, None),
        ({"end__how": "exception", "end__detail": "ValueError: x"}, "ended with exception: ValueError: x"),
        ({"end__how": "deadline"}, "ended with deadline"),
        ({"end__flag_stuck": True}, "stuck"),
        ({"threads": []}, "no thread computed"),
    ],
    ids=["exit", "ended by a scheduler", "killed", "exception", "deadline", "stuck", "nobody"],
)
def test_what_can_stand_for_a_good_run(change: dict[str, Any], reason: str | None) -> None:
    said = not_good(whole(log(**change)))
    assert said is None if reason is None else said is not None and reason in said


def test_remarks_of_a_run_that_is_recorded() -> None:
    assert remarks_of(whole(log())) == ()
    cold = log(
        counts=[{"thread": "a", "device": "cpu", "graph_misses": 1}], throughput=[], end__how="signal", memory=[]
    )
    assert [remark.split(":")[0] for remark in remarks_of(whole(cold))] == [
        "the run compiled on cpu",
        "the run told no throughput",
        "the run did not end by itself",
    ]


class TestWhichRunALockGets:
    run = Run("2.11.0", "c", (), (), slower=30, more_memory=7)

    def test_the_one_told_now_with_the_tolerances_of_before(self) -> None:
        now = replace(self.run, tokens_per_second=9, slower=10, more_memory=5)
        kept = run_to_record(facts(run=Value(self.run)), facts(run=Value(now)))
        assert kept == Value(replace(now, slower=30, more_memory=7))
        assert run_to_record(facts(), facts(run=Value(now))) == Value(now)

    def test_the_one_before_while_torch_is_the_same(self) -> None:
        assert run_to_record(facts(run=Value(self.run)), facts()) == Value(self.run)

    def test_none_of_another_torch(self) -> None:
        other = facts(torch=Value(torch_build(variant="cu128")))
        assert run_to_record(facts(run=Value(self.run)), other) == NOT_RECORDED
