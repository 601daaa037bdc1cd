"""``envguard snapshot --from FILE``: a first lock without an environment."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envguard.adapters.wheel_tags import Fitting
    from envguard.cli.wiring import Surroundings
    from envguard.formats.imports.claims import Claims
    from envguard.model.lock import Lock
    from envguard.operations.snapshot import Snapshot


def taken(options: argparse.Namespace, around: Surroundings, name: str, previous: Lock | None) -> Snapshot:
    """The lock that ``options.source`` claims. UsageError for a file of another kind, LockInvalidError."""
    from envguard.adapters.index_settings import default_index
    from envguard.cli import output, wiring
    from envguard.operations.import_lock import import_lock

    fitting, said = _fitting(options, around)
    output.say(f"read for {said}", quiet=options.quiet)
    claims = _claims(options.source, fitting)
    where = wiring.sources(around, options.find_links)
    with wiring.index(where) as index, output.Bars(quiet=options.quiet) as progress:
        return import_lock(
            claims,
            options.source.name,
            name=name,
            note=options.note,
            previous=previous,
            default_index=default_index(),
            public=wiring.public_addresses(where, private=options.record_index_urls),
            tags=[str(tag) for tag in fitting.tags],
            now=wiring.now(),
            index=None if options.offline else index,
            progress=progress,
        )


def _fitting(options: argparse.Namespace, around: Surroundings) -> tuple[Fitting, str]:
    """For the target's Python; where there is none and none was named, for the one that runs envguard."""
    from envguard.adapters.interpreter import Interpreters
    from envguard.adapters.wheel_tags import of_python
    from envguard.cli import wiring
    from envguard.errors import EnvguardError

    try:
        target = wiring.target(options, around)
        _, python = Interpreters().look(target.python)
    except EnvguardError:
        if options.python is not None:
            raise
        fitting = of_python(None)
        version = fitting.environment["python_full_version"]
        return fitting, f"Python {version}, which runs envguard (no environment here; --python PATH names one)"
    return of_python(python), f"Python {python.version} ({target.chosen})"


def _claims(file: Path, fitting: Fitting) -> Claims:
    from envguard.adapters import uv_export
    from envguard.errors import UsageError
    from envguard.formats.export_pylock import is_pylock_name
    from envguard.formats.imports import pylock, requirements

    content = _content(file, str(file))
    if file.name == "uv.lock":
        return pylock.read(uv_export.export(file), str(file), environment=fitting.environment, tags=fitting.tags)
    if is_pylock_name(file.name):
        return pylock.read(content, str(file), environment=fitting.environment, tags=fitting.tags)
    if file.suffix == ".txt":

        def reader(path: str) -> bytes:
            return _content(file.parent / path, path)

        return requirements.read(content, str(file), environment=fitting.environment, reader=reader)
    raise UsageError(
        f"{file.name[:60]} is no lock file that can be read",
        hint="uv.lock, pylock.toml (pylock.NAME.toml) or requirements.txt; poetry and pdm export one of these",
    )


def _content(file: Path, where: str) -> bytes:
    from envguard.errors import LockInvalidError
    from envguard.formats.toml_text import SIZE_LIMIT

    try:
        with file.open("rb") as stream:
            content = stream.read(SIZE_LIMIT + 1)
    except OSError as problem:
        raise LockInvalidError(f"can't be read: {problem.strerror}", where=where) from None
    if len(content) > SIZE_LIMIT:
        raise LockInvalidError(f"more than the {SIZE_LIMIT >> 20} MiB allowed", where=where)
    return content
