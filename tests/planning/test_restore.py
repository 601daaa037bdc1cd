from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.model.distribution import Evidence, Wheel
from envguard.model.environment import Room
from envguard.model.facts import FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Unobserved, Value
from envguard.model.offer import Offer
from envguard.planning.obtain import ProblemKind
from envguard.planning.pythons import Python
from envguard.planning.restore import AtHand, Plan, Unpacked, plan_restore, recorded_distributions, unsupplied
from tests.builders import digest, distribution, facts


def entry(name: str, size: int = 1000, **changes: Any) -> Any:
    wheel = Wheel(f"{name}-1.0-py3-none-any.whl", digest(name), size=size, evidence=Evidence.UV_CACHE)
    return replace(distribution(name, "1.0"), wheel=replace(wheel, **changes))


def lock(*entries: Any, **sections: Any) -> Lock:
    return Lock("good", facts(distributions=Value(entries), torch=Absent(), **sections))


def at_hand(recorded: Lock, **changes: Any) -> AtHand:
    assert isinstance(recorded.facts.interpreter, Value)
    whole = AtHand(
        held=frozenset(entry.wheel.sha256 for entry in recorded_distributions(recorded) if entry.wheel.sha256),
        pythons=(Python("/usr/bin/python3.12", recorded.facts.interpreter.value),),
        looked="PATH",
    )
    return replace(whole, **changes)


def plan(recorded: Lock, *without: str, **changes: Any) -> Plan:
    return plan_restore(recorded, "0" * 64, at_hand(recorded, **changes), frozenset(without))


def test_a_plan_that_can_be_carried_out() -> None:
    made = plan(lock(entry("demo"), entry("pip")))
    assert (made.name, made.lock, made.python) == ("good", "0" * 64, "/usr/bin/python3.12")
    assert [(step.name, step.source) for step in made.steps] == [("demo", "archive"), ("pip", "archive")]
    assert (made.problems, made.notes, made.size, made.fetch_size) == ((), (), 2000, 0)


def test_only_what_the_store_lacks_is_asked_for_and_fetched() -> None:
    recorded = lock(entry("held"), entry("asked"), entry("unknown", sha256=None), entry("out"))
    assert unsupplied(recorded, {digest("held")}, {"out"}) == ("asked",)
    offer = Offer("asked-1.0-py3-none-any.whl", "default/asked", "default", digest("asked"))
    made = plan(recorded, "out", "unknown", held=frozenset({digest("held")}), offers={"asked": [offer]})
    assert (made.problems, made.fetch_size) == ((), 1000)


def test_everything_that_stands_in_the_way_is_told_at_once() -> None:
    recorded = lock(
        entry("demo", sha256=None),
        entry("torch"),
        files=Value((FileFact("stray.py", FileKind.UNOWNED, sha256=digest("stray")),)),
    )
    made = plan(recorded, held=frozenset(), pythons=(), unasked={"torch": "no page"}, room=Room(0, 0))
    assert [problem.subject for problem in made.problems] == ["demo", "torch", "stray.py", "interpreter"]


def test_what_is_left_out_is_no_problem() -> None:
    made = plan(lock(entry("demo", sha256=None), entry("other")), "demo")
    assert [step.name for step in made.steps] == ["other"]
    assert made.left_out == {"demo"}
    assert made.problems == ()


def test_a_name_to_leave_out_that_the_lock_does_not_hold_is_told() -> None:
    (problem,) = plan(lock(entry("demo")), "dmeo").problems
    assert (problem.kind, problem.subject) == (ProblemKind.REQUEST, "dmeo")


@pytest.mark.parametrize("named", ["bin/tool", "tool"])
def test_a_file_is_left_out_by_the_path_that_people_know(named: str) -> None:
    fact = FileFact("tool", FileKind.UNOWNED, root="scripts", sha256=digest("tool"))
    assert plan(lock(entry("demo"), files=Value((fact,))), named).problems == ()


def test_a_lock_without_distributions_can_not_be_restored() -> None:
    recorded = Lock("good", facts(distributions=Unobserved("no permission"), torch=Absent()))
    (problem,) = plan(recorded).problems
    assert problem.reason == "the lock holds none (no permission): there is nothing to restore"


def test_an_environment_that_held_nothing_can_be_restored() -> None:
    assert plan(Lock("good", facts(distributions=Value(()), torch=Absent()))).problems == ()


def test_room_is_reckoned_from_rows_where_they_are_known_and_from_the_wheel_else() -> None:
    recorded = lock(entry("known", 1000), entry("unknown", 100_000))
    made = plan(recorded, unpacked={"known": Unpacked(5000, 10, 2000, 4)})
    assert made.size_needed == (1000 + 5000 + 2000) + 4 * 100_000
    assert made.files_needed == (1 + 10 + 4) + (1 + 6)


@pytest.mark.parametrize(
    ("room", "words"),
    [
        (Room(3999, None), "needs about 4000 bytes of disk, and 3999 are free"),
        (Room(4000, 0), "makes about 1 files, and the disk has room for 0 (inodes)"),
    ],
    ids=["bytes", "inodes"],
)
def test_a_full_disk_is_a_problem_before_anything_is_fetched(room: Room, words: str) -> None:
    (problem,) = plan(lock(entry("demo")), room=room).problems
    assert problem.kind is ProblemKind.ROOM
    assert words in problem.reason


@pytest.mark.parametrize("room", [Room(4000, 1), Room(4000, None), None], ids=["just", "no-inodes", "unknown"])
def test_enough_room_is_nothing_to_tell(room: Room | None) -> None:
    assert plan(lock(entry("demo")), room=room).problems == ()
