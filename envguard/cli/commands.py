"""All subcommands, in the order of ``--help``. A command's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from envguard.cli.command import Command

MODULES: Mapping[str, str] = {
    "init": "init",
    "snapshot": "snapshot",
    "verify": "verify",
    "diff": "verify",
    "lint": "lint",
    "run": "run",
    "restore": "restore",
    "list": "restore",
    "rollback": "restore",
    "prune": "restore",
    "store": "store",
    "export": "export",
    "explain": "verify",
    "doctor": "doctor",
    "inspect": "inspect",
    "find": "inspect",
    "identify": "inspect",
    "challenge": "inspect",
    "cache": "cache",
    "warmup": "warmup",
    "demo": "demo",
}
"""Command → module of ``envguard.cli``, which has it under its name in capitals."""


def command(name: str) -> Command:
    """One command. KeyError when there is none of that name."""
    found: Command = getattr(import_module(f"envguard.cli.{MODULES[name]}"), name.upper())
    return found


def all_commands() -> Iterator[Command]:
    """Every command."""
    return (command(name) for name in MODULES)
