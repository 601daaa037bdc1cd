"""From a topology to who starts when, and from what was seen to a verdict a hazard."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from envguard.errors import UsageError
from envguard.model.rehearsal import Actor, Outcome, Pass, Schedule, Verdict
from envguard.model.run import Run
from envguard.model.warmup import FlexAttention, Recipe

STAGGER = 0.35
"""Seconds between starts. All at once behind a barrier the race does not show: every thread is in before the flag
rises."""
_TOPOLOGY = re.compile(r"(?:[1-9]\d?[a-z])+")
_GROUP = re.compile(r"(\d+)([a-z])")
_ROLES = {"t": "target", "d": "drafter"}
_MOST = 64
_RACE = "using FX to symbolically trace"
_MASK = "KeyError: 'custom'"
"""A block mask was made while another thread traced (torch.fx.traceback.annotate, 2.13)."""
_GATE = "with guard.first_step(device): around each thread's first forward and backward"


def actors_of(topology: str, devices: Sequence[str]) -> tuple[Actor, ...]:
    """``5t3d`` on devices: one each while they last, then from the first again. UsageError."""
    if not _TOPOLOGY.fullmatch(topology):
        raise UsageError(f"not a topology: {topology[:40]!r}", hint="5t3d means five targets and three drafters")
    roles = [
        f"{_ROLES.get(letter, letter)}-{number}"
        for count, letter in _GROUP.findall(topology)
        for number in range(int(count))
    ]
    if len(roles) > _MOST:
        raise UsageError(f"{len(roles)} threads are too many to rehearse", hint=f"{_MOST} at most")
    placed = [(role, devices[place % len(devices)]) for place, role in enumerate(roles)]
    return _staggered(placed)


def actors_of_run(run: Run, devices: Sequence[str] = ()) -> tuple[tuple[Actor, ...], bool]:
    """As a recorded run had them, or the same on other devices; and whether each was a process of its own."""
    alone = Counter(thread.process for thread in run.threads)
    processes = len(alone) > 1 and max(alone.values()) == 1
    threads = list(run.threads)
    if not processes and threads:
        largest = max(alone, key=lambda process: alone[process])
        threads = [thread for thread in threads if thread.process == largest]
    numbers: Counter[str] = Counter()
    placed = []
    for place, thread in enumerate(threads):
        device = devices[place % len(devices)] if devices else thread.device
        placed.append((f"{thread.role}-{numbers[thread.role]}", device))
        numbers[thread.role] += 1
    return _staggered(placed), processes


def workload_of(recipe: Recipe | None, devices: Sequence[str]) -> FlexAttention:
    """The recipe's own, else a small one."""
    if recipe is not None and recipe.workload is not None:
        return recipe.workload
    if all(device == "cpu" for device in devices):
        return FlexAttention(lengths=(128,), heads=2, head_size=32, dtype="float32")
    return FlexAttention(lengths=(1024,), heads=4)


def verdicts(schedule: Schedule, passes: Sequence[Pass]) -> tuple[Verdict, ...]:
    """One a hazard, gravest first."""
    return tuple(sorted((rule(schedule, passes) for rule in _RULES), key=_gravity))


def merged(parts: Sequence[Pass]) -> Pass:
    """The processes of one pass as one."""
    errors: Counter[str] = Counter()
    for part in parts:
        errors.update(part.errors)
    hung = [part for part in parts if part.hung]
    return Pass(
        warm=parts[0].warm,
        seconds=max(part.seconds for part in parts),
        errors=dict(errors),
        stuck=any(part.stuck for part in parts),
        flag=parts[0].flag,
        build=parts[0].build,
        hung=hung[0].hung if hung else None,
        stacks="\n".join(part.stacks for part in hung),
        calls=sum(part.calls for part in parts),
        hits=sum(part.hits for part in parts),
        misses=sum(part.misses for part in parts),
        bypasses=sum(part.bypasses for part in parts),
        compiles=sum(part.compiles for part in parts),
        traces=sum(part.traces for part in parts),
        dense=sum(part.dense for part in parts),
    )


def _staggered(placed: Sequence[tuple[str, str]]) -> tuple[Actor, ...]:
    return tuple(Actor(name, device, round(place * STAGGER, 2)) for place, (name, device) in enumerate(placed))


def _gravity(verdict: Verdict) -> int:
    return list(Outcome).index(verdict.outcome)


def _which(one: Pass) -> str:
    return "warm" if one.warm else "cold"


def _each(passes: Sequence[Pass], told: Callable[[Pass], object]) -> str:
    return ", ".join(f"{_which(one)} {told(one)}" for one in passes)


