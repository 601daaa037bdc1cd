"""Evidence: an index serves a wheel whose RECORD, read by HTTP ranges, is the installed one."""

from __future__ import annotations

import re
import sysconfig
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.provenance.installed import Installed, locate
from envguard.adapters.provenance.reading import SMALL_CAP, read
from envguard.adapters.remote.kept import KeptWheels
from envguard.errors import EnvguardError, IndexUnreachableError, NotObtainableError
from envguard.formats.distinfo import read_wheel_tags
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.facts import Interpreter
from envguard.model.target import Layout
from envguard.model.wheel_facts import Cost, Fingerprint, Part, WheelFacts
from envguard.planning import reupload, wheel_match, wheel_names
from envguard.planning.wheel_match import Wanted
from envguard.ports import Offer, Progress, Provenance, WheelReader

AT_ONCE = 8
"""Distributions at a time: more only adds to a server's load."""

_MOST_CANDIDATES = 4
_NEEDED = frozenset({Part.RECORD})
_PYTHON = re.compile(r"python(\d)\.(\d+)(t?)")
_NO_WHEEL = ("vcs", "folder")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of one distribution."""

    wheel: Wheel | None = None
    remark: str | None = None
    trouble: EnvguardError | None = None
    cost: Cost = field(default_factory=Cost)


class IndexRecord:
    """``ports.Identifier``: what this machine knows, and for what it doesn't, the indexes.

    ``index`` None: only this machine is asked. A source that can't be asked is a trouble, never an error.
    """

    def __init__(
        self,
        local: Provenance,
        index: SimpleIndexes | None,
        reader: WheelReader | None,
        *,
        progress: Progress,
        kept: KeptWheels | None = None,
    ) -> None:
        self._local = local
        self._index = index
        self._reader = reader
        self._progress = progress
        self._kept = kept or KeptWheels()
        self._remarks: dict[str, str] = {}
        self._troubles: list[EnvguardError] = []
        self.cost = Cost()
        """Of all ranges; pages of indexes are not counted."""
        self.asked = 0
        """Distributions that the indexes were asked for."""

    def wheels(self, layout: Layout, distributions: Sequence[Distribution]) -> Mapping[str, Wheel]:
        """Canonical name → wheel with the best evidence there is; names without any are left out."""
        found = dict(self._local.wheels(layout, distributions))
        left = [one for one in distributions if _is_open(one, found.get(one.name))]
        return self._searched(left, _want(layout), lambda one: locate(layout, one), found)

    def recorded(self, distributions: Sequence[Distribution], interpreter: Interpreter) -> Mapping[str, Wheel]:
        """As ``wheels``, where no environment is at hand: by the recorded fingerprints alone."""
        left = [one for one in distributions if _is_open(one, None if one.wheel.original is None else one.wheel)]
        return self._searched(left, wheel_match.of_interpreter(interpreter), lambda one: Installed(one, None), {})

    def _searched(
        self,
        left: Sequence[Distribution],
        want: Wanted,
        where: Callable[[Distribution], Installed],
        found: dict[str, Wheel],
    ) -> Mapping[str, Wheel]:
        """``found``, and what the indexes know of ``left``."""
        if self._index is None or self._reader is None:
            return found
        self.asked = len(left)
        search = _Search(self._index, self._reader, self._kept, want)
        for distribution, answer in self._answers(lambda one: search.wheel(where(one)), left):
            self._take(distribution, answer, found)
        return found

    def remark(self, name: str) -> str | None:
        """Why nothing is proven of a distribution, or what it was held against."""
        return self._remarks.get(name)

    def troubles(self) -> Sequence[EnvguardError]:
        """Sources that could not be asked, each once."""
        return tuple({(fault.message, fault.where): fault for fault in self._troubles}.values())

    def _take(self, distribution: Distribution, answer: _Answer, found: dict[str, Wheel]) -> None:
        self.cost += answer.cost
        if answer.remark is not None:
            self._remarks[distribution.name] = answer.remark
        if answer.trouble is not None:
            self._troubles.append(answer.trouble)
        if answer.wheel is None:
            return
        claimed = found.get(distribution.name)
        if answer.wheel.evidence is Evidence.NONE and claimed is not None:
            return  # nothing proven, and what was asked for at installation is the better word
        found[distribution.name] = answer.wheel

    def _answers(
        self, ask: Callable[[Distribution], _Answer], left: Sequence[Distribution]
    ) -> list[tuple[Distribution, _Answer]]:
        """Asked side by side; in the order of ``left``."""
        stopped = threading.Event()

        def one(distribution: Distribution) -> _Answer:
            return _Answer() if stopped.is_set() else ask(distribution)

        with ThreadPoolExecutor(AT_ONCE) as threads:
            futures = [threads.submit(one, distribution) for distribution in left]
            try:
                for count, _ in enumerate(as_completed(futures), start=1):
                    self._progress.step("asking indexes", count, len(left), "distributions")
            except BaseException:
                stopped.set()
                raise
        return [(distribution, future.result()) for distribution, future in zip(left, futures, strict=True)]


def _is_open(distribution: Distribution, wheel: Wheel | None) -> bool:
    """Whether an index could tell more than this machine does."""
    if distribution.origin is not None and distribution.origin.kind in _NO_WHEEL:
        return False
    if wheel is None:
        return True
    return wheel.sha256 is None and wheel.evidence is not Evidence.BUILT_FROM_SDIST


def _want(layout: Layout) -> Wanted:
    """The environment's Python and this machine's platform."""
    match = next((found for path in layout.libraries if (found := _PYTHON.search(str(path)))), None)
    python = None if match is None else f"cp{match[1]}{match[2]}{match[3]}"
    return wheel_match.wanted(python, sysconfig.get_platform())


class _Patience:
    """Whether it is worth asking on: without a network every distribution would wait for as long."""

    _MOST = 3

    def __init__(self) -> None:
        self._answered = False
        self._faults: list[EnvguardError] = []

    def heard(self, troubles: Sequence[EnvguardError]) -> None:
        """An index was asked; what kept it from answering."""
        unreachable = [fault for fault in troubles if isinstance(fault, IndexUnreachableError)]
        self._faults += unreachable
        self._answered = self._answered or not unreachable

    @property
    def ended(self) -> EnvguardError | None:
        """The first of several faults, where no index has ever answered."""
        return self._faults[0] if len(self._faults) >= self._MOST and not self._answered else None


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one distribution at a time; for several threads."""

    index: SimpleIndexes
    reader: WheelReader
    kept: KeptWheels
    want: Wanted
    patience: _Patience = field(default_factory=_Patience)

    def wheel(self, installed: Installed) -> _Answer:
        """Proven, claimed, or why neither."""
        distribution = installed.distribution
        if distribution.record is None:
            return _Answer(remark=f"its RECORD can't be used ({distribution.problem or 'no fingerprint'})")
        own = Fingerprint(distribution.record, distribution.record_data)
        proven = self.kept.proven(distribution.name, own)
        if proven is not None and wheel_names.fits(proven.filename or "", distribution.name, distribution.version):
            return _Answer(proven)
        trouble = self.patience.ended
        if trouble is not None:
            return _Answer(remark=f"no index was asked, since none answered: {trouble.message}", trouble=trouble)
        try:
            offers = self.index.offers(distribution.name)
        except EnvguardError as fault:
            self.patience.heard([fault])
            return _Answer(remark=f"no index could be asked: {fault.message}", trouble=fault)
        self.patience.heard(self.index.troubles(distribution.name))
        answer = self._among(installed, own, offers)
        troubles = self.index.troubles(distribution.name)
        if troubles and (answer.wheel is None or answer.wheel.sha256 is None) and answer.trouble is None:
            return replace(answer, trouble=troubles[0])
        return answer

    def _among(self, installed: Installed, own: Fingerprint, offers: Sequence[Offer]) -> _Answer:
        distribution = installed.distribution
        text = read(installed.folder / "WHEEL", SMALL_CAP) if installed.folder else None
        rebuilt = tags = None
        if text is not None and installed.folder is not None:
            rebuilt = wheel_names.rebuilt(installed.folder.name, text.decode("utf-8", "replace"))
            tags = read_wheel_tags(text).tags
        candidates = wheel_match.candidates(
            offers, distribution.name, distribution.version, rebuilt, tags or (), self.want
        )
        if not candidates:
            return _Answer(remark=self._unlisted(distribution))
        return self._held(installed, own, candidates[:_MOST_CANDIDATES], exact=rebuilt)

    def _held(
        self, installed: Installed, own: Fingerprint, candidates: Sequence[Offer], *, exact: str | None
    ) -> _Answer:
        """Each candidate's RECORD against the installed one, until one is it."""
        distribution, cost = installed.distribution, Cost()
        nearest, faults = "", []
        for offer in candidates:
            try:
                facts = self.reader.read(offer, _NEEDED)
            except EnvguardError as fault:
                faults.append(fault)
                continue
            cost += facts.cost
            if own in facts.content.fingerprints:
                wheel = _proven(_public(offer, facts, candidates), facts)
                if wheel.sha256 is not None:
                    self.kept.prove(distribution.name, own, wheel)
                return _Answer(wheel, cost=cost)
            nearest = nearest or _difference(distribution, facts)
        if faults:
            return _unread(candidates, faults[0], exact, cost)
        sdist = self._sdist(distribution)
        built = f"; it may have been built from {sdist}" if sdist else ""
        return _Answer(remark=f"no file of an index has this RECORD; {nearest}{built}", cost=cost)

    def _unlisted(self, distribution: Distribution) -> str:
        """An index without a fitting wheel: was it built?"""
        name, version = distribution.name, distribution.version
        sdist = self._sdist(distribution)
        if sdist is not None:
            return f"built from its sdist, it seems: no index has a wheel of it for this Python, one lists {sdist}"
        return f"no index lists a wheel of {name} {version} for this Python and platform"

    def _sdist(self, distribution: Distribution) -> str | None:
        """The sdist of its version that an index lists, with what it says of its bytes."""
        try:
            sdists = self.index.sdists(distribution.name)
        except EnvguardError:
            return None
        for one in sdists:
            if wheel_names.fits_sdist(one.filename, distribution.name, distribution.version):
                return f"{one.filename} {one.sha256}" if one.sha256 else one.filename
        return None


