"""identify: the wheel of every installed distribution, with its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from envguard.errors import EnvguardError, ProbeFailedError, UsageError
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.model.target import Level, Target
from envguard.ports import Identifier, Prober, Progress


@dataclass(frozen=True, slots=True)
class Identified:
    """One installed distribution with its wheel; ``remark``: why nothing is proven, where nothing is."""

    distribution: Distribution
    remark: str | None = None

    @property
    def settled(self) -> bool:
        """Whether it is known what it is: a wheel's bytes, what it was built from, or a folder or repository."""
        wheel, origin = self.distribution.wheel, self.distribution.origin
        if origin is not None and origin.kind in ("vcs", "folder"):
            return True
        return wheel.sha256 is not None or wheel.evidence in (Evidence.BUILT_FROM_SDIST, Evidence.INDEX_RECORD)


@dataclass(frozen=True, slots=True)
class Identification:
    """All of an environment, by name; sources that could not be asked."""

    entries: tuple[Identified, ...]
    troubles: tuple[EnvguardError, ...] = ()

    @property
    def open(self) -> tuple[Identified, ...]:
        """Those that are not settled."""
        return tuple(entry for entry in self.entries if not entry.settled)

    @property
    def exit_code(self) -> int:
        """0: all settled; 3: some are not, and a source could not be asked; 4: some are not."""
        if not self.open:
            return 0
        return 3 if self.troubles else 4


def identify(target: Target, *, prober: Prober, provenance: Identifier, progress: Progress) -> Identification:
    """Which wheel every installed distribution came from. ProbeFailedError; the prober's own errors."""
    facts = prober.facts(target, Level.METADATA, baseline=_nothing, progress=progress)
    seen = facts.distributions
    if isinstance(seen, Unobserved):
        raise ProbeFailedError(f"the installed distributions could not be read: {seen.reason}")
    distributions: Sequence[Distribution] = seen.value if isinstance(seen, Value) else ()
    return _identification(distributions, provenance.wheels(prober.layout(target), distributions), provenance)


def identify_recorded(lock: Lock, *, provenance: Identifier) -> Identification:
    """Which wheels a lock's distributions came from, where it doesn't say. UsageError: it says too little."""
    seen, interpreter = lock.facts.distributions, lock.facts.interpreter
    if not isinstance(seen, Value) or not isinstance(interpreter, Value):
        raise UsageError("the lock records no distributions, or no interpreter", where=lock.name)
    wheels = provenance.recorded(seen.value, interpreter.value)
    return _identification(seen.value, wheels, provenance)


def completed(lock: Lock, found: Identification, indexes: Mapping[str, str]) -> Lock:
    """The lock with every wheel that is known now; nothing that it knew is changed.

    ``indexes``: name → address of those that a lock may name.
    """
    seen = lock.facts.distributions
    if not isinstance(seen, Value):
        return lock
    now = {entry.distribution.name: entry.distribution.wheel for entry in found.entries}
    whole = tuple(
        replace(one, wheel=replace(now[one.name], rebuilt=one.wheel.rebuilt))
        if one.wheel.original is None and now[one.name].original is not None
        else one
        for one in seen.value
    )
    used = {one.wheel.index for one in whole}
    named = {name: address for name, address in indexes.items() if name in used}
    facts = replace(lock.facts, distributions=Value(whole))
    return replace(lock, facts=facts, indexes={**named, **lock.indexes})


def _identification(
    distributions: Sequence[Distribution], wheels: Mapping[str, Wheel], provenance: Identifier
) -> Identification:
    entries = [
        Identified(
            replace(one, wheel=wheels[one.name]) if one.name in wheels else one, provenance.remark(one.name)
        )
        for one in distributions
    ]
    return Identification(
        tuple(sorted(entries, key=lambda entry: entry.distribution.name)), tuple(provenance.troubles())
    )


def _nothing(_: str) -> None:
    """What is installed speaks for itself."""
