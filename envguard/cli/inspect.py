"""``envguard inspect``, ``find``, ``identify`` and ``challenge``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.cli.wiring import Surroundings
    from envguard.model.offer import Offer
    from envguard.operations.inspect import Inspection
    from envguard.planning.wheel_match import Wanted


def _add_tags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--python", metavar="TAG", help="for which Python: cp312, 3.12, cp313t or any (default: the target's)"
    )
    parser.add_argument(
        "--platform", metavar="TAG", help="for which platform: linux_x86_64, … or any (default: this one)"
    )


def _add_sources(parser: argparse.ArgumentParser) -> None:
    arguments.add_find_links(parser)
    parser.add_argument(
        "--download", action="store_true", help="fetch a wheel whole where its server sends no parts of files"
    )


def _declare_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="SPEC|URL|FILE", help="name==version[+label], an address, or a wheel file")
    _add_tags(parser)
    _add_sources(parser)
    arguments.add_output(parser)


def _inspect(options: argparse.Namespace) -> int:
    from envguard.cli import output, wheels_json, wheels_text, wiring
    from envguard.operations.inspect import Inspection, inspect_version, read_spec

    around = wiring.surroundings()
    spec = read_spec(options.what)
    with (
        wiring.index(wiring.sources(around, options.find_links)) as index,
        output.Bars(quiet=options.quiet) as progress,
    ):
        reader = wiring.reader(index, progress, download=options.download, say=_remark(options))
        if spec is None:
            seen = Inspection((reader.read(_named(options.what)),))
        else:
            want = _wanted(options, around)
            seen = inspect_version(spec, want, index=index, reader=reader, progress=progress)
    if options.format == "json":
        output.print_json(wheels_json.inspect_document(seen))
    else:
        output.print_lines(wheels_text.inspect_lines(seen))
    return _told(seen)


def _told(seen: Inspection) -> int:
    from envguard.cli import output

    for failure in seen.failures:
        output.say(
            f"error[{failure.slug}]: {failure.message}" + (f"\n  hint: {failure.hint}" if failure.hint else "")
        )
    return 3 if seen.failures else 0


def _named(text: str) -> Offer:
    """A file, or an address, as an offer. UsageError when it is neither."""
    from envguard.adapters.remote.named import at_address, of_file
    from envguard.errors import UsageError

    if "://" in text:
        return at_address(text)
    path = Path(text)
    if path.exists() or path.suffix == ".whl":
        return of_file(path)
    raise UsageError(
        f"neither name==version, nor an address, nor a wheel file: {text[:100]!r}",
        hint="envguard inspect torch==2.11.0",
    )


def _wanted(options: argparse.Namespace, around: Surroundings, *, platform_only: bool = False) -> Wanted:
    """What was named, else the target's Python, else our own; this platform."""
    from envguard.cli import wiring
    from envguard.planning import wheel_match

    python, platform = options.python, options.platform
    if platform is None or (python is None and not platform_only):
        own_python, own_platform = wiring.tags(around)
        python = python or (None if platform_only else own_python)
        platform = platform or own_platform
    return wheel_match.wanted(python, platform)


def _declare_find(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="torch")
    parser.add_argument(
        "--commit", required=True, metavar="PREFIX", help="at least 7 hex digits of the git commit"
    )
    parser.add_argument("--variant", metavar="VARIANT", help="only builds of this variant: cu130, rocm6.4, cpu")
    parser.add_argument("--first", action="store_true", help="stop at the first build that is found")
    _add_tags(parser)
    _add_sources(parser)
    arguments.add_output(parser)


def _find(options: argparse.Namespace) -> int:
    from envguard.adapters.pages import canonical
    from envguard.cli import output, wheels_json, wheels_text, wiring
    from envguard.operations.find import find

    around = wiring.surroundings()
    with (
        wiring.index(wiring.sources(around, options.find_links)) as index,
        output.Bars(quiet=options.quiet) as progress,
    ):
        search = find(
            canonical(options.name),
            options.commit,
            variant=options.variant,
            want=_wanted(options, around, platform_only=True),
            first=options.first,
            index=index,
            reader=wiring.reader(index, progress, download=options.download, say=_remark(options)),
            progress=progress,
        )
    if options.format == "json":
        output.print_json(wheels_json.find_document(search, options.commit))
    else:
        output.print_lines(wheels_text.find_lines(search, options.commit))
    for failure in search.failures:
        output.say(f"not read: {failure.message}", quiet=options.quiet)
    if search.found:
        return 0
    return 3 if search.failures else 1


