"""``envguard lint``."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.policy import Ignore
    from envguard.operations.lint import Linted, LockText

FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab")


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="lock files, or declaring files (pyproject.toml, uv.lock, requirements.txt, …) whose locks are meant "
        "(default: the project's locks)",
    )
    parser.add_argument("--fix", action="store_true", help="rewrite what is not in the form that envguard writes")
    parser.add_argument("--all-files", action="store_true", help="every lock below this folder")
    parser.add_argument(
        "--hook", action="store_true", help="pass over files that are no lock; no lock at all is no error"
    )
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    arguments.add_baseline(parser, write=False)
    arguments.add_formats(parser, FORMATS)


def _run(options: argparse.Namespace) -> int:
    # A tenth of a second that only adds objects: looking for cycles among them takes a quarter of it.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _lint(options)
    finally:
        if collects:
            gc.enable()


def _lint(options: argparse.Namespace) -> int:
    from envguard.adapters.declared_files import DeclaredFiles
    from envguard.cli import output, wiring
    from envguard.operations.lint import lint

    around = wiring.surroundings()
    today = wiring.today()
    ignores = (*around.settings.policy.ignore, *wiring.baseline(options.baseline, today, quiet=options.quiet))
    locks = list(_texts(options, around, ignores))
    if not locks:
        return _none(options)
    linted = lint(locks, DeclaredFiles(around.folder), today=today, fix=options.fix, strict=options.strict)
    _rewrite(linted, quiet=options.quiet)
    output.print_lint(linted.cases, linted.exit_code, form=options.format, quiet=options.quiet)
    return linted.exit_code


def _rewrite(linted: Linted, *, quiet: bool) -> None:
    from envguard.adapters.project import save_lock
    from envguard.cli import output

    for lock, content in linted.rewritten:
        save_lock(lock.path, content)
        output.say(f"rewritten: {lock.shown}", quiet=quiet)


def _none(options: argparse.Namespace) -> int:
    from envguard.cli import output
    from envguard.errors import UsageError

    if options.hook:
        output.say("no lock to look at", quiet=options.quiet)
        return 0
    named = ", ".join(map(str, options.files[:3]))
    raise UsageError(
        f"no lock belongs to {named}" if named else "no lock named, and none in lockfiles/",
        hint="record one: envguard snapshot --name NAME",
    )


def _texts(options: argparse.Namespace, around: Surroundings, ignores: tuple[Ignore, ...]) -> Iterator[LockText]:
    from envguard.adapters import declared_files, project
    from envguard.operations.lint import LockText

    for path in _paths(options, around):
        content = project.read_lock_bytes(path)
        if options.hook and path.parent.name != project.LOCKS and not _may_be_lock(content):
            continue
        yield LockText(path, declared_files.shown(path, around.folder), content, ignores)


def _may_be_lock(content: bytes) -> bool:
    return b"schema" in content and any(
        word in content for word in (b"[[distribution]]", b"[torch]", b"[interpreter]")
    )


def _paths(options: argparse.Namespace, around: Surroundings) -> list[Path]:
    from envguard.adapters import declared_files

    named: list[Path] = declared_files.all_locks(around.folder) if options.all_files else []
    for path in options.files:
        declaring = declared_files.declares(path) and path.parent.name != "lockfiles"
        named += declared_files.locks_for(path) if declaring else [path]
    if not options.files and not options.all_files:
        named = declared_files.locks_of(around.root)
    return declared_files.unique(named)


LINT = Command("lint", _declare, _run)
