"""All subcommands, in the order of ``--help``. A command's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from envguard.cli.command import Command


class Entry(NamedTuple):
    """Where a command is, and what ``--help`` says of it: a listing needs no command's module."""

    module: str
    """Of ``envguard.cli``; it has the command under its name in capitals."""
    summary: str


MODULES: Mapping[str, Entry] = {
    "init": Entry("init", "Give a project its settings, hook, CI job and first lock."),
    "snapshot": Entry("snapshot", "Record an environment that is known to be good."),
    "verify": Entry("verify", "Hold an environment against a lock and say by name what differs."),
    "diff": Entry("verify", "Hold one lock against another."),
    "lint": Entry("lint", "Hold lock files against themselves and against what the project declares."),
    "run": Entry("run", "Look before a start, then run a command with the guard."),
    "restore": Entry("restore", "Build a recorded environment again, prove it, switch to it."),
    "list": Entry("restore", "The environments that restore made."),
    "rollback": Entry("restore", "Make a target lead to what it led to before."),
    "prune": Entry("restore", "Remove environments that nothing leads to, now or by one rollback."),
    "store": Entry("store", "Look after the archive: list, check, repair, collect."),
    "export": Entry("export", "Write a lock as a file that other tools install from."),
    "explain": Entry("verify", "Say what a check looks at, why it matters, and how to mend it."),
    "doctor": Entry("doctor", "List the known traps that apply to an environment, worst first."),
    "inspect": Entry("inspect", "Say which build a wheel is, without downloading it: commit, CUDA, pins."),
    "find": Entry("inspect", "Find the builds of a git commit on the indexes."),
    "identify": Entry(
        "inspect", "Name the wheel of every distribution, installed or in a lock, with its evidence."
    ),
    "challenge": Entry("inspect", "Say whether indexes still have the wheels of a lock, and what changed inside."),
    "cache": Entry("cache", "Look into the compile cache, keep it, put it back: show, explain, save, load."),
    "warmup": Entry("warmup", "Compile beforehand what a run needs, and prove that a start now loads it."),
    "demo": Entry("demo", "Show the main job on a real torch environment: record, break, verify, restore."),
}


def command(name: str) -> Command:
    """One command. KeyError when there is none of that name."""
    found: Command = getattr(import_module(f"envguard.cli.{MODULES[name].module}"), name.upper())
    return found


def all_commands() -> Iterator[Command]:
    """Every command."""
    return (command(name) for name in MODULES)
