"""A later run is slower, takes more memory, or compiles where the recorded one did not.

What drifts: the run log of a later run is held against the run that the lock records: which kinds of
threads computed on which devices, tokens a second, memory on each device, misses in the compile cache,
compiles after the warm-up, attention that ran dense, and how the run ended. Being faster, or needing
less, is no drift. How much slower or larger is allowed stands in the lock, in percent (run.tolerance).

Why it changes a training: all of this can move while every version and file is equal. A cache that was
cleaned, a thread that went to another device, a driver that keeps more memory: the run still starts, and
is slow, or ends hours later out of memory.
Seen in public: https://github.com/pytorch/pytorch/issues/108971 (ranks that compile at other times, until
NCCL gives up), https://github.com/pytorch/pytorch/issues/152528 (dense attention without a word).

How to read it: "cuda:5 24 hits, 0 misses → 0 hits, 24 misses" is a start that found nothing of its cache
on that device. Throughput can only be compared where the program says guard.step(tokens=…).

How to mend it: envguard verify says what moved in the environment, envguard doctor which traps apply;
envguard warmup fills the cache. If the change is meant: envguard snapshot --run LOG --update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envguard.checks.check import Check
from envguard.checks.words import count, few
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Facts
from envguard.model.observed import NOT_ASKED, NOT_RECORDED, Observed

if TYPE_CHECKING:
    from envguard.model.run import Run, RunDevice, RunThread


def sides(recorded: Facts, observed: Facts) -> tuple[Observed[Run], Observed[Run]]:
    """An environment has no run of its own: without a log nothing is asked."""
    return recorded.run, NOT_ASKED if observed.run == NOT_RECORDED else observed.run


def compare(recorded: Run, observed: Run) -> Iterator[Finding]:
    """How it ended, then who computed where, then misses, memory and speed."""
    yield from _ending(observed)
    yield from _build(recorded, observed)
    yield from _topology(recorded, observed)
    yield from _counted(recorded, observed)
    yield from _devices(recorded, observed)
    yield from _speed(recorded, observed)
    for hazard in observed.hazards:
        yield Finding(
            hazard.slug, detail=f"{hazard.detail} ({hazard.times:,}×)", severity=Severity.NOTE, key="run"
        )


def _ending(observed: Run) -> Iterator[Finding]:
    from envguard.model.run import Ending  # where a run is compared: most locks have none

    if observed.stuck:
        yield Finding("tracing flag", detail="was stuck at the end: compiled calls fail or run dense", key="run")
    if observed.ended in (Ending.EXCEPTION, Ending.DEADLINE):
        yield Finding("end", detail=f"{observed.ended.value}: {observed.why or 'no word'}", key="run")
    elif observed.ended is not Ending.EXIT:
        word = observed.why or "it still runs, or was killed without a word"
        yield Finding("end", detail=word, severity=Severity.NOTE, key="run")


def _build(recorded: Run, observed: Run) -> Iterator[Finding]:
    was, now = (f"{run.build} {(run.commit or '')[:10]}" for run in (recorded, observed))
    if recorded.build and observed.build and was != now:
        yield Finding("torch", was, now, "as the run itself saw it", key="run.build")


def _topology(recorded: Run, observed: Run) -> Iterator[Finding]:
    was, now = _kinds(recorded.threads), _kinds(observed.threads)
    if was != now:
        yield Finding("threads", _told(was), _told(now), key="run.threads")
    if recorded.processes != observed.processes:
        yield Finding("processes", str(recorded.processes), str(observed.processes), key="run.processes")


def _kinds(threads: tuple[RunThread, ...]) -> Counter[tuple[str, str]]:
    return Counter((thread.role, thread.device) for thread in threads)


def _told(kinds: Counter[tuple[str, str]]) -> str:
    return few([f"{number}× {role} on {device}" for (role, device), number in sorted(kinds.items())]) or "none"


def _counted(recorded: Run, observed: Run) -> Iterator[Finding]:
    if observed.dense_calls > recorded.dense_calls:
        was, now = (f"{run.dense_calls:,}" for run in (recorded, observed))
        yield Finding("dense attention calls", was, now, key="run.dense-calls")
    if not recorded.warm:
        return
    if not observed.warm:
        yield Finding("warm", detail="guard.warm() was not reached", severity=Severity.UNKNOWN, key="run.warm")
    elif observed.late_compiles > recorded.late_compiles:
        was, now = (f"{run.late_compiles:,}" for run in (recorded, observed))
        yield Finding("compiles after warm", was, now, key="run.late-compiles")


def _devices(recorded: Run, observed: Run) -> Iterator[Finding]:
    here = {device.device: device for device in observed.devices}
    for was in recorded.devices:
        now = here.get(was.device)
        if now is None:
            yield Finding(was.device, "used", "not used", key="run.devices")
            continue
        if now.misses > was.misses:
            yield Finding(was.device, _luck(was), _luck(now), "a start that compiles", _WARM, key="run.devices")
        yield from _memory(was, now, recorded.more_memory)
    for device in sorted(here.keys() - {device.device for device in recorded.devices}):
        yield Finding(device, "not used", "used", key="run.devices")


def _luck(device: RunDevice) -> str:
    misses = "miss" if device.misses == 1 else "misses"
    return f"{count(device.hits, 'hit')}, {device.misses:,} {misses}"


def _memory(was: RunDevice, now: RunDevice, more: int) -> Iterator[Finding]:
    for what, before, after in (
        ("peak memory", was.peak_mib, now.peak_mib),
        ("memory held", was.reserved_mib, now.reserved_mib),
        ("context", was.context_mib, now.context_mib),
    ):
        if before is None:
            continue
        if after is None:
            yield Finding(
                f"{was.device} {what}", detail="not in the log", severity=Severity.UNKNOWN, key="run.devices"
            )
        elif after * 100 > before * (100 + more):
            told = f"{after * 100 // before - 100} % more, {more} % allowed" if before else None
            yield Finding(f"{was.device} {what}", f"{before:,} MiB", f"{after:,} MiB", told, key="run.devices")


def _speed(recorded: Run, observed: Run) -> Iterator[Finding]:
    was, now = recorded.tokens_per_second, observed.tokens_per_second
    if was is None:
        return
    if now is None:
        detail = "the program told none: guard.step(tokens=…)"
        yield Finding("tokens/s", detail=detail, severity=Severity.UNKNOWN, key="run.tokens-per-second")
    elif now * 100 < was * (100 - recorded.slower):
        told = f"{100 - now * 100 // was} % slower, {recorded.slower} % allowed"
        yield Finding("tokens/s", f"{was:,}", f"{now:,}", told, key="run.tokens-per-second")


_WARM = "envguard warmup compiles beforehand; envguard cache explain says more"

CHECK = Check(
    slug="run",
    explanation=__doc__,
    section=lambda facts: facts.run,
    compare=compare,
    show=lambda run: count(len(run.threads), "thread"),
    sides=sides,
)
