"""Objects of the store that were lost or damaged, had again from the first source with their very bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from envguard.errors import EnvguardError, StoreError
from envguard.formats.record import dump_rows
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.facts import FileFact
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.target import Layout, Level, Target
from envguard.operations.stored import Faulty, Mended
from envguard.planning.obtain import Step, obtain
from envguard.ports import Archivist, Index, Prober, Progress, TendedStore


@dataclass(slots=True)
class Again:
    """Gets objects again; environments are looked at once, when one is needed."""

    store: TendedStore
    index: Index
    archivist: Archivist
    prober: Prober
    targets: Sequence[Target]
    progress: Progress
    looked: list[tuple[Layout, Mapping[str, Distribution]]] | None = None

    def get(self, faulty: Faulty, locks: Sequence[Lock], folder: Path, aside: Path | None) -> Mended:
        """One object, from the first source that has its very bytes."""
        if not locks:
            return Mended(faulty, "nobody needs it", aside=aside)
        source, reason = None, "no source has its bytes"
        for lock in locks:
            try:
                source = self._get(faulty, lock, folder)
            except StoreError:
                raise
            except (EnvguardError, OSError) as problem:
                reason = getattr(problem, "message", None) or str(problem)
            if source is not None:
                break
        return Mended(faulty, source, "" if source else reason, aside)

    def _get(self, faulty: Faulty, lock: Lock, folder: Path) -> str | None:
        entries = lock.facts.distributions.value if isinstance(lock.facts.distributions, Value) else ()
        digest = faulty.digest
        for entry in entries:
            if digest == entry.wheel.rebuilt:
                return self._from_environments(entry, digest, folder, self._rebuilt)
            if digest == entry.wheel.sha256:
                return self._wheel(entry, digest, folder)
            if digest == entry.rows:
                return self._from_environments(entry, digest, folder, self._rows)
            if entry.origin is not None and digest == entry.origin.archive:
                return self._from_environments(entry, digest, folder, self._source)
        for fact in lock.facts.files.value if isinstance(lock.facts.files, Value) else ():
            if digest == fact.sha256:
                return self._file(fact, digest)
        return None

    def _wheel(self, entry: Distribution, digest: Digest, folder: Path) -> str | None:
        path = self.archivist.local(entry)
        if path is not None:
            with path.open("rb") as stream:
                return str(path) if self._put(stream, digest) else None
        step = obtain(entry, frozenset(), self.index.offers(entry.name))
        for offer in step.offers if isinstance(step, Step) else ():
            path = self.index.fetch(offer, folder, expect=digest, progress=self.progress)
            try:
                with path.open("rb") as stream:
                    if self._put(stream, digest):
                        return f"index {offer.source}" if offer.source != "find-links" else offer.source
            finally:
                path.unlink(missing_ok=True)
        return None

    def _from_environments(
        self,
        entry: Distribution,
        digest: Digest,
        folder: Path,
        make: Callable[[Layout, Distribution, Digest, Path], bool],
    ) -> str | None:
        """From an environment where the same distribution is installed."""
        for layout, found in self._environments():
            there = found.get(entry.name)
            if there is None or (there.record, there.record_data) != (entry.record, entry.record_data):
                continue
            if make(layout, _as_recorded(there, entry), digest, folder):
                return str(layout.prefix)
        return None

    def _rebuilt(self, layout: Layout, entry: Distribution, digest: Digest, folder: Path) -> bool:
        made = self.archivist.rebuild(layout, entry, folder)
        return self._take(made.path, digest)

    def _source(self, layout: Layout, entry: Distribution, digest: Digest, folder: Path) -> bool:
        tree = self.archivist.source(layout, entry, folder)
        return tree is not None and self._take(tree.path, digest)

    def _rows(self, layout: Layout, entry: Distribution, digest: Digest, folder: Path) -> bool:  # noqa: ARG002
        content = dump_rows(entry.listing) if entry.listing is not None else b""
        return Digest.of(content) == digest and bool(self.store.put(content))

    def _file(self, fact: FileFact, digest: Digest) -> str | None:
        for layout, _ in self._environments():
            try:
                with self.prober.content(layout, fact) as stream:
                    if self._put(stream, digest):
                        return str(layout.prefix)
            except OSError:
                continue
        return None

    def _take(self, path: Path, digest: Digest) -> bool:
        try:
            with path.open("rb") as stream:
                return self._put(stream, digest)
        finally:
            path.unlink(missing_ok=True)

    def _put(self, stream: BinaryIO, digest: Digest) -> bool:
        """False when these are other bytes."""
        try:
            self.store.put(stream, expect=digest)
        except StoreError:
            raise
        except EnvguardError:
            return False
        return True

    def _environments(self) -> list[tuple[Layout, Mapping[str, Distribution]]]:
        if self.looked is None:
            self.looked = []
            for target in self.targets:
                try:
                    facts = self.prober.facts(target, Level.METADATA, baseline=_no_rows, progress=self.progress)
                    layout = self.prober.layout(target)
                except EnvguardError:
                    continue  # gone, or broken: another may have it
                seen = facts.distributions.value if isinstance(facts.distributions, Value) else ()
                self.looked.append((layout, {entry.name: entry for entry in seen}))
        return self.looked


def _as_recorded(there: Distribution, entry: Distribution) -> Distribution:
    """What is installed, under the filename that the lock has."""
    return replace(there, wheel=entry.wheel)


def _no_rows(_: str) -> None:
    """What is installed speaks for itself."""
