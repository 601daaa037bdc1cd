"""``envguard init``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.operations.init import Looked
    from envguard.planning.init import Change


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.add_argument("--name", help="name of the lock (default: the project's)")
    arguments.add_python(parser)
    parser.add_argument("--offline", action="store_true", help="ask no index while the first lock is made")
    arguments.add_output(parser)


def _run(options: argparse.Namespace) -> int:
    from envguard import __version__
    from envguard.adapters.project_folder import Folder
    from envguard.cli import output, wiring
    from envguard.operations.init import look, write

    around = wiring.surroundings()
    folder = Folder(around.folder)
    looked = look(folder, name=options.name, version=__version__)
    source = None if looked.has_lock else _source(options, around, looked)
    if options.format == "text" and not (options.quiet and options.yes):
        output.print_lines(line for change in looked.proposal.changes for line in _diff(change))
    for note in looked.proposal.notes:
        output.say(f"note: {note}", quiet=options.quiet)
    nothing = not looked.proposal.changes and source is None
    agreed = nothing or _agreed(options, looked, source)
    if agreed and source is not None:
        _first_lock(options, looked, source)
    if agreed:
        write(looked.proposal, folder)
    _tell(options, looked, source, written=agreed and not nothing)
    return 0 if agreed else 1


def _source(options: argparse.Namespace, around: Surroundings, looked: Looked) -> list[str] | None:
    """What a first lock is made from: arguments of snapshot; None where there is nothing to make one from."""
    from envguard.cli import output, wiring
    from envguard.errors import EnvguardError

    try:
        target = wiring.target(options, around)
    except EnvguardError:
        if options.python is not None:
            raise
    else:
        return ["--python", str(target.python)]
    if looked.claiming:
        return ["--from", looked.claiming[0]]
    output.say(
        "note: neither an environment nor another tool's lock file here: make one, then envguard snapshot",
        quiet=options.quiet,
    )
    return None


def _first_lock(options: argparse.Namespace, looked: Looked, source: list[str]) -> None:
    """Before anything else is written: where this fails, the project is as it was."""
    from envguard.cli import output
    from envguard.cli.parser import parse
    from envguard.errors import LockInvalidError

    more = ["--offline"] if options.offline else []
    snapshot = parse(["snapshot", "-o", looked.lock, *source, *more, "--quiet"])
    try:
        snapshot.run(snapshot)
    except LockInvalidError as problem:
        if source[0] != "--from":
            raise
        output.say(f"note: no first lock from {source[1]}: {problem.message}", quiet=options.quiet)


def _agreed(options: argparse.Namespace, looked: Looked, source: list[str] | None) -> bool:
    from envguard.cli import output

    if options.yes:
        return True
    if options.format == "json":
        return False
    what = [change.path for change in looked.proposal.changes]
    if source is not None:
        what.append(f"{looked.lock} (from {source[1]})")
    if not sys.stdin.isatty():
        output.say(f"nothing was written; to write {', '.join(what)}: envguard init --yes")
        return False
    sys.stderr.write(f"write {', '.join(what)}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _diff(change: Change) -> Iterator[str]:
    import difflib

    old = "/dev/null" if change.before is None else f"a/{change.path}"
    before, after = (change.before or "").splitlines(), change.after.splitlines()
    yield from difflib.unified_diff(before, after, old, f"b/{change.path}", lineterm="")


def _tell(options: argparse.Namespace, looked: Looked, source: list[str] | None, *, written: bool) -> None:
    from envguard.cli import output

    changes = looked.proposal.changes
    if options.format == "json":
        output.print_json(
            {
                "schema": "envguard-init-1",
                "written": written,
                "lock": looked.lock,
                "lock-from": source[1] if source else None,
                "changes": [
                    {"path": change.path, "new": change.before is None, "diff": list(_diff(change))}
                    for change in changes
                ],
                "notes": list(looked.proposal.notes),
            }
        )
    elif not changes and source is None:
        output.say("nothing to do: the project has it all", quiet=options.quiet)
    elif written and not options.quiet:
        output.print_lines([f"{change.path} written" for change in changes])
        output.say("commit these files; the hook is put in place by: pre-commit install")


INIT = Command("init", _declare, _run)
"""Shows a diff and asks; nothing is overwritten."""
