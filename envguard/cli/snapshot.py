"""``envguard snapshot``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.cli import arguments, observing
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.formats.index_settings import Sources
    from envguard.model.lock import Lock
    from envguard.operations.archive import Archiving
    from envguard.operations.snapshot import Snapshot
    from envguard.ports import Index


def _declare(parser: argparse.ArgumentParser) -> None:
    place = parser.add_mutually_exclusive_group()
    place.add_argument("-o", "--output", type=Path, metavar="LOCK", help="the lock file to write")
    place.add_argument("--name", help="name of the lock: lockfiles/NAME.toml")
    arguments.add_python(parser)
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="make a first lock without an environment, of what a uv.lock, pylock.toml or requirements.txt claims",
    )
    observing.add_pid(parser)
    observing.add_run(parser, "logs of a good run: who computed where, tokens a second, memory, hits")
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="the run's compile cache (default: TORCHINDUCTOR_CACHE_DIR, the lock's own, torch's default)",
    )
    parser.add_argument("--note", metavar="TEXT", help="what you want to say of the run")
    parser.add_argument("--update", action="store_true", help="replace an existing lock that holds other facts")
    parser.add_argument("--live", action="store_true", help="also import torch in a child and record its own view")
    parser.add_argument(
        "--record-index-urls", action="store_true", help="write the addresses of private indexes into the lock too"
    )
    parser.add_argument("--offline", action="store_true", help="ask no index which wheels are installed")
    archive = parser.add_mutually_exclusive_group()
    archive.add_argument(
        "--archive",
        nargs="?",
        choices=("all", "unidentified", "nightly"),
        const="all",
        help="keep wheels in the store too: all, those of unknown origin, or nightlies (default: the last two)",
    )
    archive.add_argument("--no-archive", action="store_true", help="keep no wheel in the store")
    arguments.add_find_links(parser)
    arguments.add_output(parser)


def _run(options: argparse.Namespace) -> int:
    from envguard.adapters import project
    from envguard.cli import output, wiring
    from envguard.formats.lockfile import write_lock
    from envguard.operations.snapshot import snapshot

    around = wiring.surroundings()
    if options.source is not None:
        return _import(options, around)
    process, run = observing.process_of(options), observing.run_of(options, good=True)
    target = observing.target_of(options, around, process)
    file = _file(options, around)
    previous, text = project.load_lock(file) if file.exists() else (None, None)
    where = wiring.sources(around, options.find_links)
    output.say(f"target: {target.python} ({target.chosen})", quiet=options.quiet)
    asked = where.offline() if options.offline else where
    with wiring.index(asked) as index, output.Bars(quiet=options.quiet) as progress:
        provenance = wiring.identifier(asked, index, wiring.reader(index, progress), progress)
        taken = snapshot(
            target,
            name=file.stem,
            note=options.note,
            previous=previous,
            indexes=wiring.public_addresses(where, private=options.record_index_urls),
            now=wiring.now(),
            prober=observing.prober_of(
                wiring.prober(around, live=options.live, cache=options.cache, texts=True, lock=previous),
                process,
                run,
            ),
            provenance=provenance,
            store=wiring.store(),
            progress=progress,
            archiving=_archiving(options, index, where),
        )
    for remark in observing.remarks_of(process, run):
        output.say(f"note: {remark}", quiet=options.quiet)
    for trouble in provenance.troubles():
        output.say(f"note: {trouble.message}", quiet=options.quiet)
    if previous is not None and not taken.unchanged and not taken.only_adds and not options.update:
        return _refuse(file, taken, options)
    if options.archive == "all":
        taken = _with_cache(options, around, taken)
    _remember(file, taken.lock)
    if not taken.unchanged:
        project.save_lock(file, write_lock(taken.lock, text))
    _tell(file, taken, options)
    return 0


def _import(options: argparse.Namespace, around: Surroundings) -> int:
    """Of another tool's lock file. There is no run yet, so nothing is kept in the store."""
    from envguard.adapters import project
    from envguard.cli import importing
    from envguard.formats.lockfile import write_lock

    file = _file(options, around)
    previous, text = project.load_lock(file) if file.exists() else (None, None)
    taken = importing.taken(options, around, file.stem, previous)
    if previous is not None and not taken.unchanged and not options.update:
        return _refuse(file, taken, options)
    if not taken.unchanged:
        project.save_lock(file, write_lock(taken.lock, text))
    _tell(file, taken, options)
    return 0


def _remember(file: Path, lock: Lock) -> None:
    """Before the lock is written, so that no collector takes its objects for nobody's."""
    from envguard.cli import output, wiring
    from envguard.errors import StoreError
    from envguard.operations.cache_archive import objects_of
    from envguard.planning.archive import needs_of

    objects = {need.digest for need in needs_of(lock)} | objects_of(lock, wiring.store())
    try:
        wiring.roots().remember(file, objects)
    except StoreError as problem:
        output.say(f"note: {problem.message}; name the lock to `envguard store gc`")


