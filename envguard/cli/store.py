"""``envguard store``: ls, check, repair, gc and get."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.adapters.archive.roots import KnownRoots
    from envguard.cli.wiring import Surroundings
    from envguard.model.target import Target
    from envguard.operations.stored import Collected, Faulty, Kept, Mended

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _declare(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary, declare, run in ACTIONS:
        action = actions.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        declare(action)
        action.set_defaults(act=run)


def _run(options: argparse.Namespace) -> int:
    return int(options.act(options))


def _declare_look(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "locks",
        nargs="*",
        type=Path,
        metavar="LOCK",
        help="lock files that count too, beside those of this project and those that snapshots wrote here",
    )
    arguments.add_output(parser)


def _declare_repair(parser: argparse.ArgumentParser) -> None:
    _declare_look(parser)
    arguments.add_python(parser)
    parser.add_argument("--offline", action="store_true", help="ask no index")
    arguments.add_find_links(parser)


def _declare_gc(parser: argparse.ArgumentParser) -> None:
    _declare_look(parser)
    parser.add_argument(
        "--grace",
        default="24h",
        metavar="TIME",
        help="objects that were put within this time stay (30m, 24h, 7d; default: 24h)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument(
        "--forget",
        action="append",
        type=Path,
        default=[],
        metavar="LOCK",
        help="a lock file that is gone for good: its objects are not kept any longer",
    )


def _declare_get(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("digest", metavar="DIGEST", help="the object: sha256:…, or the first digits of it")
    parser.add_argument(
        "path", type=Path, metavar="PATH", help="a new file, or for an archived source a new folder"
    )
    arguments.add_output(parser)


def _ls(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.store import list_objects

    found = list_objects(store=wiring.store(), roots=_roots(options, wiring.surroundings()))
    if options.format == "json":
        output.print_json({"schema": "envguard-store-ls-1", "objects": [_kept(one) for one in found]})
        return 0
    output.print_lines(_listing(found))
    return 0


def _check(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.store import check

    with output.Bars(quiet=options.quiet) as progress:
        seen = check(store=wiring.store(), roots=_roots(options, wiring.surroundings()), progress=progress)
    faulty = (*seen.damaged, *seen.missing)
    if options.format == "json":
        output.print_json(
            {
                "schema": "envguard-store-check-1",
                "objects": seen.objects,
                "size": seen.size,
                "damaged": [_faulty(one) for one in seen.damaged],
                "missing": [_faulty(one) for one in seen.missing],
            }
        )
        return 1 if faulty else 0
    output.print_lines(_faulty_lines(faulty))
    if faulty or not options.quiet:
        wrong = f"; {len(seen.damaged)} damaged, {len(seen.missing)} missing" if faulty else ", all whole"
        output.print_lines([f"{seen.objects} objects, {_size(seen.size)}{wrong}"])
    if faulty:
        output.say("hint: envguard store repair")
    return 1 if faulty else 0


def _repair(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.store import repair

    around = wiring.surroundings()
    where = wiring.sources(around, options.find_links, offline=options.offline)
    with wiring.index(where) as index, output.Bars(quiet=options.quiet) as progress:
        mended = repair(
            store=wiring.store(),
            roots=_roots(options, around),
            index=index,
            archivist=wiring.archivist(where),
            prober=wiring.prober(around),
            targets=_targets(options, around),
            progress=progress,
        )
    left = [one for one in mended if one.source is None]
    if options.format == "json":
        output.print_json({"schema": "envguard-store-repair-1", "objects": [_mended(one) for one in mended]})
    else:
        output.print_lines(_mended_lines(mended))
        if mended or not options.quiet:
            output.print_lines([f"{len(mended) - len(left)} mended, {len(left)} left" if mended else "all whole"])
    return 1 if left else 0


def _gc(options: argparse.Namespace) -> int:
    import time

    from envguard.cli import output, wiring
    from envguard.operations.store import collect

    grace = _duration(options.grace)
    roots = _roots(options, wiring.surroundings())
    for lock in options.forget:
        _forget(roots, lock)
    with output.Bars(quiet=options.quiet) as progress:
        done = collect(
            store=wiring.store(),
            roots=roots,
            grace=grace,
            now=time.time,
            dry_run=options.dry_run,
            progress=progress,
        )
    if options.format == "json":
        output.print_json(_collected(done, dry_run=options.dry_run))
        return 0
    for note in done.notes:
        output.say(f"note: {note}", quiet=options.quiet)
    if not options.quiet:
        output.print_lines(_collected_lines(done, dry_run=options.dry_run))
    return 0


def _get(options: argparse.Namespace) -> int:
    from envguard.adapters.archive.unpacking import take_out
    from envguard.cli import output, wiring

    count = take_out(wiring.store(), options.digest, options.path)
    if options.format == "json":
        output.print_json({"schema": "envguard-store-get-1", "path": str(options.path), "files": count})
    elif not options.quiet:
        output.print_lines([f"{options.path}: {count} file{'s' if count > 1 else ''}"])
    return 0


def _roots(options: argparse.Namespace, around: Surroundings) -> KnownRoots:
    """All that is known, with this project's locks and those named."""
    from envguard.adapters import project
    from envguard.cli import wiring

    own = sorted((around.root / project.LOCKS).glob("*.toml"))
    if around.settings.lock is not None and (around.root / around.settings.lock).exists():
        own.append(around.root / around.settings.lock)
    return wiring.roots([*own, *options.locks])


