"""The argument parser, made from the commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from envguard import __version__
from envguard.cli.commands import MODULES, command


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parsed arguments, with ``run``. Wrong usage ends the process with code 2, as argparse does."""
    name = _command_in(arguments)
    own, rest = _split(arguments) if name is not None and command(name).takes_command else (arguments, [])
    options = _parser(name).parse_args(own)
    options.command = list(rest)
    return options


def _split(arguments: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """At the first ``--``: argparse itself would take a command's first word for an optional argument."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:place], arguments[place + 1 :]


def _command_in(arguments: Sequence[str]) -> str | None:
    first = next((argument for argument in arguments if not argument.startswith("-")), None)
    return first if first in MODULES else None


def _parser(only: str | None) -> argparse.ArgumentParser:
    """With ``only``, that command and its arguments; without, the list of all, for ``--help`` and wrong usage."""
    parser = argparse.ArgumentParser(
        prog="envguard",
        description="Record the environment of a known-good run, verify it, name what differs, rebuild it.",
        epilog="Exit codes: 0 match, 1 drift, 2 usage or invalid input, 3 could not, 4 unknown, 70 bug.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"envguard {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, entry in MODULES.items():
        if only in (None, name):
            declared = commands.add_parser(name, help=entry.summary, description=entry.summary, allow_abbrev=False)
            if only is not None:
                one = command(name)
                one.declare(declared)
                declared.set_defaults(run=one.run)
    return parser
