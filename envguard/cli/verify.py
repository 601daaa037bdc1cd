"""``envguard verify``, ``diff`` and ``explain``."""

from __future__ import annotations

import argparse
from pathlib import Path

from envguard.cli import arguments
from envguard.cli.command import Command


def _declare_verify(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    arguments.add_python(parser)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument("--full", action="store_true", help="hash every file, hold bytecode against its source")
    depth.add_argument("--metadata", action="store_true", help="look at no files beside RECORDs")
    parser.add_argument("--live", action="store_true", help="also import torch in a child and take its own view")
    arguments.add_policy(parser)
    arguments.add_output(parser)


def _verify(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.model.target import Level
    from envguard.operations.verify import verify

    around = wiring.surroundings()
    lock = wiring.lock(options, around)
    target = wiring.target(options, around)
    level = Level.FULL if options.full else Level.METADATA if options.metadata else Level.FAST
    if options.python is None:
        output.say(f"target: {target.python} ({target.chosen})", quiet=options.quiet)
    with output.Bars(quiet=options.quiet) as progress:
        report = verify(
            lock,
            target,
            level=level,
            policy=wiring.policy(options, around),
            today=wiring.today(),
            prober=wiring.prober(around, live=options.live),
            store=wiring.store(),
            progress=progress,
        )
    output.print_report(report, form=options.format, quiet=options.quiet)
    return report.exit_code


def _declare_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", type=Path, metavar="A", help="a lock file")
    parser.add_argument("new", type=Path, metavar="B", help="another")
    arguments.add_policy(parser)
    arguments.add_output(parser)


def _diff(options: argparse.Namespace) -> int:
    from envguard.adapters.project import load_lock
    from envguard.cli import output, wiring
    from envguard.operations.verify import diff

    around = wiring.surroundings()
    report = diff(
        load_lock(options.old)[0],
        load_lock(options.new)[0],
        policy=wiring.policy(options, around),
        today=wiring.today(),
        store=wiring.store(),
    )
    output.print_report(report, form=options.format, quiet=options.quiet)
    return report.exit_code


def _declare_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", nargs="?", metavar="CHECK", help="a check's name; left out: a list of all")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="form of the result on stdout")


def _explain(options: argparse.Namespace) -> int:
    from envguard.checks import CHECKS
    from envguard.cli import output
    from envguard.errors import UsageError

    texts = {check.slug: (check.explanation or "").strip() for check in CHECKS}
    if options.check is not None and options.check not in texts:
        raise UsageError(
            f"no check is called {options.check[:60]}", hint=f"the checks are {', '.join(sorted(texts))}"
        )
    shown = texts if options.check is None else {options.check: texts[options.check]}
    if options.format == "json":
        output.print_json({"schema": "envguard-explain-1", "checks": shown})
    elif options.check is None:
        output.print_lines(f"{slug:<16} {text.splitlines()[0]}" for slug, text in shown.items())
    else:
        output.print_lines(texts[options.check].splitlines())
    return 0


VERIFY = Command(
    "verify", "Hold an environment against a lock and say by name what differs.", _declare_verify, _verify
)
DIFF = Command("diff", "Hold one lock against another.", _declare_diff, _diff)
EXPLAIN = Command(
    "explain", "Say what a check looks at, why it matters, and how to mend it.", _declare_explain, _explain
)