def _with_cache(options: argparse.Namespace, around: Surroundings, taken: Snapshot) -> Snapshot:
    """With the bytes of the compile cache in the store; where that can't be, with a remark."""
    from dataclasses import replace

    from envguard.cli import output, wiring
    from envguard.errors import EnvguardError
    from envguard.model.observed import Value
    from envguard.operations.cache_archive import save

    if not isinstance(taken.lock.facts.keys, Value):
        return taken
    try:
        place = wiring.cache_place(around, options.cache, taken.lock)
        with output.Bars(quiet=options.quiet) as progress:
            saved = save(place, taken.lock, caches=wiring.caches(), store=wiring.store(), progress=progress)
    except EnvguardError as problem:
        return replace(taken, remarks=(*taken.remarks, f"the compile cache was not saved: {problem.message}"))
    same = taken.unchanged and taken.lock.cache_manifest == saved.manifest
    return replace(taken, lock=replace(taken.lock, cache_manifest=saved.manifest), unchanged=same)


def _archiving(options: argparse.Namespace, index: Index, where: Sources) -> Archiving:
    """What is to be archived: as asked, else what can't be had again."""
    from envguard.cli import output, wiring
    from envguard.operations.archive import Archiving
    from envguard.planning.archive import Extent

    extent = Extent.NONE if options.no_archive else Extent(options.archive or "default")
    return Archiving(
        extent,
        index,
        wiring.archivist(where),
        offline=options.offline,
        over_changes=options.update,
        tell=lambda line: output.say(line, quiet=options.quiet),
    )


def _file(options: argparse.Namespace, around: Surroundings) -> Path:
    """Where the lock goes: named, or this project's one lock, or lockfiles/<folder's name>.toml."""
    from envguard.adapters import project
    from envguard.errors import UsageError

    if options.output is not None:
        return Path(options.output)
    if options.name is not None:
        if not options.name or "/" in options.name or options.name.startswith("."):
            raise UsageError(f"not a lock's name: {options.name[:60]!r}", hint="use letters, digits, - and _")
        return around.root / project.LOCKS / f"{options.name}.toml"
    if around.settings.lock is not None:
        return around.root / around.settings.lock
    found = sorted((around.root / project.LOCKS).glob("*.toml"))
    if len(found) > 1:
        raise UsageError(f"{project.LOCKS}/ holds {len(found)} locks", hint="say which: --name NAME")
    return found[0] if found else around.root / project.LOCKS / f"{around.root.name or 'environment'}.toml"


def _refuse(file: Path, taken: Snapshot, options: argparse.Namespace) -> int:
    from envguard.cli import output
    from envguard.formats.report_text import result_lines

    if options.format == "json":
        _print_json(file, taken, written=False)
    else:
        drifted = [result for result in taken.differences if result.findings]
        output.print_lines(line for result in drifted for line in result_lines(result))
    output.say(
        f"error[lock-exists]: {file} records another environment, and was not touched\n"
        f"  hint: if this environment is the good one now: envguard snapshot -o {file} --update"
    )
    return 1


def _tell(file: Path, taken: Snapshot, options: argparse.Namespace) -> None:
    from envguard.cli import output

    if options.format == "json":
        _print_json(file, taken, written=not taken.unchanged)
        return
    for remark in taken.remarks:
        output.say(f"note: {remark}", quiet=options.quiet)
    if not options.quiet:
        output.print_lines([_summary(file, taken)])


def _summary(file: Path, taken: Snapshot) -> str:
    from envguard.formats.lockfile import lock_id
    from envguard.model.observed import Unobserved, value_or_none

    facts = taken.lock.facts
    torch = value_or_none(facts.torch)
    distributions = value_or_none(facts.distributions) or ()
    proven = sum(entry.wheel.original is not None for entry in distributions)
    none = "torch not looked at" if isinstance(facts.torch, Unobserved) else "no torch"
    build = f"torch {torch.build} (commit {torch.git_commit[:10]})" if torch else none
    what = "unchanged" if taken.unchanged else "written"
    return (
        f"{file} {what}: {build}, {len(distributions)} distributions ({proven} with their wheel's sha256), "
        f"{facts.files_seen:,} files, lock id {lock_id(taken.lock)[:12]}"
    )


def _print_json(file: Path, taken: Snapshot, *, written: bool) -> None:
    from envguard.cli import output
    from envguard.formats.lockfile import lock_id
    from envguard.formats.report_json import result_document

    output.print_json(
        {
            "schema": "envguard-snapshot-1",
            "lock": str(file),
            "lock-id": lock_id(taken.lock),
            "written": written,
            "remarks": list(taken.remarks),
            "differences": [result_document(result) for result in taken.differences],
        }
    )


SNAPSHOT = Command("snapshot", _declare, _run)
