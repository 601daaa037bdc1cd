"""``envguard warmup --rehearse``: its arguments, and what it does."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from envguard.errors import UsageError

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.lock import Lock
    from envguard.model.rehearsal import Schedule

_DEADLINE = 120.0
"""Seconds for each part of a pass, after which it counts as hung."""


def declare_rehearse(parser: argparse.ArgumentParser) -> None:
    """``--rehearse`` and what belongs to it; ``--devices``, ``--deadline`` and ``--launch`` are warmup's own."""
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="instead: start the run's own threads over a cold and a warm cache, and say what goes wrong",
    )
    parser.add_argument(
        "--topology", metavar="5t3d", help="with --rehearse: threads to start (default: the lock's run)"
    )
    parser.add_argument(
        "--no-guard", action="store_true", help="with --rehearse: what would happen without the guard"
    )


def run_rehearse(options: argparse.Namespace) -> int:
    """Rehearse, print, and answer with the exit code: 0 nothing seen, 1 something, 3 it could not be had."""
    from envguard.adapters.rehearser import TargetRehearser
    from envguard.cli import output, wiring
    from envguard.formats import rehearsal as form
    from envguard.operations.rehearse import rehearse

    around = wiring.surroundings()
    lock = _lock(options, around)
    schedule = _schedule(options, lock)
    target = wiring.target(options, around)
    with output.Bars(quiet=options.quiet) as progress:
        rehearsed = rehearse(
            target, schedule, rehearser=TargetRehearser(os.environ, around.folder), progress=progress
        )
    name = lock.name if lock is not None else options.topology
    if options.format == "json":
        output.print_json(form.document(rehearsed, name))
    else:
        output.print_lines(form.lines(rehearsed, name, quiet=options.quiet))
    return rehearsed.exit_code


def _lock(options: argparse.Namespace, around: Surroundings) -> Lock | None:
    """The lock that is meant; with a topology on the command line none is needed."""
    from envguard.cli import wiring

    if options.topology is not None and options.lock is None:
        return None
    return wiring.lock(options, around)


def _schedule(options: argparse.Namespace, lock: Lock | None) -> Schedule:
    from envguard.cli.cache import devices_of
    from envguard.model.observed import value_or_none
    from envguard.model.rehearsal import Schedule
    from envguard.planning import rehearsal as planning

    devices = devices_of(options.devices)
    run = value_or_none(lock.facts.run) if lock is not None else None
    processes = options.launch == "per-device"
    if options.topology is not None:
        actors = planning.actors_of(options.topology, devices or _recorded(lock))
    elif run is not None and run.threads:
        actors, recorded = planning.actors_of_run(run, devices)
        processes = processes or (recorded and options.launch != "threads")
    else:
        raise UsageError(
            "the lock records no run to rehearse", hint="name its threads: --topology 5t3d --devices 0,1"
        )
    recipe = lock.warmup.recipe if lock is not None and lock.warmup is not None else None
    workload = planning.workload_of(recipe, [actor.device for actor in actors])
    return Schedule(actors, workload, not options.no_guard, processes, options.deadline or _DEADLINE)


def _recorded(lock: Lock | None) -> tuple[str, ...]:
    """Devices of the lock's machine."""
    from envguard.model.observed import value_or_none

    gpus = value_or_none(lock.facts.gpus) if lock is not None else None
    if not gpus:
        raise UsageError("which devices the threads share is not told", hint="--devices 0,1 (or cpu)")
    return tuple(f"cuda:{gpu.index}" for gpu in gpus)