def _forget(roots: KnownRoots, lock: Path) -> None:
    from envguard.errors import UsageError

    if lock.exists():
        raise UsageError("this lock file is there, and its objects are needed", where=str(lock))
    if not roots.forget(lock):
        raise UsageError("no snapshot of this machine wrote that lock file", where=str(lock))


def _targets(options: argparse.Namespace, around: Surroundings) -> list[Target]:
    """Where the same files may be installed: the target, where there is one, and restored environments."""
    from envguard.cli import wiring
    from envguard.errors import EnvguardError
    from envguard.model.target import Target

    found = []
    try:
        found.append(wiring.target(options, around))
    except EnvguardError:
        if options.python is not None:
            raise
    restored = wiring.environments().restored()
    return [*found, *(Target(one.folder / "bin" / "python", "restored") for one in restored)]


def _duration(text: str) -> float:
    from envguard.errors import UsageError

    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"not a time: {text[:40]!r}", hint="write 30m, 24h or 7d")
    return float(found[1]) * _SECONDS[found[2]]


def _listing(found: tuple[Kept, ...]) -> Iterator[str]:
    before: tuple[str, ...] | None = None
    for one in found:
        if one.users != before:
            before = one.users
            yield f"{', '.join(one.users) or 'needed by nobody'}:"
        yield f"  {one.digest.short}  {_size(one.size):>9}  {one.kind.value:<13}  {one.subject}".rstrip()
    yield f"{len(found)} objects, {_size(sum(one.size for one in found))}"


def _faulty_lines(faulty: tuple[Faulty, ...]) -> Iterator[str]:
    for one in faulty:
        yield str(one)
        for user in one.users:
            yield f"  needed by {user}"


def _mended_lines(mended: tuple[Mended, ...]) -> Iterator[str]:
    for one in mended:
        what = f"{one.faulty.digest} ({one.faulty.kind.value} {one.faulty.subject})".replace(" )", ")")
        aside = f"; the damaged bytes are kept: {one.aside}" if one.aside else ""
        yield f"{what}: {f'again from {one.source}' if one.source else f'not mended: {one.reason}'}{aside}"


def _collected_lines(done: Collected, *, dry_run: bool) -> Iterator[str]:
    for one in done.removed:
        yield f"{one.digest}  {_size(one.size)}"
    words = "would be removed" if dry_run else "removed"
    yield (
        f"{len(done.removed)} objects, {_size(done.size)} {words}; {done.used} needed, "
        f"{done.young} too young to tell"
    )


def _kept(one: Kept) -> dict[str, Any]:
    return {
        "digest": str(one.digest),
        "size": one.size,
        "kind": one.kind.value,
        "subject": one.subject,
        "users": list(one.users),
    }


def _faulty(one: Faulty) -> dict[str, Any]:
    return {
        "digest": str(one.digest),
        "kind": one.kind.value,
        "subject": one.subject,
        "users": list(one.users),
        "problem": one.problem,
    }


def _mended(one: Mended) -> dict[str, Any]:
    aside = str(one.aside) if one.aside else None
    return {**_faulty(one.faulty), "source": one.source, "reason": one.reason or None, "aside": aside}


def _collected(done: Collected, *, dry_run: bool) -> dict[str, Any]:
    return {
        "schema": "envguard-store-gc-1",
        "removed": [{"digest": str(one.digest), "size": one.size} for one in done.removed],
        "dry-run": dry_run,
        "needed": done.used,
        "young": done.young,
        "notes": list(done.notes),
    }


def _size(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"


Declare = Callable[[argparse.ArgumentParser], None]
ACTIONS: tuple[tuple[str, str, Declare, Callable[[argparse.Namespace], int]], ...] = (
    ("ls", "List the objects of the store, by who needs them.", _declare_look, _ls),
    ("check", "Hash every object anew, and name each that is damaged or gone.", _declare_look, _check),
    ("repair", "Set damaged objects aside, and get them again.", _declare_repair, _repair),
    ("gc", "Remove objects that no lock and no restored environment needs.", _declare_gc, _gc),
    ("get", "Take one object out: a file, or the files of an archived source.", _declare_get, _get),
)

STORE = Command("store", _declare, _run)
