"""One look at an environment's folders: which distributions are installed, and every file held against them."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from envguard.adapters import folders
from envguard.adapters.ahead import remember
from envguard.adapters.claims import Claims, distribution_key, silent_names
from envguard.adapters.site import Installed
from envguard.adapters.stat_index import ABSENT, Details, Kept, StatIndex, UnitKept, clock, settled
from envguard.adapters.tree import Job, Unit
from envguard.adapters.walk import Walk
from envguard.formats.pyc import cache_tags
from envguard.model.facts import FileFact, SharedPath
from envguard.model.target import Layout, Level
from envguard.ports import Baseline, Progress

if TYPE_CHECKING:
    from envguard.adapters.ahead import Ahead
    from envguard.adapters.judging import Judge


@dataclass(slots=True)
class Looked:
    """What a look came to."""

    distributions: tuple[Installed, ...]
    files: tuple[FileFact, ...] | None
    """None where only RECORDs were read."""
    shared: tuple[SharedPath, ...]
    seen: int = 0
    """Files held against RECORD."""
    kept: Kept = field(default_factory=Kept)
    """What is kept for the next look."""
    save: Callable[[], None] = field(default=lambda: None)
    """Keeps it; call it once, when ``kept`` is complete."""
    settled: Mapping[str, bytes] = field(default_factory=dict)
    """Digests of the folders that can't change without another digest, by key."""

    def mark(self, module: str) -> str | None:
        """A text that is another when any file of a top-level folder could have changed; None when none is."""
        keys = [key for key in self.settled if key.partition("/")[2].partition("/")[0] == module]
        if self.files is None or not keys or any(not self.settled[key] for key in keys):
            return None
        state = hashlib.blake2b(digest_size=16)
        for key in sorted(keys):
            state.update(key.encode("utf-8", "surrogateescape") + b"\0" + self.settled[key])
        return state.hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is looked at, how closely, and with what beside it.

    ``soabi`` is the target interpreter's; ``environ`` what its children get.
    """

    layout: Layout
    level: Level
    soabi: str
    environ: Mapping[str, str]
    baseline: Baseline
    progress: Progress
    ahead: Ahead | None = None
    """A walk that has begun already."""


def look(asked: Asked) -> Looked:
    """Look. Nothing in the environment raises: what can't be read is told as a fact."""
    layout, level = asked.layout, asked.level
    index = StatIndex(layout, f"{asked.soabi}\n{layout.is_venv}\n{layout.python}")
    before = Kept() if level is Level.FULL else index.load()
    stamp = clock([layout.prefix, layout.scripts, *layout.libraries])
    with contextlib.ExitStack() as stack:
        walk = Walk(layout, before, stack, asked.ahead)
        installed = walk.distributions(deep=level is not Level.METADATA)
        content = _content(installed, asked.baseline)
        again = content != before.content
        claims = _claims(asked, walk, installed) if again else None
        if level is Level.METADATA:
            return _metadata_only(index, before, walk, claims, stamp)
        walk.everything(claims)
        return _Look(asked, index, before, walk, stamp, content).held(claims)


def _content(installed: Iterable[Installed], baseline: Baseline) -> bytes:
    """Digest of all that is said of files."""
    state = hashlib.blake2b(digest_size=16)
    for one in installed:
        state.update(f"{distribution_key(one)}\0".encode("utf-8", "surrogateescape") + one.content)
        if one.record is None:
            state.update(hashlib.blake2b(baseline(one.name) or b"", digest_size=16).digest())
    return state.digest()


def _claims(
    asked: Asked, walk: Walk, installed: Iterable[Installed], only: frozenset[str] | None = None
) -> Claims:
    claims = Claims(asked.layout)
    for one in installed:
        key = distribution_key(one)
        if only is None or key in only:
            claims.add_installed(one, walk.listings.pop(key, None), asked.baseline)
    return claims


def _metadata_only(index: StatIndex, before: Kept, walk: Walk, claims: Claims | None, stamp: int) -> Looked:
    """Distributions alone; what was kept of the files stays as it was."""
    shared = _sorted(claims.shared()) if claims is not None else before.shared
    distributions = {
        key: (lasting(walk.units[key], stamp), one) for key, one in walk.installed.items() if key in walk.units
    }
    changed = distributions != before.distributions
    before.distributions = distributions
    save = (lambda: index.save(before, None)) if changed else (lambda: None)
    return Looked(tuple(walk.installed.values()), None, shared, kept=before, save=save)


def lasting(unit: Unit, stamp: int) -> bytes:
    """A unit's digest, if a later change must give another; else one that never matches."""
    if unit.digest == ABSENT or (unit.problem is None and settled(unit.latest, stamp)):
        return unit.digest
    return b""