def _public(offer: Offer, facts: WheelFacts, candidates: Sequence[Offer]) -> Offer:
    """An index that lists the very bytes of a folder's file: locks are read on other machines too."""
    listed = [one for one in candidates if one.sha256 is not None and one.sha256 == facts.sha256]
    return listed[0] if listed else offer


def _proven(offer: Offer, facts: WheelFacts) -> Wheel:
    return Wheel(
        filename=offer.filename,
        sha256=facts.sha256,
        size=facts.size,
        index=offer.source,
        evidence=Evidence.INDEX_RECORD,
    )


def _difference(distribution: Distribution, facts: WheelFacts) -> str:
    """What sets a candidate apart from the installed distribution, in words."""
    if distribution.listing is None or not facts.content.rows:
        return f"{facts.filename} has another one"
    comparison = reupload.compare(facts.content.rows, distribution.listing)
    return f"against {facts.filename}: {reupload.explained(comparison)}"


def _unread(candidates: Sequence[Offer], fault: EnvguardError, exact: str | None, cost: Cost) -> _Answer:
    """A candidate could not be read: its hash is no more than a claim, and only where it is the only one."""
    remark = f"{candidates[0].filename} could not be held against it: {fault.message}"
    trouble = None if isinstance(fault, NotObtainableError) else fault
    named = [offer for offer in candidates if exact is not None and wheel_names.same(offer.filename, exact)]
    if len(named) != 1 or named[0].sha256 is None:
        return _Answer(remark=remark, trouble=trouble, cost=cost)
    offer = named[0]
    wheel = Wheel(filename=offer.filename, claimed_sha256=offer.sha256, size=offer.size, index=offer.source)
    return _Answer(wheel, remark, trouble, cost)
