"""Folders that changed, held against claims: which bytes must be read, and what is to be told."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from envguard.adapters import compiled
from envguard.adapters.claims import PLACED, SCRIPTS, Claims, library_key, place_of, split_key
from envguard.adapters.hashing import LARGE, SHA256, LargeFiles, Root, Wanted, see
from envguard.adapters.scripts import script_facts
from envguard.adapters.stat_index import Details, FileDetail, UnitKept
from envguard.adapters.tree import Job
from envguard.model.facts import FileFact, FileKind
from envguard.model.target import Layout
from envguard.planning.held import (
    Claim,
    Entry,
    Folder,
    Seen,
    algorithms_of,
    library_facts,
    owners_of,
    placed_facts,
    to_hash,
)

_OFTEN = 256
"""Files between two words on progress."""


class _Ask(NamedTuple):
    key: str
    entry: Entry
    algorithms: frozenset[str]
    claimed: bool


class Judge:
    """Judges folders. ``roots`` are descriptors of the libraries; ``details`` are what was hashed before."""

    def __init__(
        self,
        layout: Layout,
        roots: Sequence[Root | None],
        claims: Claims,
        *,
        silent: frozenset[str],
        tags: frozenset[str],
        details: Details,
    ) -> None:
        self._layout = layout
        self._roots = roots
        self._claims = claims
        self._silent = silent
        self._tags = tags
        self._details = details
        self.pairs: dict[str, list[compiled.Pair]] = {}
        """Compiled files whose code could still differ, by folder key."""
        self.hashed: Details = {}
        """What is known now of the files of every judged folder."""

    def judge(self, jobs: Sequence[Job], done: Callable[[int, int], None]) -> dict[str, UnitKept]:
        """What each folder came to, by key; ``done`` is told how many files of how many are."""
        total = sum(len(job.unit.entries or ()) for job in jobs)
        large = {job.key: [ask for ask in self._asks(job, LARGE) if self._known(ask) is None] for job in jobs}
        results: dict[str, UnitKept] = {}
        count = told = 0
        with LargeFiles(self._wanted(ask) for asks in large.values() for ask in asks) as threads:
            for job in sorted(
                jobs, key=lambda job: bool(large[job.key])
            ):  # those that must be waited for come last
                results[job.key] = self._result(
                    job, {ask.entry[0]: self._see(ask, threads) for ask in self._asks(job)}
                )
                count += len(job.unit.entries or ())
                if count - told >= _OFTEN:
                    told = count
                    done(count, total)
        done(count, total)
        return results

    def _see(self, ask: _Ask, threads: LargeFiles) -> Seen:
        known = self._known(ask)
        if known is not None:
            return known
        wanted = self._wanted(ask)
        return see(wanted) if wanted.size < LARGE else threads.see(wanted)

    def _result(self, job: Job, seen: Mapping[str, Seen]) -> UnitKept:
        claims = self._claims.of(job.key)
        details = {
            entry[0]: detail
            for entry in job.unit.entries or ()
            if (detail := _detail(entry, seen.get(entry[0]))) is not None
        }
        if details:
            self.hashed[job.key] = details
        return UnitKept(
            digest=job.unit.digest,
            facts=tuple(self._facts(job, claims, seen)),
            seen=sum(1 for name in seen if name in claims),
            owners=tuple(self._claims.owners.get(_holder(job.key), ())),
        )

    def _facts(
        self, job: Job, claims: Mapping[str, Sequence[Claim]], seen: Mapping[str, Seen]
    ) -> Iterator[FileFact]:
        entries = job.unit.entries or ()
        if job.unit.problem is not None:
            yield self._unreadable(job, claims)
        elif job.key == SCRIPTS:
            yield from script_facts(self._layout, entries, claims)
        elif job.key == PLACED:
            yield from _placed_facts(entries, claims, seen)
        else:
            number, path = split_key(job.key)
            yield from library_facts(Folder(path, entries, claims, self._silent), seen)
            if is_compiled(path):
                yield from self._compiled_facts(job.key, number, path, entries)

    def _compiled_facts(self, key: str, number: int, path: str, entries: Sequence[Entry]) -> Iterator[FileFact]:
        root = self._roots[number]
        if root is None:
            return
        above = self._claims.of(_holder(key))
        library = self._layout.libraries[number]
        for found in compiled.by_header(root, library, path, entries, above, self._tags):
            if isinstance(found, FileFact):
                yield found
            else:
                self.pairs.setdefault(key, []).append(found)

    def _asks(self, job: Job, least: int = 0) -> Iterator[_Ask]:
        """The files of a folder, of at least so many bytes, whose digests are needed."""
        if job.unit.problem is not None or job.key == SCRIPTS:
            return
        entries = [entry for entry in job.unit.entries or () if entry[1] >= least]
        if not entries:
            return
        claims = self._claims.of(job.key)
        if job.key == PLACED:
            for entry in entries:
                if stat.S_ISREG(entry[5]) or stat.S_ISLNK(entry[5]):
                    own = claims.get(entry[0], ())
                    yield _Ask(job.key, entry, algorithms_of(own), bool(own))
            return
        wanted = to_hash(Folder(split_key(job.key)[1], entries, claims, self._silent))
        for entry in entries:
            if entry[0] in wanted:
                yield _Ask(job.key, entry, wanted[entry[0]], entry[0] in claims)

    def _wanted(self, ask: _Ask) -> Wanted:
        name, size = ask.entry[0], ask.entry[1]
        if ask.key == PLACED:
            root, _, path = name.partition("\0")
            return Wanted(str(place_of(self._layout, root, path)), size, ask.algorithms, claimed=ask.claimed)
        number, folder = split_key(ask.key)
        place = f"{folder}/{name}" if folder else name
        return Wanted(place, size, ask.algorithms, self._roots[number], ask.claimed)

    def _known(self, ask: _Ask) -> Seen | None:
        """The digest that was had before, if the file's stat is still the same."""
        if ask.algorithms != SHA256:
            return None
        name, size, modified, changed, inode, _ = ask.entry
        detail = self._details.get(ask.key, {}).get(name)
        if detail is None or detail[:4] != (size, modified, changed, inode):
            return None
        return Seen({"sha256": detail[4].hex()})

    def _unreadable(self, job: Job, claims: Mapping[str, Sequence[Claim]]) -> FileFact:
        path = "" if job.key in (SCRIPTS, PLACED) else split_key(job.key)[1]
        every = [claim for found in claims.values() for claim in found]
        root = "scripts" if job.key == SCRIPTS else "library"
        return FileFact(path or ".", FileKind.UNREADABLE, root, owners=owners_of(every), detail=job.unit.problem)


