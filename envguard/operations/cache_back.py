"""The last step of a restore: the compile cache is put back, or the warmup run, and it is said which, and why."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from envguard.errors import EnvguardError
from envguard.formats.lockfile import lock_id
from envguard.model.cache_files import CachePlace
from envguard.model.cache_prediction import predict
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.target import Level, Target
from envguard.operations.cache_archive import IS_CODE, export_lines, load
from envguard.operations.warmup import Warmed, warmup
from envguard.planning.warmup import devices_of, missing_devices
from envguard.ports import Caches, Prober, Progress, Store, Warmer


@dataclass(frozen=True, slots=True)
class Brought:
    """What was done, in words. ``failed``: it was tried, and a start would compile all the same."""

    notes: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class BringBack:
    """Brings the cache of a lock back for an environment. ``prober`` looks at the lock's own cache, with texts.

    ``distrust``: why the lock's word is not enough to put code in place. ``leave``: its command may run.
    """

    distrust: str | None
    leave: bool
    prober: Prober
    caches: Caches
    warmer: Warmer
    store: Store
    progress: Progress

    def planned(self, lock: Lock) -> tuple[str, ...]:
        """What a restore would do."""
        if lock.cache_manifest is not None and self.distrust is None:
            return ("the compile cache is put back from the store",)
        kept = "" if lock.cache_manifest is None else f"the compile cache is not put back: {self.distrust}; "
        if lock.warmup is None:
            return (f"{kept}no warmup is recorded: the first start compiles",)
        return (f"{kept}{self.runs(lock)}",)

    def runs(self, lock: Lock) -> str:
        """Whether a lock's warmup is run, in words."""
        recipe = lock.warmup.recipe if lock.warmup is not None else None
        if recipe is None or not recipe.needs_leave or self.leave:
            return "the warmup is run"
        what = shlex.join(recipe.command) or "score_mod"
        return f"the warmup is not run, since it is code that the lock names ({what}): --run-warmup"

    def bring(self, lock: Lock, target: Target) -> Brought:
        """Put back, else warm. Faults are told, never raised: the environment is whole without it."""
        return _Bringing(self, lock, target).all()


@dataclass(slots=True)
class _Bringing:
    by: BringBack
    lock: Lock
    target: Target
    told: list[str] = field(default_factory=list)

    def all(self) -> Brought:
        try:
            place = self.by.caches.own(self.lock.name, lock_id(self.lock))
            if self.lock.cache_manifest is not None and self._put_back(place):
                return Brought(tuple(self.told))
            return self._warm(place)
        except EnvguardError as problem:
            return Brought((*self.told, _told(problem)), failed=True)

    def _look(self) -> Facts:
        return self.by.prober.facts(
            self.target, Level.METADATA, baseline=lambda _: None, progress=self.by.progress
        )

    def _put_back(self, place: CachePlace) -> bool:
        """Whether every recorded key would hit now."""
        try:
            done = load(
                self.lock,
                place,
                distrust=self.by.distrust,
                observed=self._look(),
                caches=self.by.caches,
                store=self.by.store,
                progress=self.by.progress,
            )
        except EnvguardError as problem:
            self.told.append(f"the compile cache was not put back: {_told(problem)}")
            return False
        what = "was there already" if done.unchanged else f"was put back ({IS_CODE})"
        self.told.append(f"the compile cache {what}: {done.files:,} files in {place.inductor}")
        self.told += [f"what was there before is kept: {path}" for path in done.replaced]
        prediction = predict(self.lock.facts, self._look())
        self.told.append(f"{prediction.hits:,} of {prediction.recorded:,} recorded keys would hit")
        self.told += [f"  {change}" for change in prediction.changes]
        if prediction.hits < prediction.recorded:
            return False
        self.told += export_lines(place)
        return True

    def _warm(self, place: CachePlace) -> Brought:
        recorded = self.lock.warmup
        if recorded is None:
            return Brought((*self.told, "no warmup is recorded: the first start compiles what is missing"))
        if recorded.recipe.needs_leave and not self.by.leave:
            return Brought((*self.told, self.by.runs(self.lock)))
        facts = self._look()
        missing = missing_devices(devices_of(recorded.recipe, (), facts), facts)
        if missing:
            return Brought((*self.told, f"the warmup was not run: {', '.join(missing)} is not on this machine"))
        warmed = warmup(
            self.lock,
            self.target,
            recipe=recorded.recipe,
            leave=self.by.leave,
            devices=(),
            place=place,
            update=False,
            prober=self.by.prober,
            warmer=self.by.warmer,
            caches=self.by.caches,
            store=self.by.store,
            progress=self.by.progress,
        )
        return Brought((*self.told, *_warmed(warmed)), failed=warmed.exit_code != 0)


def _warmed(warmed: Warmed) -> Iterator[str]:
    seconds = sum(row.cold_seconds for row in warmed.proof.rows)
    proven = "and a second run loaded everything" if warmed.proof.holds else "and it is not proven"
    yield f"the warmup was run ({seconds:.0f} s), {proven}: {len(warmed.keys.names):,} keys"
    yield from warmed.proof.failures
    yield from map(str, warmed.changes)
    if warmed.missing:
        yield f"{len(warmed.missing):,} recorded keys were not made, {warmed.missing[0][:24]}… among them"
    yield from export_lines(warmed.place)


def _told(problem: EnvguardError) -> str:
    return problem.message + (f" ({problem.hint})" if problem.hint else "")