def _declare_identify(parser: argparse.ArgumentParser) -> None:
    arguments.add_python(parser)
    parser.add_argument("--lock", type=Path, metavar="LOCK", help="what a lock records, instead of an environment")
    parser.add_argument("--update", action="store_true", help="write what was found into that lock")
    parser.add_argument("--offline", action="store_true", help="ask no index, only what this machine knows")
    _add_sources(parser)
    arguments.add_output(parser)


def _identify(options: argparse.Namespace) -> int:
    from envguard.adapters.project import load_lock, save_lock
    from envguard.cli import output, wheels_json, wheels_text, wiring
    from envguard.errors import UsageError
    from envguard.formats.lockfile import write_lock
    from envguard.operations.identify import completed, identify, identify_recorded

    around = wiring.surroundings()
    if options.lock is not None and options.python is not None:
        raise UsageError("--lock and --python name two things to identify", hint="leave one out")
    if options.update and options.lock is None:
        raise UsageError("--update writes into a lock, and none is named", hint="--lock LOCK")
    lock, text = load_lock(options.lock) if options.lock is not None else (None, None)
    where = wiring.sources(around, options.find_links, offline=options.offline)
    with wiring.index(where) as index, output.Bars(quiet=options.quiet) as progress:
        reader = wiring.reader(index, progress, download=options.download, say=_remark(options))
        provenance = wiring.identifier(where, index, reader, progress)
        if lock is not None:
            seen = identify_recorded(lock, provenance=provenance)
        else:
            target = wiring.target(options, around)
            if options.python is None:
                output.say(f"target: {target.python} ({target.chosen})", quiet=options.quiet)
            seen = identify(target, prober=wiring.prober(around), provenance=provenance, progress=progress)
    if lock is not None and options.update:
        whole = completed(lock, seen, wiring.public_addresses(where, private=False))
        save_lock(options.lock, write_lock(whole, text))
    if options.format == "json":
        output.print_json(wheels_json.identify_document(seen, provenance.asked, provenance.cost))
    else:
        output.print_lines(wheels_text.identify_lines(seen, quiet=options.quiet))
    for trouble in seen.troubles:
        output.say(f"error[{trouble.slug}]: {trouble.message}")
    return seen.exit_code


def _declare_challenge(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    _add_sources(parser)
    arguments.add_output(parser)


def _challenge(options: argparse.Namespace) -> int:
    from envguard.cli import output, wheels_json, wheels_text, wiring
    from envguard.operations.challenge import challenge

    around = wiring.surroundings()
    lock = wiring.lock(options, around)
    where = wiring.sources(around, options.find_links)
    with wiring.index(where) as index, output.Bars(quiet=options.quiet) as progress:
        result = challenge(
            lock,
            sources={entry.name for entry in where.indexes},
            index=index,
            reader=wiring.reader(index, progress, download=options.download, say=_remark(options)),
            store=wiring.store(),
            progress=progress,
        )
    if options.format == "json":
        output.print_json(wheels_json.challenge_document(result))
    else:
        output.print_lines(wheels_text.challenge_lines(result, quiet=options.quiet))
    return result.exit_code


class _remark:  # noqa: N801
    """Says on stderr what is about to be done."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._quiet = options.quiet

    def __call__(self, line: str) -> None:
        from envguard.cli import output

        output.say(f"note: {line}", quiet=self._quiet)


INSPECT = Command(
    "inspect",
    _declare_inspect,
    _inspect,
)
FIND = Command("find", _declare_find, _find)
IDENTIFY = Command("identify", _declare_identify, _identify)
CHALLENGE = Command(
    "challenge",
    _declare_challenge,
    _challenge,
)
