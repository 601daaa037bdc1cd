"""``envguard cache show`` and ``cache explain``."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.formats.cache_trace import CacheEvent
    from envguard.model.cache_files import CachePlace, PutBack
    from envguard.operations.cache import Explained, Traced
    from envguard.operations.cache_archive import Saved

_SHOWN = 12
"""Differences of one graph that are printed; JSON has all."""


def _declare(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary, declare, run in ACTIONS:
        action = actions.add_parser(name, help=summary, description=summary)
        declare(action)
        action.set_defaults(act=run)


def _run(options: argparse.Namespace) -> int:
    return int(options.act(options))


def _declare_show(parser: argparse.ArgumentParser) -> None:
    _add_cache(parser)
    arguments.add_python(parser)
    arguments.add_output(parser)


def _declare_explain(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    _add_cache(parser)
    parser.add_argument(
        "--trace", type=Path, metavar="DIR", help="what a run wrote with TORCH_TRACE=DIR: explain its misses"
    )
    parser.add_argument(
        "--against", type=Path, metavar="DIR", help="the trace of an earlier run, to hold --trace against"
    )
    parser.add_argument(
        "--devices", default="", metavar="N[,N]", help="device indices that the run will use (5,6), or cpu"
    )
    arguments.add_python(parser)
    arguments.add_output(parser)


def _add_cache(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="the cache's folder (default: TORCHINDUCTOR_CACHE_DIR, else torch's default)",
    )


def _show(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.formats.cache_json import show_document
    from envguard.formats.cache_text import show_lines
    from envguard.operations.cache import look

    around = wiring.surroundings()
    target = wiring.target(options, around)
    with output.Bars(quiet=options.quiet) as progress:
        prober = wiring.prober(around, cache=options.cache, texts=True)
        facts = look(target, prober=prober, progress=progress)
    if options.format == "json":
        output.print_json(show_document(facts))
    else:
        output.print_lines(show_lines(facts, wiring.now()))
    return 0


def _explain(options: argparse.Namespace) -> int:
    from envguard.cli import output, wiring
    from envguard.operations.cache import explain_cache

    around = wiring.surroundings()
    only_trace = options.lock is None and options.trace is not None
    lock = None if only_trace else wiring.lock(options, around)
    with output.Bars(quiet=options.quiet) as progress:
        explained = explain_cache(
            lock,
            wiring.target(options, around),
            devices=devices_of(options.devices),
            events=_events(options.trace),
            before=_events(options.against),
            prober=wiring.prober(around, cache=options.cache, texts=True, lock=lock),
            store=wiring.store(),
            progress=progress,
        )
    if options.format == "json":
        output.print_json(_document(explained))
    elif not options.quiet or explained.exit_code:
        output.print_lines(_lines(explained))
    return explained.exit_code


def devices_of(text: str) -> list[str]:
    """``5,6,7`` or ``cpu`` as the devices of keys. UsageError."""
    from envguard.errors import UsageError

    devices = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part == "cpu" or part.removeprefix("cuda:").isdecimal():
            devices.append(part if part == "cpu" else f"cuda:{int(part.removeprefix('cuda:'))}")
        else:
            raise UsageError(f"not a device: {part[:40]!r}", hint="name indices, as --devices 5,6,7, or cpu")
    return devices


def _events(folder: Path | None) -> list[CacheEvent] | None:
    from envguard.adapters.cache.sections import traces
    from envguard.errors import UsageError
    from envguard.formats.cache_trace import read_trace

    if folder is None:
        return None
    try:
        found = traces(folder)
        events: list[CacheEvent] = []
        for file in found:
            with file.open("rb") as stream:
                events.extend(read_trace(stream))
    except OSError as problem:
        raise UsageError(f"the trace can't be read: {problem.strerror}", where=str(folder)) from None
    if not events:
        raise UsageError(
            "this trace tells of no lookup in a cache",
            where=str(folder),
            hint="start the run with TORCH_TRACE=DIR; it must compile something",
        )
    return events


def _lines(explained: Explained) -> Iterator[str]:
    from envguard.formats.cache_text import prediction_lines

    if explained.prediction is not None and explained.recorded is not None:
        yield from prediction_lines(explained.recorded, explained.observed, explained.prediction)
    if explained.traced is not None:
        yield from _traced_lines(explained.traced)


def _traced_lines(traced: Traced) -> Iterator[str]:
    yield "the run: " + ", ".join(f"{number:,} {cache} {state}" for cache, state, number in traced.counts)
    for explanation in traced.explanations:
        yield f"missed       fxgraph/{explanation.key[:12]}…{_why(explanation)}"
        for difference in itertools.islice(explanation.differences, _SHOWN):
            yield f"             {difference}"
        if len(explanation.differences) > _SHOWN:
            yield f"             … and {len(explanation.differences) - _SHOWN:,} more (--format json lists all)"
    for reason in traced.bypasses:
        yield f"bypassed     {reason}"


def _why(explanation: Any) -> str:
    if explanation.recorded:
        return ": its key is a recorded one, so its entry was gone or not whole"
    if explanation.nearest is None:
        return ": no graph of before is known to hold it against"
    if not explanation.differences:
        return f": nothing differs from {explanation.nearest[:12]}… in what torch tells"
    return f", nearest before {explanation.nearest[:12]}…:"


def _document(explained: Explained) -> dict[str, Any]:
    from envguard.formats.cache_json import prediction_document

    document: dict[str, Any] = {"schema": "envguard-cache-explain-1"}
    if explained.prediction is not None:
        document["prediction"] = prediction_document(explained.prediction)
    if (traced := explained.traced) is not None:
        document["run"] = {
            "lookups": [{"cache": cache, "state": state, "number": n} for cache, state, n in traced.counts],
            "bypasses": list(traced.bypasses),
            "missed": [
                {
                    "key": one.key,
                    "nearest": one.nearest,
                    "recorded": one.recorded,
                    "differences": [
                        {
                            "component": entry.component,
                            "was": entry.was,
                            "now": entry.now,
                            "meaning": entry.meaning,
                            "of-workload": entry.of_workload,
                        }
                        for entry in one.differences
                    ],
                }
                for one in traced.explanations
            ],
        }
    return document


def _declare_save(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    _add_cache(parser)
    arguments.add_output(parser)


def _save(options: argparse.Namespace) -> int:
    from envguard.adapters import project
    from envguard.cli import output, wiring
    from envguard.formats.lockfile import write_lock
    from envguard.operations.cache_archive import save
    from envguard.planning.archive import needs_of

    around = wiring.surroundings()
    file = wiring.lock_file(options, around)
    lock, text = project.load_lock(file)
    place = wiring.cache_place(around, options.cache, lock)
    with output.Bars(quiet=options.quiet) as progress:
        saved = save(place, lock, caches=wiring.caches(), store=wiring.store(), progress=progress)
    changed = replace(lock, cache_manifest=saved.manifest)
    if changed != lock:
        project.save_lock(file, write_lock(changed, text))
    objects = {need.digest for need in needs_of(changed)} | saved.objects
    wiring.roots().remember(file, objects)
    if options.format == "json":
        output.print_json(_saved_document(file, place, saved))
    else:
        output.print_lines(_saved_lines(file, place, saved, quiet=options.quiet))
    return 1 if saved.missing else 0


def _saved_lines(file: Path, place: CachePlace, saved: Saved, *, quiet: bool) -> Iterator[str]:
    from envguard.formats.cache_text import size_text

    for key in saved.missing[:_SHOWN]:
        yield f"missing      {key[:24]}…: the lock records it, and no whole entry is there"
    if quiet:
        return
    for why, number in saved.left:
        yield f"left out     {number:,} {why}"
    yield (
        f"{place.inductor}: {saved.files:,} files, {size_text(saved.size)}, {len(saved.keys):,} keys "
        f"are in the store; {file} names them"
    )


def _saved_document(file: Path, place: CachePlace, saved: Saved) -> dict[str, Any]:
    return {
        "schema": "envguard-cache-save-1",
        "lock": str(file),
        "folder": str(place.inductor),
        "manifest": str(saved.manifest),
        "files": saved.files,
        "size": saved.size,
        "keys": sorted(saved.keys),
        "missing": list(saved.missing),
        "left-out": dict(saved.left),
    }


def _declare_load(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    parser.add_argument(
        "--trust-cache", action="store_true", help="put it in place though git does not vouch for the lock"
    )
    parser.add_argument(
        "--to", type=Path, metavar="DIR", help="put it there (default: a folder of this lock's own, told)"
    )
    arguments.add_python(parser)
    arguments.add_output(parser)


def _load(options: argparse.Namespace) -> int:
    from envguard.adapters import project
    from envguard.adapters.cache.folders import beside
    from envguard.cli import output, wiring
    from envguard.formats.lockfile import lock_id
    from envguard.operations.cache_archive import IS_CODE, export_lines, load

    around = wiring.surroundings()
    file = wiring.lock_file(options, around)
    lock, text = project.load_lock(file)
    caches = wiring.caches()
    place = beside(around.folder / options.to) if options.to else caches.own(lock.name, lock_id(lock))
    with output.Bars(quiet=options.quiet) as progress:
        done = load(
            lock,
            place,
            distrust=None if options.trust_cache else caches.distrust(file, text),
            observed=wiring.this_processor(),
            caches=caches,
            store=wiring.store(),
            progress=progress,
        )
    output.say(f"note: {IS_CODE}", quiet=options.quiet)
    if options.format == "json":
        output.print_json(_loaded_document(file, done))
        return 0
    if not options.quiet:
        output.print_lines(_loaded_lines(done))
    output.print_lines(export_lines(done.place))
    return 0


def _loaded_lines(done: PutBack) -> Iterator[str]:
    from envguard.formats.cache_text import size_text

    for path in done.replaced:
        yield f"# what was there before is kept: {path}"
    if done.native:
        yield f"# {done.native:,} compiled libraries left out: they are another processor's, and made again"
    what = "was there already" if done.unchanged else "put back"
    yield f"# {done.files:,} files, {size_text(done.size)}: {what}"


def _loaded_document(file: Path, done: PutBack) -> dict[str, Any]:
    return {
        "schema": "envguard-cache-load-1",
        "lock": str(file),
        "variables": done.place.variables(),
        "files": done.files,
        "size": done.size,
        "replaced": [str(path) for path in done.replaced],
        "unchanged": done.unchanged,
        "native-left-out": done.native,
    }


Declare = Callable[[argparse.ArgumentParser], None]
ACTIONS: tuple[tuple[str, str, Declare, Callable[[argparse.Namespace], int]], ...] = (
    ("show", "Say what is in a compile cache, and what its keys depend on.", _declare_show, _show),
    ("explain", "Say whether a start would hit, and after a run why it missed.", _declare_explain, _explain),
    ("save", "Keep the files of a cache in the store; the lock names them.", _declare_save, _save),
    ("load", "Put a lock's cache into a folder of its own, and print what to export.", _declare_load, _load),
)
"""Name, summary, arguments and function of each action."""

CACHE = Command("cache", _declare, _run)
