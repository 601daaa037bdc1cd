"""``envguard restore``, ``list``, ``rollback`` and ``prune``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.environment import Switched
    from envguard.model.lock import Lock
    from envguard.operations.cache_back import BringBack
    from envguard.operations.restore import RestoreResult
    from envguard.ports import Progress


def _declare_restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lock", nargs="?", type=Path, metavar="LOCK", help="lock file (default: as for verify)")
    parser.add_argument(
        "--target",
        type=Path,
        metavar="DIR",
        help="what shall lead to the environment: a link, or a folder that is exchanged and kept "
        "(default: a link 'current' beside the restored environments)",
    )
    parser.add_argument(
        "--python", type=Path, metavar="PATH", help="interpreter to build with (default: one that fits the lock)"
    )
    parser.add_argument("--plan", action="store_true", help="show what would be done, and stop")
    parser.add_argument("--offline", action="store_true", help="use only the store and find-links folders")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out a distribution, or a recorded file by its path",
    )
    parser.add_argument(
        "--trust-cache",
        action="store_true",
        help="put the compile cache back though git does not vouch for the lock",
    )
    parser.add_argument(
        "--run-warmup", action="store_true", help="run the warmup's command, which is code that the lock names"
    )
    parser.add_argument("--no-cache", action="store_true", help="leave the compile cache cold")
    arguments.add_find_links(parser)
    arguments.add_output(parser)


def _restore(options: argparse.Namespace) -> int:
    from envguard.adapters.project import load_lock
    from envguard.cli import output, wiring
    from envguard.operations.restore import restore

    around = wiring.surroundings()
    file = wiring.lock_file(options, around)
    lock, text = load_lock(file)
    where = wiring.sources(around, options.find_links, offline=options.offline)
    with wiring.index(where) as index, output.Bars(quiet=options.quiet) as progress:
        result = restore(
            lock,
            target=options.target.absolute() if options.target else None,
            without=frozenset(options.without),
            plan_only=options.plan,
            offline=options.offline,
            python=options.python,
            policy=around.settings.policy,
            today=wiring.today(),
            store=wiring.store(),
            index=index,
            reader=None if options.offline else wiring.reader(index, progress),
            installer=wiring.installer(),
            prober=wiring.prober(around),
            environments=wiring.environments(),
            progress=progress,
            cache=None if options.no_cache else _bring_back(options, around, file, lock, text, progress),
        )
    if options.format == "json":
        output.print_json(_document(result))
    elif result.report is None:
        output.print_lines(_plan_lines(result))
    else:
        _tell(result, quiet=options.quiet)
    return _code(result)


def _bring_back(
    options: argparse.Namespace, around: Surroundings, file: Path, lock: Lock, text: bytes, progress: Progress
) -> BringBack:
    from envguard.cli import wiring
    from envguard.model.variables import KNOWN
    from envguard.operations.cache_back import BringBack
    from envguard.planning.warmup import variables_of

    place = wiring.own_cache(lock)
    caches = wiring.caches()
    variables = variables_of(lock.facts, KNOWN) | (place.variables() if place is not None else {})
    return BringBack(
        distrust=None if options.trust_cache else caches.distrust(file, text),
        leave=options.run_warmup or around.settings.trust_locks,
        prober=wiring.prober(
            around, cache=place.inductor if place is not None else None, texts=True, variables=variables
        ),
        caches=caches,
        warmer=wiring.warmer(around),
        store=wiring.store(),
        progress=progress,
    )


def _code(result: RestoreResult) -> int:
    if result.report is not None:
        # what only this machine lacks (a driver, GPUs) is no fault of what was built
        return 0 if result.environment is not None and not result.cold else 1
    return 3 if result.plan.problems else 0


def _plan_lines(result: RestoreResult) -> Iterator[str]:
    plan = result.plan
    for step in plan.steps:
        mark = "   (by its RECORD)" if step.by_record else ""
        yield f"{step.name:<32} {_size(step.size):>10}  {step.source:<14} {step.filename}{mark}"
    for file in plan.files:
        yield f"{file.fact.shown:<32} {'':>10}  {'archive' if file.sha256 else 'removed':<14} (no wheel's own)"
    for name in sorted(plan.left_out):
        yield f"{name:<32} {'':>10}  left out"
    for problem in plan.problems:
        yield f"problem: {problem}"
        if problem.hint:
            yield f"  hint: {problem.hint}"
    for note in (*plan.notes, *result.notes):
        yield f"note: {note}"
    yield (
        f"{len(plan.steps)} wheels, {_size(plan.size)}, of which {_size(plan.fetch_size)} to fetch; "
        f"needs {_size(plan.size_needed)} of disk and {plan.files_needed:,} files; Python: {plan.python or 'none'}"
        + (f"; {len(plan.problems)} problems" if plan.problems else "")
    )


def _tell(result: RestoreResult, *, quiet: bool) -> None:
    from envguard.cli import output

    report = result.report
    if report is None:
        return
    output.print_report(report, form="text", quiet=quiet or result.environment is not None)
    if result.environment is None:
        output.say("error[drift]: what was built is not what the lock records; nothing was switched, nothing kept")
        return
    for note in (*result.plan.notes, *result.notes):
        output.say(f"note: {note}", quiet=quiet)
    if not quiet:
        files = f"{report.files:,} files verified"
        output.print_lines([f"{result.environment}: {len(result.plan.steps)} wheels, {files}"])
        if result.switched:
            output.print_lines(_switch_lines(result.switched))


def _switch_lines(switched: Switched) -> Iterator[str]:
    if switched.environment == switched.target:
        yield f"{switched.target} is the folder again that was there before"
    else:
        yield f"{switched.target} → {switched.environment}"
    if switched.previous is not None:
        yield f"what was there before is kept: {switched.previous}"


def _size(size: int | None) -> str:
    if size is None:
        return "?"
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"


def _document(result: RestoreResult) -> dict[str, object]:
    from envguard.formats.report_json import report_document

    plan = result.plan
    return {
        "schema": "envguard-restore-1",
        "lock": plan.name,
        "lock-id": plan.lock,
        "python": plan.python,
        "steps": [
            {
                "name": step.name,
                "version": step.version,
                "wheel": step.filename,
                "sha256": str(step.sha256),
                "size": step.size,
                "source": step.source,
                "by-record": step.by_record,
                "notes": list(step.notes),
            }
            for step in plan.steps
        ],
        "files": [
            {"path": file.fact.shown, "sha256": str(file.sha256) if file.sha256 else None} for file in plan.files
        ],
        "without": sorted(plan.left_out),
        "problems": [{"text": str(problem), "hint": problem.hint} for problem in plan.problems],
        "size": plan.size,
        "fetch-size": plan.fetch_size,
        "notes": [*plan.notes, *result.notes],
        "environment": str(result.environment) if result.environment else None,
        "target": str(result.switched.target) if result.switched else None,
        "previous": str(result.switched.previous) if result.switched and result.switched.previous else None,
        "report": report_document(result.report) if result.report else None,
    }


def _declare_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="only those of this lock")
    arguments.add_output(parser)


def _list(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.environments import list_environments

    found = list_environments(name=options.name, environments=wiring.environments())
    if options.format == "json":
        output.print_json(
            {
                "schema": "envguard-list-1",
                "environments": [
                    {
                        "name": entry.name,
                        "folder": str(entry.folder),
                        "lock-id": entry.lock,
                        "made": entry.made.isoformat(),
                        "size": entry.size,
                        "targets": [str(target) for target in entry.targets],
                    }
                    for entry in found
                ],
            }
        )
        return 0
    for entry in found:
        targets = ", ".join(map(str, entry.targets)) or "kept"
        made = f"{entry.made:%Y-%m-%d %H:%M}"
        output.print_lines([f"{entry.name:<20} {made}  {_size(entry.size):>9}  {entry.folder}  ({targets})"])
    if not found:
        output.say("no environment has been restored yet", quiet=options.quiet)
    return 0


def _declare_rollback(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="the lock's name, for its 'current' link")
    parser.add_argument("--target", type=Path, metavar="DIR", help="what leads to the environment")
    arguments.add_output(parser)


def _rollback(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.environments import rollback

    target = options.target.absolute() if options.target else None
    switched = rollback(target=target, name=options.name, environments=wiring.environments())
    if options.format == "json":
        output.print_json(
            {
                "schema": "envguard-rollback-1",
                "target": str(switched.target),
                "environment": str(switched.environment),
                "previous": str(switched.previous) if switched.previous else None,
                "notes": list(switched.notes),
            }
        )
    elif not options.quiet:
        output.print_lines(_switch_lines(switched))
        for note in switched.notes:
            output.say(f"note: {note}")
    return 0


def _declare_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="only those of this lock")
    arguments.add_output(parser)


def _prune(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.environments import prune

    pruned = prune(name=options.name, environments=wiring.environments())
    if options.format == "json":
        removed = [str(folder) for folder in pruned.removed]
        output.print_json({"schema": "envguard-prune-1", "removed": removed, "size": pruned.size})
    elif not options.quiet:
        output.print_lines(
            [*map(str, pruned.removed), f"{len(pruned.removed)} removed, {_size(pruned.size)} freed"]
        )
    return 0


RESTORE = Command("restore", _declare_restore, _restore)
LIST = Command("list", _declare_list, _list)
ROLLBACK = Command("rollback", _declare_rollback, _rollback)
PRUNE = Command("prune", _declare_prune, _prune)