def is_compiled(path: str) -> bool:
    """Whether a folder is a ``__pycache__``."""
    return path.rpartition("/")[2] == "__pycache__"


def _holder(key: str) -> str:
    """The folder whose claims matter for a folder: for a ``__pycache__`` the one that holds it."""
    if key in (SCRIPTS, PLACED):
        return key
    number, path = split_key(key)
    return library_key(number, path.rpartition("/")[0]) if is_compiled(path) else key


def _placed_facts(
    entries: Sequence[Entry], claims: Mapping[str, Sequence[Claim]], seen: Mapping[str, Seen]
) -> Iterator[FileFact]:
    there = {entry[0]: entry for entry in entries}
    for name in sorted(claims):
        root, _, path = name.partition("\0")
        yield from placed_facts(
            _canonical(root, path, claims[name]), root, there.get(name), claims[name], seen.get(name)
        )


def _canonical(root: str, path: str, claims: Sequence[Claim]) -> str:
    """Installers spell the folder of a distribution's headers in their own ways."""
    parts = path.split("/")
    owner = claims[0].owner
    if root == "headers" and len(parts) > 3 and parts[0] == "site" and _name(parts[2]) == owner:
        parts[2] = owner
    return "/".join(parts)


def _name(text: str) -> str:
    from envguard.formats.distinfo import canonical

    return canonical(text)


def _detail(entry: Entry, seen: Seen | None) -> FileDetail | None:
    if seen is None or "sha256" not in seen.digests or stat.S_ISLNK(entry[5]):
        return None
    return entry[1], entry[2], entry[3], entry[4], bytes.fromhex(seen.digests["sha256"])
