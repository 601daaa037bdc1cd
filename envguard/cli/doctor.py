"""``envguard doctor``."""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command
from envguard.errors import UsageError

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.lock import Lock

_DEVICE = re.compile(r"cpu|(?:cuda|xpu|hip):\d{1,4}")


def _declare(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    arguments.add_python(parser)
    parser.add_argument(
        "--threads",
        metavar="DEVICE,DEVICE,…",
        help="the device of each thread that computes in one process (cuda:0 for one process a GPU)",
    )
    parser.add_argument("--budget", type=int, metavar="MIB", help="memory the run's own tensors need on a device")
    arguments.add_output(parser)


def _doctor(options: argparse.Namespace) -> int:
    from envguard.adapters.surroundings import RunSurroundings
    from envguard.cli import output, wiring
    from envguard.formats import doctor_report
    from envguard.model.hazards import Topology
    from envguard.operations.doctor import doctor

    threads = _threads(options.threads)
    around = wiring.surroundings()
    lock = _lock(options, around)
    target = wiring.target(options, around)
    with output.Bars(quiet=options.quiet) as progress:
        diagnosis = doctor(
            lock,
            target,
            topology=Topology(threads, options.budget),
            prober=wiring.prober(around),
            surroundings=RunSurroundings(os.environ, around.folder),
            progress=progress,
        )
    if options.format == "json":
        output.print_json(
            doctor_report.document(diagnosis, str(target.python), lock.name if lock is not None else None)
        )
    else:
        output.print_lines(doctor_report.lines(diagnosis, str(target.python), quiet=options.quiet))
    return diagnosis.exit_code


def _threads(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    devices = tuple(part.strip() for part in text.split(","))
    for device in devices:
        if not _DEVICE.fullmatch(device):
            raise UsageError(
                f"not a device: {device[:40]!r}", hint="name one a thread: --threads cuda:0,cuda:0,cuda:1"
            )
    return devices


def _lock(options: argparse.Namespace, around: Surroundings) -> Lock | None:
    """The lock that is meant; without one, the environment alone is looked at."""
    from envguard.adapters.project import LOCKS
    from envguard.cli import wiring

    named = options.lock is not None or around.settings.lock is not None
    if not named and not any((around.root / LOCKS).glob("*.toml")):
        return None
    return wiring.lock(options, around)


DOCTOR = Command("doctor", _declare, _doctor)
