from __future__ import annotations

from typing import Any

import pytest

from envguard.errors import UsageError
from envguard.model.rehearsal import Actor, Outcome, Pass, Schedule
from envguard.model.run import Run, RunThread
from envguard.model.warmup import FlexAttention, Recipe
from envguard.planning import rehearsal

RACE = "RuntimeError: Detected that you are using FX to symbolically trace a dynamo-optimized function"
ACTORS = rehearsal.actors_of("2t1d", ["cuda:0", "cuda:1"])


def schedule(**changes: Any) -> Schedule:
    return Schedule(ACTORS, FlexAttention(lengths=(128,)), **changes)


def one(warm: bool = False, **changes: Any) -> Pass:
    return Pass(**{"warm": warm, "calls": 100, "hits": 2, "flag": "guard", **changes})


def seen(passes: list[Pass], guard: bool = True) -> dict[str, Outcome]:
    return {one.hazard: one.outcome for one in rehearsal.verdicts(schedule(guard=guard), passes)}


class TestActors:
    def test_devices_are_taken_in_turn_and_starts_are_staggered(self) -> None:
        assert (
            Actor("target-0", "cuda:0", 0.0),
            Actor("target-1", "cuda:1", 0.35),
            Actor("drafter-0", "cuda:0", 0.7),
        ) == ACTORS

    @pytest.mark.parametrize("text", ["", "t", "5", "t5", "0t", "5T3d", "5t 3d", "5t-3d", "100t"])
    def test_what_is_no_topology(self, text: str) -> None:
        with pytest.raises(UsageError, match="not a topology"):
            rehearsal.actors_of(text, ["cpu"])

    def test_too_many(self) -> None:
        with pytest.raises(UsageError, match="65 threads are too many"):
            rehearsal.actors_of("64t1d", ["cpu"])

    def test_other_letters_are_names_themselves(self) -> None:
        assert [actor.name for actor in rehearsal.actors_of("1a1d", ["cpu"])] == ["a-0", "drafter-0"]


class TestActorsOfARun:
    def test_threads_of_one_process(self) -> None:
        run = Run(
            None,
            None,
            (RunThread("target", "cuda:0"), RunThread("target", "cuda:1"), RunThread("drafter", "cuda:1")),
            (),
        )

        actors, processes = rehearsal.actors_of_run(run)

        assert [(actor.name, actor.device) for actor in actors] == [
            ("target-0", "cuda:0"), ("target-1", "cuda:1"), ("drafter-0", "cuda:1"),
        ]  # fmt: skip
        assert not processes

    def test_on_other_devices(self) -> None:
        run = Run(None, None, (RunThread("target", "cuda:6"), RunThread("drafter", "cuda:7")), ())

        assert [one.device for one in rehearsal.actors_of_run(run, ["cpu"])[0]] == ["cpu", "cpu"]

    def test_one_thread_a_process(self) -> None:
        run = Run(None, None, (RunThread("rank", "cuda:0", 0), RunThread("rank", "cuda:1", 1)), ())

        actors, processes = rehearsal.actors_of_run(run)

        assert processes and [actor.name for actor in actors] == ["rank-0", "rank-1"]

    def test_of_several_processes_with_threads_the_largest(self) -> None:
        run = Run(
            None, None, (RunThread("a", "cuda:0", 0), RunThread("b", "cuda:1", 1), RunThread("c", "cuda:1", 1)), ()
        )

        actors, processes = rehearsal.actors_of_run(run)

        assert not processes and [actor.name for actor in actors] == ["b-0", "c-0"]


class TestWorkload:
    def test_the_recipe_s_own(self) -> None:
        own = FlexAttention(lengths=(512,))

        assert rehearsal.workload_of(Recipe(workload=own), ["cpu"]) is own

    @pytest.mark.parametrize(("devices", "dtype"), [(["cpu"], "float32"), (["cuda:0"], "bfloat16")])
    def test_a_small_one(self, devices: list[str], dtype: str) -> None:
        assert rehearsal.workload_of(Recipe(command=("train",)), devices).dtype == dtype
        assert rehearsal.workload_of(None, devices).dtype == dtype


class TestVerdicts:
    def test_all_is_well(self) -> None:
        assert set(seen([one(misses=4, traces=20), one(True, hits=6)]).values()) == {Outcome.CLEAR}

    @pytest.mark.parametrize(
        ("hazard", "passes"),
        [
            pytest.param("tracing-flag", [one(errors={RACE: 3}), one(True)], id="race-cold"),
            pytest.param("tracing-flag", [one(), one(True, errors={RACE: 1})], id="race-warm"),
            pytest.param("shared-device", [one(hung="starts all at once")], id="deadlock"),
            pytest.param("dense-attention", [one(dense=1), one(True)], id="dense"),
            pytest.param("sticky-flag", [one(), one(True, stuck=True)], id="sticky"),
            pytest.param("block-mask", [one(errors={"KeyError: 'custom'": 1}), one(True)], id="mask"),
            pytest.param("errors", [one(errors={"ValueError: no": 1}), one(True)], id="other-error"),
            pytest.param("compiles", [one(), one(True, misses=1)], id="a-second-start-compiles"),
            pytest.param(
                "unknown-build", [one(flag="unguarded"), one(True, flag="unguarded")], id="unknown-build"
            ),
        ],
    )
    def test_each_hazard_is_seen_alone(self, hazard: str, passes: list[Pass]) -> None:
        assert [name for name, outcome in seen(passes).items() if outcome is Outcome.SEEN] == [hazard]

    def test_the_seen_come_first(self) -> None:
        found = rehearsal.verdicts(schedule(), [one(errors={"ValueError: no": 1}), one(True)])

        assert found[0].hazard == "errors" and "1 × ValueError: no (cold)" in found[0].detail

    def test_without_the_guard_a_rising_flag_is_a_note(self) -> None:
        found = seen([one(flag="process", traces=9), one(True, flag="process", traces=2)], guard=False)

        assert found["tracing-flag"] is Outcome.NOTE and found["fx-traces"] is Outcome.NOTE
        assert found["unknown-build"] is Outcome.CLEAR

    def test_without_the_guard_the_cure_is_named(self) -> None:
        found = {
            verdict.hazard: verdict.do
            for verdict in rehearsal.verdicts(
                schedule(guard=False), [one(errors={RACE: 1}, hung="staggered starts", stuck=True)]
            )
        }

        assert found["tracing-flag"] == "envguard run LOCK -- COMMAND"
        assert found["shared-device"] is not None and "guard.first_step" in found["shared-device"]

    def test_bypasses_are_a_note(self) -> None:
        assert seen([one(), one(True, bypasses=3)])["compiles"] is Outcome.NOTE

    def test_a_hung_first_pass_proves_nothing_of_the_second(self) -> None:
        assert seen([one(hung="staggered starts")])["compiles"] is Outcome.NOTE


def test_processes_of_a_pass_are_one() -> None:
    whole = rehearsal.merged(
        [
            one(seconds=1.0, errors={"a": 1}, misses=1),
            one(seconds=2.0, errors={"a": 2, "b": 1}, hung="staggered starts", stacks="Thread", stuck=True),
        ]
    )

    assert (whole.seconds, whole.calls, whole.hits, whole.misses) == (2.0, 200, 4, 1)
    assert whole.errors == {"a": 3, "b": 1}
    assert (whole.hung, whole.stacks, whole.stuck) == ("staggered starts", "Thread", True)
