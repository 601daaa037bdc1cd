"""``warmup --rehearse``: the run's own concurrency, over a cold cache and over the same one, warm."""

from __future__ import annotations

from dataclasses import replace

from envguard.errors import RehearsalFailedError
from envguard.model.rehearsal import Part, Pass, Rehearsal, Schedule
from envguard.model.target import Target
from envguard.planning import rehearsal as planning
from envguard.ports import Progress, Rehearser


def rehearse(target: Target, schedule: Schedule, *, rehearser: Rehearser, progress: Progress) -> Rehearsal:
    """Two passes and a verdict a hazard. After a pass that hung there is no other. RehearsalFailedError.

    Nothing of it lasts: each pass is a process of its own (with ``schedule.processes`` one a thread) that ends,
    and the cache is a private folder that goes away.
    """
    passes: list[Pass] = []
    with rehearser.folder() as folder:
        for number, warm in enumerate((False, True)):
            progress.step("rehearsal", number, 2, "passes")
            parts = [Part(target, part, folder, warm) for part in _parts(schedule)]
            passes.append(_whole(rehearser.run(parts)))
            if passes[-1].hung:
                break
        progress.step("rehearsal", 2, 2, "passes")
    return Rehearsal(schedule, tuple(passes), planning.verdicts(schedule, passes))


def _parts(schedule: Schedule) -> list[Schedule]:
    if not schedule.processes:
        return [schedule]
    return [replace(schedule, actors=(actor,)) for actor in schedule.actors]


def _whole(answers: list[Pass | str]) -> Pass:
    """One pass of all processes' answers."""
    for answer in answers:
        if isinstance(answer, str):
            raise RehearsalFailedError(answer, hint="name devices that are there: --devices 0,1, or cpu")
    return planning.merged([answer for answer in answers if isinstance(answer, Pass)])
