"""``envguard warmup``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envguard.cli import arguments
from envguard.cli.command import Command
from envguard.cli.rehearse import declare_rehearse, run_rehearse

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.lock import Lock
    from envguard.model.warmup import Counts, Recipe, Row
    from envguard.operations.warmup import Warmed
    from envguard.ports import Progress


def _declare(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    parser.add_argument(
        "--devices",
        default="",
        metavar="N[,N]",
        help="device indices (5,6,7), or cpu (default: the recipe's, or all)",
    )
    parser.add_argument(
        "--flex",
        metavar="KEY=VALUE[,…]",
        help="the built-in flex_attention workload: lengths=1024+4096,heads=8,head-size=64,dtype=bfloat16,"
        "masks=causal+sliding+document+prefix,window=256,backward=true,score-mod=module:function",
    )
    parser.add_argument(
        "--launch",
        choices=("per-device", "ranks", "threads"),
        help="one process a device; a command that starts ranks itself (torchrun); threads of one process",
    )
    parser.add_argument(
        "--steps", type=int, metavar="K", help="end each process of the command after K optimizer steps"
    )
    parser.add_argument(
        "--deadline", type=int, metavar="SECONDS", help="end a start that takes longer (default: 1800)"
    )
    parser.add_argument(
        "--run-warmup", action="store_true", help="run the command that the lock names: it is code of the lock's"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="warm this cache (default: one of the lock's own)"
    )
    parser.add_argument(
        "--update", action="store_true", help="record these keys in the place of the recorded ones"
    )
    declare_rehearse(parser)
    arguments.add_python(parser)
    arguments.add_output(parser)


def _run(options: argparse.Namespace) -> int:
    if options.rehearse:
        return run_rehearse(options)
    from envguard.adapters import project
    from envguard.cli import output, wiring
    from envguard.formats.lockfile import write_lock

    around = wiring.surroundings()
    file = wiring.lock_file(options, around)
    lock, text = project.load_lock(file)
    with output.Bars(quiet=options.quiet) as progress:
        warmed = run(options, around, lock, progress)
    if warmed.lock is not None and warmed.lock != lock:
        project.save_lock(file, write_lock(warmed.lock, text))
    if options.format == "json":
        output.print_json(document(file, warmed))
    else:
        output.print_lines(lines(file, warmed, quiet=options.quiet))
    return warmed.exit_code


def run(options: argparse.Namespace, around: Surroundings, lock: Lock, progress: Progress) -> Warmed:
    """The warmup that the arguments ask for."""
    from envguard.cli import wiring
    from envguard.cli.cache import devices_of
    from envguard.formats.lockfile import lock_id
    from envguard.model.cache_files import CachePlace
    from envguard.model.variables import KNOWN
    from envguard.operations.warmup import recipe_of, warmup
    from envguard.planning.warmup import variables_of

    given = _given(options, lock)
    caches = wiring.caches()
    place = caches.own(lock.name, lock_id(lock))
    if options.cache is not None:
        folder = around.folder / options.cache
        place = CachePlace(folder, folder / "triton")
    return warmup(
        lock,
        wiring.target(options, around),
        recipe=recipe_of(lock, given),
        leave=given is not None or options.run_warmup or around.settings.trust_locks,
        devices=devices_of(options.devices),
        place=place,
        update=options.update,
        prober=wiring.prober(
            around, cache=place.inductor, texts=True, variables=variables_of(lock.facts, KNOWN) | place.variables()
        ),
        warmer=wiring.warmer(around),
        caches=caches,
        store=wiring.store(),
        progress=progress,
    )


def _given(options: argparse.Namespace, lock: Lock) -> Recipe | None:
    """The recipe of the command line, or the lock's with what the command line changes of it."""
    from envguard.errors import UsageError
    from envguard.formats.decode import WrongValueError
    from envguard.formats.warmup_lock import flex_from_words
    from envguard.model.warmup import Launch, Recipe

    command = tuple(options.command)
    if command and options.flex is not None:
        raise UsageError("both a command and --flex", hint="name one of them")
    for name in ("steps", "deadline"):
        if (getattr(options, name) or 1) < 1:
            raise UsageError(f"--{name} must be at least 1")
    try:
        workload = flex_from_words(options.flex) if options.flex is not None else None
    except WrongValueError as problem:
        raise UsageError(str(problem)) from None
    changes = _changes(options)
    if not command and workload is None:
        return _changed(lock, changes)
    recipe = Recipe(command=command, workload=workload, **changes)
    if recipe.launch is Launch.RANKS and not command:
        raise UsageError("--launch ranks needs a command that starts them", hint="-- torchrun … train.py")
    return recipe


