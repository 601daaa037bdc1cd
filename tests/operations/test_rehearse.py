from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from envguard.errors import RehearsalFailedError
from envguard.model.rehearsal import Part, Pass, Schedule
from envguard.model.target import Target
from envguard.model.warmup import FlexAttention
from envguard.operations.rehearse import rehearse
from envguard.planning.rehearsal import actors_of

TARGET = Target(Path("/env/bin/python"), "named")


class Quiet:
    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None: ...


class Scripted:
    """A rehearser whose processes answer as told, one list a pass."""

    def __init__(self, *answers: list[Pass | str]) -> None:
        self.answers = list(answers)
        self.asked: list[Sequence[Part]] = []
        self.gone = False

    @contextmanager
    def folder(self) -> Iterator[str]:
        yield "/cache"
        self.gone = True

    def run(self, parts: Sequence[Part]) -> list[Pass | str]:
        self.asked.append(parts)
        return self.answers.pop(0)


def schedule(*, processes: bool = False) -> Schedule:
    return Schedule(actors_of("1t1d", ["cuda:0", "cuda:1"]), FlexAttention(lengths=(128,)), processes=processes)


def good(warm: bool) -> Pass:
    return Pass(warm=warm, hits=2, flag="guard")


def test_a_cold_pass_then_a_warm_one_over_one_folder() -> None:
    rehearser = Scripted([good(False)], [good(True)])

    rehearsed = rehearse(TARGET, schedule(), rehearser=rehearser, progress=Quiet())

    assert [(part.warm, part.folder) for parts in rehearser.asked for part in parts] == [
        (False, "/cache"), (True, "/cache"),
    ]  # fmt: skip
    assert rehearsed.exit_code == 0 and len(rehearsed.passes) == 2 and rehearser.gone


def test_after_a_pass_that_hung_there_is_no_other() -> None:
    rehearser = Scripted([Pass(False, hung="staggered starts", stacks="Thread 1", flag="guard")])

    rehearsed = rehearse(TARGET, schedule(), rehearser=rehearser, progress=Quiet())

    assert rehearsed.exit_code == 1 and len(rehearsed.passes) == 1
    assert rehearsed.verdicts[0].hazard == "shared-device"


def test_processes_have_one_actor_each() -> None:
    rehearser = Scripted([good(False)] * 2, [good(True)] * 2)

    rehearsed = rehearse(TARGET, schedule(processes=True), rehearser=rehearser, progress=Quiet())

    assert [[part.schedule.actors[0].name for part in parts] for parts in rehearser.asked] == [
        ["target-0", "drafter-0"]
    ] * 2
    assert all(len(part.schedule.actors) == 1 for parts in rehearser.asked for part in parts)
    assert rehearsed.passes[0].hits == 4


def test_a_process_without_an_answer_ends_it() -> None:
    rehearser = Scripted([good(False), "there is no cuda:7"])

    with pytest.raises(RehearsalFailedError, match="there is no cuda:7") as raised:
        rehearse(TARGET, schedule(processes=True), rehearser=rehearser, progress=Quiet())

    assert raised.value.exit_code == 3 and rehearser.gone is False