class _Look:
    """What was walked, held against what is claimed."""

    def __init__(
        self, asked: Asked, index: StatIndex, before: Kept, walk: Walk, stamp: int, content: bytes
    ) -> None:
        self._asked = asked
        self._index = index
        self._before = before
        self._walk = walk
        self._stamp = stamp
        self._installed = tuple(walk.installed.values())
        self._now = Kept(content=content, placed=walk.placed, torch=before.torch)
        self._hashed: Details = {}
        self._extra: list[FileFact] = []

    def held(self, claims: Claims | None) -> Looked:
        """The whole. ``claims``: all of them, where RECORDs say something new; else they are read as needed."""
        before, now, walk = self._before, self._now, self._walk
        jobs = self._jobs(claims)
        now.units.update((key, before.units[key]) for key, unit in walk.units.items() if unit.entries is None)
        now.shared = before.shared if claims is None else _sorted(claims.shared())
        now.distributions = {
            key: (lasting(walk.units[key], self._stamp), one)
            for key, one in walk.installed.items()
            if key in walk.units
        }
        details: Details = {}
        if jobs:
            details = {} if self._asked.level is Level.FULL else self._index.load_details()
            self._judge(jobs, claims, details)
        if any(unit.problem is not None for unit in walk.units.values()):
            now.content = b""  # what lies below is not known: begin anew next time
        facts = [fact for unit in now.units.values() for fact in unit.facts]
        return Looked(
            distributions=self._installed,
            files=tuple(sorted([*facts, *self._extra], key=_by_place)),
            shared=now.shared,
            seen=sum(unit.seen for unit in now.units.values()),
            kept=now,
            save=lambda: self._save(details, changed=bool(jobs)),
            settled={key: lasting(unit, self._stamp) for key, unit in walk.units.items()},
        )

    def _jobs(self, claims: Claims | None) -> list[Job]:
        """Folders to judge: those that changed, and those that claims speak of and that aren't there."""
        units = self._walk.units
        jobs = [Job(key, unit) for key, unit in units.items() if unit.entries is not None]
        unreadable = tuple(f"{key.rstrip('/')}/" for key, unit in units.items() if unit.problem is not None)
        for key in self._before.units if claims is None else claims.units:
            if key in units or key.startswith(unreadable):
                continue
            kept = self._before.units.get(key) if claims is None else None
            if kept is not None and kept.digest == ABSENT:
                self._now.units[key] = kept
            else:
                jobs.append(Job(key, Unit(ABSENT, 0, ())))
        return jobs

    def _judge(self, jobs: Sequence[Job], claims: Claims | None, details: Details) -> None:
        from envguard.adapters.judging import Judge

        asked = self._asked
        if claims is None:
            claims = _claims(asked, self._walk, self._installed, self._concerned(jobs))
        judge = Judge(
            asked.layout,
            self._walk.roots,
            claims,
            silent=silent_names(self._installed, asked.baseline),
            tags=cache_tags(asked.soabi),
            details=details,
        )
        results = judge.judge(jobs, lambda done, total: asked.progress.step("files", done, total, "files"))
        for job in jobs:
            result = results[job.key]
            result.digest = lasting(job.unit, self._stamp)
            if result.digest != ABSENT or claims.of(job.key):
                self._now.units[job.key] = result
        self._hashed = judge.hashed
        self._ask_interpreter(judge, results)

    def _concerned(self, jobs: Sequence[Job]) -> frozenset[str]:
        """Distributions that may have files in the folders to judge."""
        found: set[str] = set()
        for job in jobs:
            kept = self._before.units.get(job.key)
            if kept is None and job.key.endswith("/__pycache__"):
                kept = self._before.units.get(job.key.rpartition("/")[0])
            found.update(kept.owners if kept is not None else ())
        return frozenset(found)

    def _ask_interpreter(self, judge: Judge, results: Mapping[str, UnitKept]) -> None:
        """Bytecode whose header can't tell: held against its source's hash, or with FULL against its code."""
        if not judge.pairs:
            return
        from envguard.adapters.compiled import by_content

        asked, python = self._asked, self._asked.layout.python
        if asked.level is not Level.FULL:
            for key, pairs in judge.pairs.items():
                results[key].facts += tuple(by_content(python, pairs, asked.environ, _ignore, code=False))
            return
        every = [pair for pairs in judge.pairs.values() for pair in pairs]
        total = len(every)
        self._extra = list(
            by_content(
                python,
                every,
                asked.environ,
                lambda done: asked.progress.step("bytecode", done, total, "files"),
                code=True,
            )
        )
        for key, pairs in judge.pairs.items():
            if any(pair.task for pair in pairs):
                results[key].digest = b""  # told for this look only: FAST must ask for itself

    def _save(self, details: Details, *, changed: bool) -> None:
        now, before = self._now, self._before
        if self._asked.ahead is not None:
            remember(os.fspath(folders.cache()), self._walk.folders())
        if changed or now.distributions != before.distributions or now.torch != before.torch:
            self._index.save(now, self._details(details) if changed else None)

    def _details(self, details: Details) -> Details:
        """Details of every folder that is still there; of judged ones only what is settled."""
        whole = {key: files for key, files in details.items() if key in self._now.units}
        for key, files in self._hashed.items():
            whole[key] = {name: one for name, one in files.items() if settled(one[2], self._stamp)}
        return whole


def _ignore(_: int) -> None:
    """Nobody is told."""


def _sorted(shared: Iterable[SharedPath]) -> tuple[SharedPath, ...]:
    return tuple(sorted(shared, key=lambda one: one.path))


def _by_place(fact: FileFact) -> tuple[str, str, str]:
    return fact.root, fact.path, fact.kind.value