def _changes(options: argparse.Namespace) -> dict[str, Any]:
    from envguard.model.warmup import Launch

    changes: dict[str, Any] = {name: value for name in ("steps", "deadline") if (value := getattr(options, name))}
    return changes | ({"launch": Launch(options.launch)} if options.launch is not None else {})


def _changed(lock: Lock, changes: dict[str, Any]) -> Recipe | None:
    """The lock's recipe with changes; None without any. One that needs leave is run as the lock has it, or not."""
    from envguard.errors import UsageError

    if not changes:
        return None
    if lock.warmup is None or lock.warmup.recipe.needs_leave:
        raise UsageError("these change a recipe, and none was given", hint="name it too: -- COMMAND, or --flex")
    return replace(lock.warmup.recipe, **changes)


def lines(file: Path, warmed: Warmed, *, quiet: bool = False) -> Iterator[str]:
    """The table, what speaks against it, and what to export."""
    from envguard.operations.cache_archive import export_lines

    if not quiet:
        yield from _table(warmed)
    for failure in warmed.proof.failures:
        yield f"failed       {failure}"
    for change in warmed.changes:
        yield f"differs      {change}"
    if warmed.changes:
        yield f"{file} was made with another environment, and was not touched (--update records this one)"
    for key in warmed.missing[:12]:
        yield f"missing      {key[:24]}…: {file.name} records it, and the recipe did not make it"
    if quiet:
        return
    yield _summary(file, warmed)
    yield from export_lines(warmed.place)


def _table(warmed: Warmed) -> Iterator[str]:
    yield f"{'device':<10} {'cold s':>8} {'warm s':>8} {'graphs':>7} {'hits':>6} {'misses':>7}  bypasses"
    for row in warmed.proof.rows:
        counts = row.warm or row.cold
        warm = "-" if row.warm_seconds is None else f"{row.warm_seconds:.1f}"
        yield (
            f"{row.who:<10} {row.cold_seconds:>8.1f} {warm:>8} {row.cold.graphs:>7,} {counts.hits:>6,} "
            f"{counts.misses:>7,}  {_bypasses(counts)}"
        ).rstrip()


def _bypasses(counts: Counts) -> str:
    return "; ".join(f"{one.number} {one.cache}: {one.reason}" for one in counts.bypasses) or "0"


def _summary(file: Path, warmed: Warmed) -> str:
    number = len(warmed.keys.names)
    if not warmed.proof.holds:
        return f"not proven: {number:,} keys are in the cache, and a start would still compile"
    what = f"recorded in {file}" if warmed.lock is not None else f"{file} not touched"
    bypassed = sum(one.number for row in warmed.proof.rows if row.warm for one in row.warm.bypasses)
    told = f", {bypassed:,} lookups bypassed at every start" if bypassed else ""
    return f"proven: a second run loaded everything{told}; {number:,} keys, {what}"


def document(file: Path, warmed: Warmed) -> dict[str, Any]:
    """``--format json``."""
    return {
        "schema": "envguard-warmup-1",
        "lock": str(file),
        "written": warmed.lock is not None,
        "proven": warmed.proof.holds,
        "failures": list(warmed.proof.failures),
        "new-keys": list(warmed.proof.new_keys),
        "missing": list(warmed.missing),
        "changes": [str(change) for change in warmed.changes],
        "keys": {device.device: list(device.keys) for device in warmed.keys.devices},
        "fingerprint": str(warmed.keys.fingerprint),
        "variables": warmed.place.variables(),
        "rows": [_row(row) for row in warmed.proof.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "who": row.who,
        "cold": {"seconds": round(row.cold_seconds, 3), **_counted(row.cold)},
        "warm": None if row.warm is None else {"seconds": round(row.warm_seconds or 0.0, 3), **_counted(row.warm)},
    }


def _counted(counts: Counts) -> dict[str, Any]:
    return {
        "graphs": counts.graphs,
        "hits": counts.hits,
        "misses": counts.misses,
        "bypasses": [{"cache": one.cache, "reason": one.reason, "number": one.number} for one in counts.bypasses],
    }


WARMUP = Command(
    "warmup",
    _declare,
    _run,
    takes_command=True,
)
