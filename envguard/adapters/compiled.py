"""Compiled files held against their sources: what really runs, and what no RECORD answers for."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from envguard.adapters.hashing import Root, Wanted, at, open_file, see
from envguard.formats import pyc
from envguard.model.bytecode import WITHOUT_SOURCE
from envguard.model.facts import FileFact, FileKind
from envguard.planning.held import Claim, Entry, owners_of, sha256_of

_BATCH = 400
"""Pairs a child is given: some 1.5 s of compiling."""
_CHILDREN = 8
_SECONDS = 300.0
_PROBE = Path(__file__).parent.parent / "probe" / "bytecode.py"
_FLAGS = ("-I", "-S", "-B", "-X", "utf8", "-W", "ignore")

Claims = Mapping[str, Sequence[Claim]]


class Pair(NamedTuple):
    """A compiled file whose header fits its source, and what is still to be asked of it."""

    task: str
    """``hash`` where its header names no size and time but a hash, else nothing."""
    in_library: Path
    path: str
    """Of the compiled file, in its library."""
    source: str
    owners: tuple[str, ...]


def by_header(
    root: Root, library: Path, path: str, entries: Sequence[Entry], claims: Claims, tags: frozenset[str]
) -> Iterator[FileFact | Pair]:
    """The compiled files of one ``__pycache__`` that this interpreter would run: those that misfit, and the rest.

    ``claims`` are those of the folder that holds it.
    """
    above = path.rpartition("/")[0]
    for entry in entries:
        name = pyc.parse_name(entry[0])
        if name is None or name.tag not in tags or not stat.S_ISREG(entry[5]):
            continue
        compiled = f"{path}/{entry[0]}"
        source = f"{above}/{name.source}" if above else name.source
        owners = owners_of(claims.get(name.source, ()))
        problem, hashed = _misfit(root, compiled, source, name.tag)
        if problem is not None:
            yield _fact(root, compiled, entry[1], owners, problem)
        else:
            yield Pair("hash" if hashed else "", library, compiled, source, owners)


def by_content(
    python: Path, pairs: Sequence[Pair], environ: Mapping[str, str], done: Callable[[int], None], *, code: bool
) -> Iterator[FileFact]:
    """Pairs that a child of the target interpreter finds different, or that it could not look at.

    ``code``: also compile every source and compare, not only the hashes that headers name.
    """
    if code:
        pairs = [pair._replace(task=f"{pair.task} code") for pair in pairs]
    else:
        pairs = [pair for pair in pairs if pair.task]
    batches = [pairs[start : start + _BATCH] for start in range(0, len(pairs), _BATCH)]
    count = 0
    for batch, words in zip(batches, _all_words(python, batches, environ), strict=True):
        for pair, word in zip(batch, words, strict=True):
            if word == "differs":
                yield _fact(None, pair.path, 0, pair.owners, "not its source's code", pair.in_library)
            elif word != "same":
                yield FileFact(
                    pair.path,
                    FileKind.UNREADABLE,
                    owners=pair.owners,
                    detail=f"could not be held against its source ({word})",
                )
        count += len(batch)
        done(count)


def _all_words(python: Path, batches: Sequence[Sequence[Pair]], environ: Mapping[str, str]) -> Iterator[list[str]]:
    workers = min(os.cpu_count() or 1, _CHILDREN, len(batches))
    if workers < 2:
        yield from (_words(python, batch, environ) for batch in batches)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as threads:
        yield from threads.map(lambda batch: _words(python, batch, environ), batches)


def _words(python: Path, batch: Sequence[Pair], environ: Mapping[str, str]) -> list[str]:
    """A word a pair. A file that kills the interpreter (marshal trusts what it reads) is found by halving."""
    from envguard.adapters import process

    try:
        words = _ask(python, batch, environ)
    except (OSError, process.ChildTimeoutError) as problem:
        return [f"the interpreter gave no answer: {problem}"] * len(batch)
    if len(words) == len(batch):
        return words
    if len(batch) == 1:
        return ["differs"]
    half = len(batch) // 2
    return [*_words(python, batch[:half], environ), *_words(python, batch[half:], environ)]


def _ask(python: Path, batch: Sequence[Pair], environ: Mapping[str, str]) -> list[str]:
    from envguard.adapters import process

    fields = [
        part
        for pair in batch
        for part in (
            pair.task.encode(),
            os.fsencode(os.path.join(pair.in_library, pair.source)),  # noqa: PTH118 - odd names must not raise
            os.fsencode(os.path.join(pair.in_library, pair.path)),  # noqa: PTH118
        )
    ]
    start, end = (f"<{os.urandom(16).hex()}>" for _ in range(2))
    ended = process.run(
        [python, *_FLAGS, _PROBE, start, end], environ=environ, timeout=_SECONDS, stdin=b"\0".join(fields)
    )
    return ended.stdout.decode("ascii", "replace").partition(start)[2].partition(end)[0].split(" ")


def _misfit(root: Root, compiled: str, source: str, tag: str) -> tuple[str | None, bool]:
    try:
        place, folder = at(source, root)
        seen = os.stat(place, dir_fd=folder)  # as Python does, through a link
    except OSError:
        return WITHOUT_SOURCE, False
    try:
        handle = open_file(compiled, root)
        try:
            header = os.read(handle, pyc.HEADER_SIZE)
        finally:
            os.close(handle)
    except OSError as problem:
        return f"can't be read: {problem.strerror}", False
    return pyc.misfit(header, tag, seen.st_mtime_ns, seen.st_size), pyc.is_hashed(header)


def _fact(
    root: Root | None, path: str, size: int, owners: tuple[str, ...], detail: str, library: Path | None = None
) -> FileFact:
    place = path if library is None else os.path.join(library, path)  # noqa: PTH118
    seen = see(Wanted(place, size, frozenset({"sha256"}), root))
    return FileFact(path, FileKind.BYTECODE, sha256=sha256_of(seen), owners=owners, detail=detail)
