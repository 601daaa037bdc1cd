"""Bring every wheel of a plan into one folder, under its real name, and hash it."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from envguard.errors import (
    EnvguardError,
    IndexAnswerError,
    IndexUnreachableError,
    InstallFailedError,
    ObjectCorruptError,
    OtherBytesError,
)
from envguard.model.digest import Digest
from envguard.operations.parallel import Stopping, each
from envguard.planning.obtain import Step
from envguard.ports import Index, Progress, Store

_CHUNK = 1 << 20


def fetch(
    steps: Sequence[Step], folder: Path, *, store: Store, index: Index, progress: Progress
) -> tuple[Path, ...]:
    """Paths of the wheels, in the order of ``steps``; what an earlier run left whole in ``folder`` is taken.

    OtherBytesError, IndexUnreachableError, IndexAnswerError, ObjectCorruptError, InstallFailedError (the disk).
    """
    stopping = Stopping(progress)

    def get(step: Step) -> Path:
        path = folder / step.filename
        with _told(path):
            if path.is_file() and _digest(path) == step.sha256:
                return path
            path.unlink(missing_ok=True)
            if step.offers:
                return _from_sources(step, path, index, stopping)
            return _from_store(step, path, store, stopping)

    return tuple(each(get, steps, stopping, "fetch", "wheels"))


def _from_sources(step: Step, path: Path, index: Index, progress: Progress) -> Path:
    """The first source that keeps its word; the first one's fault when none does."""
    first: EnvguardError | None = None
    for offer in step.offers:
        try:
            got = index.fetch(offer, path.parent, expect=step.sha256, progress=progress)
        except (OtherBytesError, IndexUnreachableError, IndexAnswerError) as problem:
            first = first or problem
            continue
        if got != path:
            got.replace(path)
        return path
    if first is None:
        raise AssertionError("a step without offers comes from the store")
    raise first


def _from_store(step: Step, path: Path, store: Store, progress: Progress) -> Path:
    """A copy: what is hashed is what will be used."""
    part = path.with_name(f".{path.name}.part")
    state = hashlib.sha256()
    with store.open(step.sha256) as source, part.open("wb") as copy:
        done = 0
        while chunk := source.read(_CHUNK):
            state.update(chunk)
            copy.write(chunk)
            done += len(chunk)
            progress.step(step.filename, done, step.size, "B")
    if state.hexdigest() != step.sha256.hex:
        part.unlink()
        raise ObjectCorruptError(
            f"the store's object for {step.filename} is damaged",
            where=str(step.sha256),
            hint="run `envguard store check`, or take it from another source: --find-links FOLDER",
        )
    part.replace(path)
    return path


def _digest(path: Path) -> Digest:
    with path.open("rb", buffering=0) as stream:
        return Digest.of_stream(stream)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise InstallFailedError(
            f"{path.name} could not be written: {problem.strerror or problem}",
            where=str(path.parent),
            hint="make room, then run the same command again: what was fetched is kept",
        ) from None
