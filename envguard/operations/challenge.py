"""challenge: is every locked wheel still what its sources have, and if not, what changed inside?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from envguard.errors import (
    EnvguardError,
    IndexUnreachableError,
    NotObtainableError,
    ObjectCorruptError,
    ObjectMissingError,
    StoreError,
)
from envguard.formats.record import load_rows
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.wheel_facts import EVERYTHING, Fingerprint, Part, WheelFacts
from envguard.operations.parallel import each
from envguard.operations.recorded import baseline_of
from envguard.planning import reupload, wheel_match, wheel_names
from envguard.ports import Baseline, Index, Offer, Progress, Store, WheelReader

ARCHIVE = "archive"
AT_ONCE = 8
_NO_WHEEL = ("vcs", "folder")


class Verdict(Enum):
    """Worst first."""

    DIFFERS = "differs"
    """A source has other bytes, or it is gone from where it was had from."""
    UNREACHED = "unreached"
    """A source could not be asked."""
    SAME = "same"
    LEFT_OUT = "left-out"
    """No index ever had it, or the lock doesn't say which wheel it is."""


@dataclass(frozen=True, slots=True)
class Witness:
    """What one source has under the locked filename. ``same`` None: it could not be told."""

    source: str
    location: str
    same: bool | None
    sha256: Digest | None = None
    size: int | None = None
    text: str = ""
    """How it is known to be the same, what differs, or why it could not be told."""


