"""The answer of a rehearsal's process, and what a rehearsal prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from envguard.model.rehearsal import Outcome, Pass, Rehearsal, Schedule

SCHEMA = "envguard-rehearsal-1"
_FAILURES = {
    "no-device": "there is no {}",
    "too-old": "the target is Python {}, and 3.9 is needed",
    "failed": "the rehearsal could not start: {}",
}


def read_pass(answer: str, *, warm: bool) -> Pass | str:
    """What a process saw, or why there is nothing."""
    try:
        document = json.loads(answer)
        failure = document.get("failure")
        if failure:
            form = _FAILURES.get(failure["kind"], "the rehearsal failed: {}")
            return form.format(str(failure["detail"])[:300])
        return _pass(document, warm)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "the rehearsal's answer can't be read"


def plan_text(schedule: Schedule) -> str:
    """What a process is told."""
    load = schedule.workload
    return json.dumps(
        {
            "actors": [
                {"name": actor.name, "device": actor.device, "delay": actor.delay} for actor in schedule.actors
            ],
            "workload": {
                "lengths": list(load.lengths),
                "batch": load.batch,
                "heads": load.heads,
                "kv_heads": load.kv_heads,
                "head_size": load.head_size,
                "dtype": load.dtype,
                "backward": load.backward,
            },
            "deadline": schedule.deadline,
        }
    )


def lines(rehearsal: Rehearsal, name: str, *, quiet: bool) -> Iterator[str]:
    """A line a hazard, worst first; the stacks of what hung; then one line that sums up."""
    seen = [verdict for verdict in rehearsal.verdicts if verdict.outcome is Outcome.SEEN]
    if quiet and not seen:
        return
    for verdict in rehearsal.verdicts:
        yield f"{verdict.outcome.value:<6} {verdict.hazard:<16} {verdict.detail}"
        if verdict.do:
            yield f"       do: {verdict.do}"
    for one in rehearsal.passes:
        if one.stacks:
            yield f"stacks of all threads, {'warm' if one.warm else 'cold'}:"
            yield from one.stacks.splitlines()
    schedule = rehearsal.schedule
    kind = "processes" if schedule.processes else "threads"
    guard = "with the guard" if schedule.guard else "without the guard"
    seconds = sum(one.seconds for one in rehearsal.passes)
    told = f"{len(seen)} seen" if seen else "nothing seen"
    who = f"{len(schedule.actors)} {kind} on {', '.join(schedule.devices)}"
    yield f"{told}   {name}, {who}, {guard}, {seconds:.0f} s"


def document(rehearsal: Rehearsal, name: str) -> dict[str, Any]:
    """The same as JSON."""
    schedule = rehearsal.schedule
    return {
        "schema": SCHEMA,
        "lock": name,
        "exit_code": rehearsal.exit_code,
        "guard": schedule.guard,
        "processes": schedule.processes,
        "actors": [{"name": actor.name, "device": actor.device} for actor in schedule.actors],
        "verdicts": [
            {"hazard": one.hazard, "outcome": one.outcome.value, "detail": one.detail, "do": one.do}
            for one in rehearsal.verdicts
        ],
        "passes": [_pass_document(one) for one in rehearsal.passes],
    }


def _pass(document: Mapping[str, Any], warm: bool) -> Pass:
    totals = document["totals"]
    return Pass(
        warm=warm,
        seconds=float(document["seconds"]),
        calls=int(document["calls"]),
        errors={str(text): int(times) for text, times in document["errors"].items()},
        hits=totals["autograd_hits"],
        misses=totals["autograd_misses"],
        bypasses=totals["autograd_bypasses"],
        compiles=totals["compiles"],
        traces=totals["fx_traces"],
        dense=totals["dense_calls"],
        stuck=bool(document["stuck"]),
        flag=str(document["flag"]),
        build=document["build"],
        hung=document["hung"],
        stacks=str(document["stacks"]),
    )


def _pass_document(one: Pass) -> dict[str, Any]:
    return {
        "cache": "warm" if one.warm else "cold",
        "seconds": one.seconds,
        "calls": one.calls,
        "errors": dict(one.errors),
        "hits": one.hits,
        "misses": one.misses,
        "bypasses": one.bypasses,
        "compiles": one.compiles,
        "fx_traces": one.traces,
        "dense_calls": one.dense,
        "flag": one.flag,
        "flag_stuck": one.stuck,
        "torch": one.build,
        "hung": one.hung,
        "stacks": one.stacks,
    }
