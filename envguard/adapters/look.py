"""One look at an environment's folders: which distributions are installed, and every file held against them."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envguard.adapters import compiled, site, tree
from envguard.adapters.claims import (
    PLACED,
    SCRIPTS,
    Claims,
    distribution_key,
    library_key,
    place_of,
    silent_names,
)
from envguard.adapters.judging import Job, Judge, split_key
from envguard.adapters.site import Installed
from envguard.adapters.stat_index import ABSENT, Details, Kept, StatIndex, UnitKept, clock, settled
from envguard.adapters.tree import Unit
from envguard.formats.pyc import cache_tags
from envguard.model.facts import FileFact, SharedPath
from envguard.model.record import Listing
from envguard.model.target import Layout, Level
from envguard.ports import Baseline, Progress


@dataclass(slots=True)
class Looked:
    """What a look came to."""

    distributions: tuple[Installed, ...]
    files: tuple[FileFact, ...] | None
    """None where only RECORDs were read."""
    shared: tuple[SharedPath, ...]
    seen: int = 0
    """Files held against RECORD."""
    digests: Mapping[str, bytes] = field(default_factory=dict)
    """Digests of the library folders that are settled, by key: what is read from one of them can be kept."""
    kept: Kept = field(default_factory=Kept)
    save: Callable[[], None] = field(default=lambda: None)
    """Keeps what there is to keep for the next look; call it once, when ``kept`` is complete."""


class Look:
    """A look in progress. ``soabi`` is the target interpreter's; ``environ`` what its children get."""

    def __init__(
        self,
        layout: Layout,
        level: Level,
        *,
        soabi: str,
        environ: Mapping[str, str],
        baseline: Baseline,
        progress: Progress,
    ) -> None:
        self._layout = layout
        self._level = level
        self._tags = cache_tags(soabi)
        self._environ = environ
        self._baseline = baseline
        self._progress = progress
        self._index = StatIndex(layout, f"{soabi}\n{layout.is_venv}\n{layout.python}")
        self._before = Kept() if level is Level.FULL else self._index.load()
        self._stamp = clock([layout.prefix, layout.scripts, *layout.libraries])
        self._units: dict[str, Unit] = {}
        self._listings: dict[str, Listing] = {}
        self._now = Kept()

    def look(self) -> Looked:
        """Look, once."""
        with contextlib.ExitStack() as stack:
            roots = [_open(stack, os.fspath(folder)) for folder in self._layout.libraries]
            installed = [one for number, root in enumerate(roots) for one in self._distributions(number, root)]
            self._now.content = self._content(installed)
            again = self._now.content != self._before.content
            if self._level is Level.METADATA:
                return self._metadata_only(installed, again=again)
            claims = self._claims(installed) if again else None
            self._walk(roots, again=again)
            self._list_placed(claims)
            return self._judged(roots, installed, claims)

    def _distributions(self, number: int, root: int | None) -> Iterator[Installed]:
        if root is None:
            return
        try:
            names = sorted(filter(site.is_distribution, os.listdir(root)))  # noqa: PTH208 - a descriptor
        except OSError:
            return
        deep = self._level is not Level.METADATA
        self._take(number, tree.walk(root, self._known(number), start=names, deep=deep))
        for name in names:
            key = library_key(number, name)
            unit, kept = self._units[key], self._before.distributions.get(key)
            if kept is not None and unit.digest == kept[0]:
                one = kept[1]
            else:
                one, listing = site.read(self._layout, number, root, name)
                if listing is not None:
                    self._listings[key] = listing
            if unit.problem is not None:
                del self._units[key]  # a file, not a folder
            else:
                self._now.distributions[key] = (self._lasting(unit), one)
            yield one

    def _content(self, installed: Sequence[Installed]) -> bytes:
        """Digest of all that is said of files."""
        state = hashlib.blake2b(digest_size=16)
        for one in installed:
            state.update(f"{distribution_key(one)}\0".encode("utf-8", "surrogateescape") + one.content)
            if one.record is None:
                state.update(hashlib.blake2b(self._baseline(one.name) or b"", digest_size=16).digest())
        return state.digest()

    def _claims(self, installed: Iterable[Installed], only: frozenset[str] | None = None) -> Claims:
        claims = Claims(self._layout)
        for one in installed:
            key = distribution_key(one)
            if only is None or key in only:
                claims.add_installed(one, self._listings.pop(key, None), self._baseline)
        return claims

    def _metadata_only(self, installed: Sequence[Installed], *, again: bool) -> Looked:
        shared = tuple(self._claims(installed).shared()) if again else self._before.shared
        kept = self._before
        kept.distributions = self._now.distributions
        return Looked(
            tuple(installed), None, _sorted(shared), kept=kept, save=lambda: self._index.save(kept, None)
        )

    def _walk(self, roots: Sequence[int | None], *, again: bool) -> None:
        for number, root in enumerate(roots):
            if root is None:
                continue
            distributions = frozenset(
                path for path in self._distribution_folders(number) if library_key(number, path) in self._units
            )
            if again:  # what was seen of them must be seen with its entries now
                self._take(number, tree.walk(root, _nothing, start=sorted(distributions)))
            known = _nothing if again else self._known(number)
            self._take(number, tree.walk(root, known, skip=distributions))
        with contextlib.suppress(OSError), tree.opened(os.fspath(self._layout.scripts)) as folder:
            kept = None if again else self._digest(SCRIPTS)
            for _, unit in tree.walk(folder, lambda _: kept, deep=False):
                self._units[SCRIPTS] = unit

    def _distribution_folders(self, number: int) -> list[str]:
        keys = (split_key(key) for key in self._now.distributions)
        return [path for library, path in keys if library == number]

    def _list_placed(self, claims: Claims | None) -> None:
        """Look at the owned files outside the libraries, one by one: their folders are others' too."""
        names = self._before.placed if claims is None else tuple(sorted(claims.of(PLACED)))
        self._now.placed = names
        if names:
            places = {name: os.fspath(self._place(name)) for name in names}
            self._units[PLACED] = tree.listed(places, None if claims is not None else self._digest(PLACED))

    def _place(self, name: str) -> os.PathLike[str]:
        root, _, path = name.partition("\0")
        return place_of(self._layout, root, path)

    def _judged(
        self, roots: Sequence[int | None], installed: Sequence[Installed], claims: Claims | None
    ) -> Looked:
        jobs = self._jobs(claims)
        for key, unit in self._units.items():
            if unit.entries is None:
                self._now.units[key] = self._before.units[key]
        if claims is None:
            self._now.shared = self._before.shared
            claims = self._claims(installed, self._concerned(jobs)) if jobs else Claims(self._layout)
        else:
            self._now.shared = tuple(_sorted(claims.shared()))
        details = self._index.load_details() if jobs and self._level is not Level.FULL else {}
        judge = Judge(
            self._layout,
            roots,
            claims,
            silent=silent_names(installed, self._baseline),
            tags=self._tags,
            details=details,
        )
        results = judge.judge(jobs, lambda done, total: self._progress.step("files", done, total, "files"))
        self._ask_for_code(results, judge)
        gone = [key for key, unit in results.items() if unit.digest == ABSENT and not claims.of(key)]
        self._now.units.update((key, unit) for key, unit in results.items() if key not in gone)
        extra = self._code_differences(judge) if self._level is Level.FULL else []
        return self._looked(installed, jobs, details, judge, extra)

    def _jobs(self, claims: Claims | None) -> list[Job]:
        """Folders to judge: those that changed, and those that claims speak of and that aren't there."""
        jobs = [Job(key, unit) for key, unit in self._units.items() if unit.entries is not None]
        unreadable = [key for key, unit in self._units.items() if unit.problem is not None]
        expected = self._before.units if claims is None else claims.units
        for key in expected:
            if key in self._units or any(key.startswith(f"{folder.rstrip('/')}/") for folder in unreadable):
                continue
            kept = self._before.units.get(key) if claims is None else None
            if kept is not None and kept.digest == ABSENT:
                self._now.units[key] = kept
            else:
                jobs.append(Job(key, Unit(ABSENT, 0, ())))
        return jobs

    def _concerned(self, jobs: Sequence[Job]) -> frozenset[str]:
        """Distributions that may have files in the folders to judge."""
        found: set[str] = set()
        for job in jobs:
            kept = self._before.units.get(job.key)
            if kept is not None:
                found.update(kept.owners)
            elif job.key.endswith("/__pycache__"):
                above = self._before.units.get(job.key.rpartition("/")[0])
                found.update(above.owners if above is not None else ())
        return frozenset(found)

    def _ask_for_code(self, results: dict[str, UnitKept], judge: Judge) -> None:
        """Compiled files that name their source's hash are held against it by the target's interpreter."""
        if self._level is Level.FULL:
            return
        for key, pairs in judge.pairs.items():
            found = compiled.by_content(self._layout.python, pairs, self._environ, _ignore, code=False)
            results[key].facts += tuple(found)

    def _code_differences(self, judge: Judge) -> list[FileFact]:
        pairs = [pair for found in judge.pairs.values() for pair in found]
        return list(
            compiled.by_content(
                self._layout.python,
                pairs,
                self._environ,
                lambda done: self._progress.step("bytecode", done, len(pairs), "files"),
                code=True,
            )
        )

    def _looked(
        self,
        installed: Sequence[Installed],
        jobs: Sequence[Job],
        details: Details,
        judge: Judge,
        extra: Iterable[FileFact],
    ) -> Looked:
        facts = [fact for unit in self._now.units.values() for fact in unit.facts]
        seen = sum(unit.seen for unit in self._now.units.values())
        digests = {key: digest for key, unit in self._units.items() if (digest := self._lasting(unit))}
        for job in jobs:
            if job.key in self._now.units:
                hashed = any(pair.task for pair in judge.pairs.get(job.key, ()))
                full = self._level is Level.FULL  # asked for more of these than FAST does
                self._now.units[job.key].digest = b"" if full and hashed else self._lasting(job.unit)
        if any(unit.problem is not None for unit in self._units.values()):
            self._now.content = b""  # what lies below is not known: begin anew next time
        changed = bool(jobs) or self._now.distributions != self._before.distributions
        kept = self._now
        kept.torch = self._before.torch

        def save() -> None:
            if changed or kept.torch != self._before.torch:
                self._index.save(kept, self._details_now(details, judge) if jobs else None)

        return Looked(
            distributions=tuple(installed),
            files=tuple(sorted([*facts, *extra], key=_by_place)),
            shared=self._now.shared,
            seen=seen,
            digests=digests,
            kept=kept,
            save=save,
        )

    def _details_now(self, details: Details, judge: Judge) -> Details:
        """Details of every folder that is still there; of judged ones only what is settled."""
        whole = {key: files for key, files in details.items() if key in self._now.units}
        for key, files in judge.hashed.items():
            whole[key] = {name: one for name, one in files.items() if settled(one[2], self._stamp)}
        return whole

    def _lasting(self, unit: Unit) -> bytes:
        """A unit's digest, if a later change must give another; else one that never matches."""
        if unit.digest == ABSENT or (unit.problem is None and settled(unit.latest, self._stamp)):
            return unit.digest
        return b""

    def _take(self, number: int, found: Iterable[tuple[str, Unit]]) -> None:
        for path, unit in found:
            self._units[library_key(number, path)] = unit

    def _known(self, number: int) -> Callable[[str], bytes | None]:
        return lambda path: self._digest(f"{number}/{path}")

    def _digest(self, key: str) -> bytes | None:
        kept = self._before.units.get(key)
        return kept.digest if kept is not None else None


def _open(stack: contextlib.ExitStack, folder: str) -> int | None:
    try:
        return stack.enter_context(tree.opened(folder))
    except OSError:
        return None


def _nothing(_: str) -> None:
    """No digest is known."""


def _ignore(_: int) -> None:
    """Nobody is told."""


def _sorted(shared: Iterable[SharedPath]) -> tuple[SharedPath, ...]:
    return tuple(sorted(shared, key=lambda one: one.path))


def _by_place(fact: FileFact) -> tuple[str, str, str]:
    return fact.root, fact.path, fact.kind.value