def _race(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    counts = [sum(times for text, times in one.errors.items() if _RACE in text) for one in passes]
    told = ", ".join(
        f"{_which(one)} {count} errors in {one.calls} calls of what was compiled before"
        for one, count in zip(passes, counts, strict=True)
    )
    if any(counts):
        return Verdict("tracing-flag", Outcome.SEEN, told, _cure(schedule, "one process per device"))
    if not schedule.guard and any(one.traces and one.flag == "process" for one in passes):
        detail = (
            f"{told}; the flag is the whole process's, and rose: {_each(passes, lambda one: one.traces)} times"
        )
        return Verdict("tracing-flag", Outcome.NOTE, detail, _cure(schedule, ""))
    return Verdict("tracing-flag", Outcome.CLEAR, told)


def _cure(schedule: Schedule, otherwise: str) -> str:
    return otherwise if schedule.guard else "envguard run LOCK -- COMMAND"


def _deadlock(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    hung = [one for one in passes if one.hung]
    if hung:
        detail = f"{_which(hung[0])}: {hung[0].hung} did not end within {schedule.deadline:g} s"
        return Verdict("shared-device", Outcome.SEEN, detail, None if schedule.guard else _GATE)
    gate = ", each first step inside guard.first_step" if schedule.guard else ""
    return Verdict("shared-device", Outcome.CLEAR, f"all first steps ended{gate}")


def _others(_: Schedule, passes: Sequence[Pass]) -> Verdict:
    found = [
        f"{times} × {text} ({_which(one)})"
        for one in passes
        for text, times in one.errors.items()
        if _RACE not in text and text != _MASK
    ]
    if found:
        return Verdict("errors", Outcome.SEEN, "; ".join(found[:5]))
    return Verdict("errors", Outcome.CLEAR, "no thread failed otherwise")


def _masks(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    counts = [one.errors.get(_MASK, 0) for one in passes]
    told = f"{', '.join(f'{_which(one)} {count}' for one, count in zip(passes, counts, strict=True))} lost masks"
    if any(counts):
        do = _cure(schedule, "make block masks once, before the threads start")
        return Verdict("block-mask", Outcome.SEEN, f"{told}: one thread made a mask while another traced", do)
    return Verdict("block-mask", Outcome.CLEAR, told)


def _dense(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    told = f"{_each(passes, lambda one: one.dense)} dense calls"
    if any(one.dense for one in passes):
        return Verdict("dense-attention", Outcome.SEEN, told, _cure(schedule, ""))
    return Verdict("dense-attention", Outcome.CLEAR, told)


def _sticky(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    stuck = [_which(one) for one in passes if one.stuck]
    if stuck:
        detail = f"up at the end ({', '.join(stuck)}), though nothing traced"
        return Verdict("sticky-flag", Outcome.SEEN, detail, _cure(schedule, ""))
    return Verdict("sticky-flag", Outcome.CLEAR, "down at the end")


def _compiles(_: Schedule, passes: Sequence[Pass]) -> Verdict:
    """A second start must find everything; hung passes found what they could."""
    told = _each(passes, lambda one: f"{one.hits} hits, {one.misses} misses, {one.bypasses} bypasses")
    ended = [one for one in passes if one.warm and not one.hung]
    if any(one.misses for one in ended):
        return Verdict("compiles", Outcome.SEEN, told, "envguard warmup LOCK")
    if any(one.bypasses for one in ended):
        return Verdict("compiles", Outcome.NOTE, told)
    if not ended:
        return Verdict("compiles", Outcome.NOTE, f"{told}; no warm pass ended")
    return Verdict("compiles", Outcome.CLEAR, told)


def _traces(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    told = f"{_each(passes, lambda one: one.traces)} FX traces, flag kept per thread by {_keeper(passes)}"
    exposed = any(one.warm and one.traces for one in passes) and not schedule.guard
    return Verdict("fx-traces", Outcome.NOTE if exposed else Outcome.CLEAR, told)


def _keeper(passes: Sequence[Pass]) -> str:
    names = {"guard": "the guard", "torch": "torch"}
    return names.get(passes[0].flag, "nobody") if passes else "nobody"


def _unguarded(schedule: Schedule, passes: Sequence[Pass]) -> Verdict:
    flags = {one.flag for one in passes if not (one.hung and one.flag == "not seen")}
    if schedule.guard and flags - {"guard", "torch"}:
        detail = f"the guard does not know this build: {', '.join(sorted(flags))}"
        return Verdict("unknown-build", Outcome.SEEN, detail, "one process per device")
    return Verdict(
        "unknown-build", Outcome.CLEAR, "the guard is off" if not schedule.guard else "the guard is in place"
    )


_RULES = (_deadlock, _race, _sticky, _dense, _masks, _unguarded, _others, _compiles, _traces)
