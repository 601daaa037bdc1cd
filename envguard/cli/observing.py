"""What is observed beside an environment at rest: a process that runs (``--pid``), a run's logs (``--run``)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.errors import UsageError

if TYPE_CHECKING:
    from envguard.adapters.live_process import LiveProcess
    from envguard.adapters.prober import EnvironmentProber
    from envguard.cli.wiring import Surroundings
    from envguard.model.run import Run
    from envguard.model.target import Target
    from envguard.ports import Prober


def add_pid(parser: argparse.ArgumentParser) -> None:
    """``--pid``."""
    parser.add_argument(
        "--pid",
        type=int,
        metavar="PID",
        help="a run that is good now: its Python, variables, folder and compile cache, as /proc tells",
    )


def add_run(parser: argparse.ArgumentParser, what: str) -> None:
    """``--run``."""
    parser.add_argument("--run", dest="run_log", type=Path, metavar="LOG", help=what)


def process_of(options: argparse.Namespace) -> LiveProcess | None:
    """The process that ``--pid`` names."""
    if options.pid is None:
        return None
    if options.python is not None:
        raise UsageError("--pid and --python both name a target", hint="leave one of them out")
    from envguard.adapters.live_process import look

    return look(options.pid)


def target_of(options: argparse.Namespace, around: Surroundings, process: LiveProcess | None) -> Target:
    """The process's environment, else the one that is meant."""
    from envguard.cli import wiring
    from envguard.model.target import Target

    if process is None:
        return wiring.target(options, around)
    return Target(process.python, f"process {process.pid}")


def run_of(options: argparse.Namespace, *, good: bool = False) -> Run | None:
    """The run that ``--run`` tells of. UsageError; SnapshotRefusedError for one that isn't ``good``."""
    if options.run_log is None:
        return None
    from envguard.adapters import run_logs
    from envguard.errors import SnapshotRefusedError
    from envguard.planning import run_logs as planning

    run = planning.run_of(run_logs.read(options.run_log))
    if run is None:
        raise UsageError("these logs tell of no run", where=str(options.run_log))
    reason = planning.not_good(run) if good else None
    if reason is not None:
        raise SnapshotRefusedError(f"this run can't stand for a good one: {reason}", where=str(options.run_log))
    return run


def remarks_of(process: LiveProcess | None, run: Run | None) -> tuple[str, ...]:
    """What a human should know of them."""
    from envguard.planning import run_logs

    return (
        *(process.remarks if process is not None else ()),
        *(run_logs.remarks_of(run) if run is not None else ()),
    )


def prober_of(prober: EnvironmentProber, process: LiveProcess | None, run: Run | None) -> Prober:
    """A prober that looks with the process's variables and folder, and adds the run."""
    looking = prober
    if process is not None:
        looking = replace(
            prober,
            environ=process.environ,
            working_folder=process.folder,
            cache=prober.cache or process.cache,
            own=None,
            source="process",
        )
    if run is None:
        return looking
    from envguard.operations.run import WithRun

    return WithRun(looking, run)
