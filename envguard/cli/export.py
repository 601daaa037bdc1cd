"""``envguard export``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from envguard.cli import arguments
from envguard.cli.command import Command

if TYPE_CHECKING:
    from envguard.model.lock import Lock


def _declare(parser: argparse.ArgumentParser) -> None:
    arguments.add_lock(parser)
    parser.add_argument("--format", choices=sorted(FORMS), required=True, help="what to write")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write it (default: stdout)")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave out a distribution")
    arguments.add_find_links(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when all is well")


def _run(options: argparse.Namespace) -> int:
    import sys

    from envguard.cli import output, wiring

    around = wiring.surroundings()
    content = FORMS[options.format](wiring.lock(options, around), options)
    if options.output is None:
        sys.stdout.write(content.decode())
        return 0
    _write(options.output, content)
    if not options.quiet:
        output.print_lines([f"{options.output} written"])
    return 0


def _write(file: Path, content: bytes) -> None:
    from envguard.adapters import files
    from envguard.errors import EnvguardError

    try:
        files.write(file, content)
    except OSError as problem:
        raise EnvguardError(f"could not be written: {problem.strerror or problem}", where=str(file)) from None


def _wheels(lock: Lock, options: argparse.Namespace, dump: Callable[..., bytes], comment: str) -> bytes:
    """A file that lists wheels by their places."""
    from envguard.cli import output, wiring
    from envguard.errors import EnvguardError
    from envguard.formats.lockfile import lock_id
    from envguard.operations.export import export

    where = wiring.sources(wiring.surroundings(), options.find_links)
    with wiring.index(where) as index, output.Bars(quiet=options.quiet) as progress:
        wheels = export(
            lock,
            without=frozenset(options.without),
            index=index,
            store=wiring.store(),
            progress=progress,
        )
    head = f"From the envguard lock {lock.name}, id {lock_id(lock)}. {comment}"
    try:
        return dump(wheels, comment=head)
    except ValueError as problem:
        raise EnvguardError(str(problem), where=lock.name) from None


def _pylock(lock: Lock, options: argparse.Namespace) -> bytes:
    from envguard.cli import output
    from envguard.formats import export_pylock

    if options.output is not None and not export_pylock.is_pylock_name(options.output.name):
        output.say("note: pip and uv take only pylock.toml and pylock.<name>.toml for such a file")
    return _wheels(lock, options, export_pylock.dump, "uv pip sync FILE, or pip install -r FILE.")


def _requirements(lock: Lock, options: argparse.Namespace) -> bytes:
    from envguard.formats import export_requirements

    return _wheels(
        lock, options, export_requirements.dump, "Install with: pip install --no-deps --require-hashes -r FILE."
    )


def _cyclonedx(lock: Lock, options: argparse.Namespace) -> bytes:
    from envguard.formats import export_cyclonedx

    return export_cyclonedx.dump(_left(lock, options))


def _spdx(lock: Lock, options: argparse.Namespace) -> bytes:
    from envguard.formats import export_spdx

    return export_spdx.dump(_left(lock, options))


def _conda(lock: Lock, options: argparse.Namespace) -> bytes:
    from envguard.cli import output
    from envguard.formats import export_conda

    environment = export_conda.dump(_left(lock, options))
    for line in environment.unsaid:
        output.say(f"note: conda can't be told {line}", quiet=options.quiet)
    return environment.content


def _dockerfile(lock: Lock, options: argparse.Namespace) -> bytes:
    """For a build whose context is the Dockerfile's folder (the working folder, where it goes to stdout)."""
    import os

    from envguard.cli import output, wiring
    from envguard.errors import UsageError
    from envguard.formats import export_dockerfile

    if options.without:
        raise UsageError("an image holds all that the lock records: --without is not for a Dockerfile")
    context = (options.output.parent if options.output else Path()).resolve()
    file = wiring.lock_file(options, wiring.surroundings()).resolve()
    if not file.is_relative_to(context):
        raise UsageError(
            "the lock lies outside the Dockerfile's folder, which a build gets to see",
            where=str(file),
            hint=f"write it further up: -o {os.path.commonpath((file.parent, context))}/Dockerfile",
        )
    for line in export_dockerfile.remarks(lock):
        output.say(f"note: {line}", quiet=options.quiet)
    return export_dockerfile.dump(lock, path=file.relative_to(context).as_posix())


def _left(lock: Lock, options: argparse.Namespace) -> Lock:
    from envguard.planning.left_out import left_out

    return left_out(lock, frozenset(options.without))


FORMS: Mapping[str, Callable[[Lock, argparse.Namespace], bytes]] = {
    "pylock": _pylock,
    "requirements": _requirements,
    "sbom": _cyclonedx,
    "sbom-cyclonedx": _cyclonedx,
    "sbom-spdx": _spdx,
    "dockerfile": _dockerfile,
    "conda": _conda,
}
"""One function a format; a new one needs no more than its line here."""

EXPORT = Command("export", _declare, _run)
