"""What a run's logs come to, and which run a lock gets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from envguard.model.cache import device_order
from envguard.model.facts import Facts
from envguard.model.observed import NOT_RECORDED, Observed, Value, value_or_none
from envguard.model.run import (
    Ending,
    LoggedCounts,
    LoggedHazard,
    LoggedMemory,
    Run,
    RunDevice,
    RunLog,
    RunThread,
    role_of,
)

_MIB = 1 << 20
_NATIVE = "native-"
"""Threads of the autograd engine: their numbers are others in each run."""
_LAUNCHERS = frozenset({"launcher", "compile-worker"})
_GRAVEST = (Ending.EXCEPTION, Ending.DEADLINE, Ending.SIGNAL, Ending.RUNNING, Ending.EXIT)


def run_of(logs: Iterable[RunLog]) -> Run | None:
    """One run from the logs of all its processes; None where none of them computed or was told of."""
    every = tuple(logs)
    own = [log for log in every if log.role not in _LAUNCHERS] or list(every)
    if not own:
        return None
    own.sort(key=lambda log: (log.rank is None, log.rank or 0))
    first = own[0]
    worst = min(own, key=lambda log: _GRAVEST.index(log.ending))
    rates = [step.rate for log in own for step in log.steps if step.rate is not None]
    return Run(
        build=first.build,
        commit=first.commit,
        threads=tuple(_threads(own)),
        devices=tuple(_devices(own)),
        processes=len(own),
        warm=any(log.warm for log in own),
        late_compiles=sum(count.late for log in own for count in log.counts),
        dense_calls=sum(count.dense for log in own for count in log.counts),
        tokens_per_second=round(sum(rates)) if rates else None,
        ended=worst.ending,
        why=worst.detail,
        stuck=any(log.stuck for log in own),
        hazards=tuple(_hazards(own)),
    )


def _threads(logs: Sequence[RunLog]) -> Iterator[RunThread]:
    for number, log in enumerate(logs):
        rates = {(step.thread, step.device): step.rate for step in log.steps}
        named = [(thread, device) for thread, device in log.threads if not thread.startswith(_NATIVE)]
        for thread, device in sorted(named, key=lambda pair: (role_of(pair[0]), device_order(pair[1]), pair[0])):
            rate = rates.get((thread, device))
            process = log.rank if log.rank is not None else number
            yield RunThread(role_of(thread), device, process, round(rate) if rate is not None else None)


def _devices(logs: Sequence[RunLog]) -> Iterator[RunDevice]:
    counts: dict[str, list[LoggedCounts]] = {}
    memory: dict[str, list[LoggedMemory]] = {}
    for log in logs:
        for count in log.counts:
            counts.setdefault(count.device, []).append(count)
        for row in log.memory:
            memory.setdefault(row.device, []).append(row)
    for device in sorted(counts.keys() | memory.keys(), key=device_order):
        seen, rows = counts.get(device, ()), memory.get(device, ())
        yield RunDevice(
            device,
            hits=sum(count.hits for count in seen),
            misses=sum(count.misses for count in seen),
            bypasses=sum(count.bypasses for count in seen),
            peak_mib=_most(row.allocated for row in rows),
            reserved_mib=_most(row.reserved for row in rows),
            context_mib=_most(row.context for row in rows if row.context is not None),
        )


def _most(amounts: Iterable[int]) -> int | None:
    """The largest, in MiB, rounded up: it is to be room enough."""
    largest = max(amounts, default=None)
    return None if largest is None else max(0, -(-largest // _MIB))


def _hazards(logs: Sequence[RunLog]) -> Iterator[LoggedHazard]:
    times: dict[tuple[str, str], int] = {}
    for log in logs:
        for hazard in log.hazards:
            times[hazard.slug, hazard.detail] = times.get((hazard.slug, hazard.detail), 0) + hazard.times
    return (LoggedHazard(slug, detail, number) for (slug, detail), number in times.items())


def run_to_record(before: Facts, seen: Facts) -> Observed[Run]:
    """The run that a lock gets: the one told now, else the one before as long as torch is the same.

    What a run may differ by is a human's to say, so it stays.
    """
    was = value_or_none(before.run)
    if isinstance(seen.run, Value):
        if was is None:
            return seen.run
        return Value(replace(seen.run.value, slower=was.slower, more_memory=was.more_memory))
    return before.run if before.torch == seen.torch else NOT_RECORDED


def remarks_of(run: Run) -> tuple[str, ...]:
    """What is to be said of a run that is recorded, though it may stand for a good one."""
    remarks = []
    cold = [device.device for device in run.devices if device.misses]
    if cold:
        remarks.append(f"the run compiled on {', '.join(cold)}: a second start, on the warm cache, says more")
    if run.tokens_per_second is None:
        remarks.append("the run told no throughput: guard.step(tokens=…) after each step does")
    if run.ended is not Ending.EXIT:
        remarks.append(f"the run did not end by itself: {run.why or run.ended.value}")
    return tuple(remarks)


def not_good(run: Run) -> str | None:
    """Why a run can't stand for a good one; None when it can."""
    if run.ended in (Ending.EXCEPTION, Ending.DEADLINE):
        return f"it ended with {run.ended.value}: {run.why or 'no word'}"
    if run.stuck:
        return "torch's tracing flag was stuck at its end"
    if not run.threads:
        return "no thread computed in it (was torch imported, and did anything compile or step?)"
    return None