@dataclass(frozen=True, slots=True)
class Challenged:
    """One locked wheel."""

    name: str
    version: str
    filename: str | None
    verdict: Verdict
    witnesses: tuple[Witness, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Challenge:
    """All wheels of a lock."""

    lock: str
    entries: tuple[Challenged, ...]

    def count(self, verdict: Verdict) -> int:
        """How many came out so."""
        return sum(entry.verdict is verdict for entry in self.entries)

    @property
    def exit_code(self) -> int:
        """1 if one differs, 3 if one could not be asked for, else 0."""
        if self.count(Verdict.DIFFERS):
            return 1
        return 3 if self.count(Verdict.UNREACHED) else 0


def challenge(
    lock: Lock,
    *,
    sources: Collection[str],
    index: Index,
    reader: WheelReader,
    store: Store,
    progress: Progress,
) -> Challenge:
    """Hold every locked wheel against every source. ``sources``: names of the indexes that are configured."""
    recorded = lock.facts.distributions
    distributions = recorded.value if isinstance(recorded, Value) else ()
    court = _Court(sources, lock.created, index, reader, store, baseline_of(lock.facts, store))
    return Challenge(
        lock.name, tuple(each(court.hear, distributions, progress, "challenge", "wheels", workers=AT_ONCE))
    )


_REBUILT = "its wheel was never known: the archive has one that was rebuilt from the installed files"


@dataclass(frozen=True, slots=True)
class _Court:
    sources: Collection[str]
    created: datetime | None
    index: Index
    reader: WheelReader
    store: Store
    rows: Baseline

    def hear(self, entry: Distribution) -> Challenged:
        """One locked wheel against all sources."""
        reason = _left_out(entry)
        if reason is not None:
            return Challenged(entry.name, entry.version, entry.wheel.filename, Verdict.LEFT_OUT, (), (reason,))
        try:
            offers: Sequence[Offer] = self.index.offers(entry.name)
            troubles = list(self.index.troubles(entry.name))
        except EnvguardError as fault:
            offers, troubles = (), [fault]
        named = [one for one in offers if wheel_names.same(one.filename, entry.wheel.filename or "")]
        if entry.wheel.original is None and entry.wheel.rebuilt is not None:
            if not named:
                return Challenged(
                    entry.name, entry.version, entry.wheel.filename, Verdict.LEFT_OUT, (), (_REBUILT,)
                )
            # what is known of it is its RECORD; the rebuilt wheel's own bytes no index can have
            known = replace(entry, wheel=replace(entry.wheel, sha256=None, size=None))
        else:
            known = entry
        witnesses = [self._witness(known, offer) for offer in named]
        witnesses += self._archive(entry)
        faults = [Witness("", fault.where or "", None, text=fault.message) for fault in troubles]
        missing = self._missing(entry, named, bool(troubles))
        remarks = [*missing[1], *_odd(entry, witnesses), *_yanked(named), *self._others(entry, offers)]
        everyone = (*witnesses, *faults, *missing[0])
        return Challenged(
            entry.name, entry.version, entry.wheel.filename, _verdict(everyone), everyone, tuple(remarks)
        )

    def _witness(self, entry: Distribution, offer: Offer) -> Witness:
        wheel = entry.wheel
        expected = wheel.sha256 or wheel.claimed_sha256
        seen = Witness(offer.source, offer.location, None, offer.sha256, offer.size)
        if offer.sha256 is not None and expected is not None:
            if offer.sha256 != expected:
                return replace(seen, same=False, text=self._why(entry, offer))
            if offer.size is not None and wheel.size not in (None, offer.size):
                return replace(seen, same=False, text=f"it lists {offer.size} bytes; the lock has {wheel.size}")
            return replace(seen, same=True, text="the hash that it lists")
        return self._by_content(entry, offer, seen)

    def _by_content(self, entry: Distribution, offer: Offer, seen: Witness) -> Witness:
        """Where the source lists no hash, or the lock has none: RECORD tells."""
        try:
            facts = self.reader.read(offer, frozenset({Part.RECORD}))
        except EnvguardError as fault:
            return replace(seen, same=_is_fault_of_file(fault), text=fault.message)
        expected = entry.wheel.sha256 or entry.wheel.claimed_sha256
        seen = replace(seen, sha256=facts.sha256, size=facts.size)
        if facts.sha256 is not None and expected is not None:
            same, how = facts.sha256 == expected, "its bytes, hashed"
        elif entry.record is None:
            return replace(seen, text="the lock has no record fingerprint, and the source lists no hash")
        else:
            same = Fingerprint(entry.record, entry.record_data) in facts.content.fingerprints
            how = "its record fingerprint; it lists no hash"
        return replace(seen, same=same, text=how if same else self._why(entry, offer))

    def _why(self, entry: Distribution, offer: Offer) -> str:
        """What changed inside, by the two RECORDs."""
        try:
            facts = self.reader.read(offer, EVERYTHING)
        except EnvguardError as fault:
            return f"other bytes; what changed inside can't be told: {fault.message}"
        return f"other bytes: {self._change(entry, facts)}"

    def _change(self, entry: Distribution, facts: WheelFacts) -> str:
        if entry.record is not None and Fingerprint(entry.record, entry.record_data) in facts.content.fingerprints:
            return f"same {len(facts.content.rows):,} files, zip repacked"
        content = self.rows(entry.name)
        if content is None:
            return "other files (the lock's list of files is not in the store, so they can't be named)"
        try:
            comparison = reupload.compare(load_rows(content), facts.content.rows)
        except ValueError:
            return "other files (the lock's list of files can't be read)"
        torch = facts.content.torch
        now = f"; torch is {torch.build}, commit {torch.git_commit[:10]} now" if torch else ""
        return reupload.explained(comparison) + now

    def _archive(self, entry: Distribution) -> list[Witness]:
        digest = entry.wheel.sha256
        if digest is None or not self.store.has(digest):
            return []
        seen = Witness(ARCHIVE, str(digest), None, digest)
        try:
            with self.store.open(digest) as stream:
                got = Digest.of_stream(stream)
        except ObjectCorruptError as fault:
            return [replace(seen, same=False, sha256=None, text=fault.message)]
        except (ObjectMissingError, StoreError) as fault:
            return [replace(seen, text=fault.message)]
        return [replace(seen, same=got == digest, sha256=got, text="its bytes, hashed")]

    def _missing(
        self, entry: Distribution, named: Sequence[Offer], troubled: bool
    ) -> tuple[list[Witness], list[str]]:
        """Whether the source that the lock names has it still."""
        source = entry.wheel.index
        where = {offer.source for offer in named}
        if (source in where) or (source is None and where) or troubled:
            return [], []
        if source is not None and source not in self.sources:
            text = f"index {source} is not configured here"
            return ([] if where else [Witness(source, "", None, text=text)]), [text]
        gone = "no source lists it any more" if not where else f"index {source} doesn't list it any more"
        return [Witness(source or "", "", False, text=gone)], []

    def _others(self, entry: Distribution, offers: Sequence[Offer]) -> list[str]:
        """Files of the same version and tags under another name: added since, or there all the time."""
        own = wheel_names.parse(entry.wheel.filename or "")
        found = []
        for offer in wheel_match.once(offers):
            parsed = wheel_names.parse(offer.filename)
            if own is None or parsed is None or parsed == own or parsed.version != own.version:
                continue
            if parsed.tags & own.tags:
                found.append(f"{self._when(offer)}: {offer.filename}")
        return found

    def _when(self, offer: Offer) -> str:
        if offer.uploaded is None:
            return "another file of this version"
        day = offer.uploaded.date().isoformat()
        if self.created is not None and offer.uploaded > self.created:
            return f"another file of this version since, of {day}"
        return f"another file of this version, of {day}"


def _left_out(entry: Distribution) -> str | None:
    if entry.origin is not None and entry.origin.kind in _NO_WHEEL:
        return f"installed from a {'repository' if entry.origin.kind == 'vcs' else 'folder'}, not from a wheel"
    if entry.wheel.evidence is Evidence.BUILT_FROM_SDIST:
        return f"built from {entry.wheel.sdist or 'an sdist'}: no index has its bytes"
    if entry.wheel.filename is None:
        return "the lock doesn't say which wheel it is"
    return None


def _is_fault_of_file(fault: EnvguardError) -> bool | None:
    """A source that can't be asked tells nothing; one that serves something unusable is no longer the same."""
    return None if isinstance(fault, (IndexUnreachableError, NotObtainableError)) else False


def _verdict(witnesses: Sequence[Witness]) -> Verdict:
    if any(witness.same is False for witness in witnesses):
        return Verdict.DIFFERS
    if any(witness.same is None for witness in witnesses) or not witnesses:
        return Verdict.UNREACHED
    return Verdict.SAME


def _odd(entry: Distribution, witnesses: Sequence[Witness]) -> list[str]:
    """Of several sources, the ones that are alone; or the lock, where all agree against it."""
    told = [witness for witness in witnesses if witness.same is not None]
    odd = [witness for witness in told if witness.same is False]
    if len(told) < 2 or not odd:
        return []
    if len(odd) == len(told):
        values = {witness.sha256 for witness in odd}
        together = "agree with each other" if len(values) == 1 else "differ from each other"
        return [f"all {len(told)} sources differ from the lock, and {together}"]
    names = ", ".join(witness.source for witness in odd)
    return [
        f"the odd one is {names}: {len(told) - len(odd)} of {len(told)} sources have what {entry.name}'s lock has"
    ]


def _yanked(named: Sequence[Offer]) -> list[str]:
    return [
        f"yanked by {offer.source}" + (f": {offer.yanked[:200]}" if offer.yanked else "")
        for offer in named
        if offer.yanked is not None
    ]
