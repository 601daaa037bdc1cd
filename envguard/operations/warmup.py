"""warmup: compile what a run needs beforehand, then prove by a second run that nothing is compiled any more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace

from envguard.errors import NotTrustedError, UsageError, WarmupFailedError
from envguard.formats.cache_trace import dump_graphs
from envguard.formats.lockfile import lock_id
from envguard.model.cache import CacheKeys
from envguard.model.cache_files import CachePlace
from envguard.model.cache_prediction import Change, predict
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value, value_or_none
from envguard.model.target import Level, Target
from envguard.model.variables import KNOWN
from envguard.model.warm_run import Ran, Start
from envguard.model.warmup import Bypass, Launch, Proof, Recipe, Warmup
from envguard.operations.recorded import baseline_of, with_listings
from envguard.planning import warmup as planning
from envguard.ports import Caches, Prober, Progress, Store, Warmer


@dataclass(frozen=True, slots=True)
class Warmed:
    """What a warmup came to. ``lock``: to be written; None when its word stays as it is."""

    proof: Proof
    recipe: Recipe
    place: CachePlace
    keys: CacheKeys
    lock: Lock | None = None
    missing: tuple[str, ...] = ()
    """Recorded keys that are not in the folder now."""
    changes: tuple[Change, ...] = ()
    """Factors in which this environment is not the lock's: then these keys are another environment's."""
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 when proven, and the lock's keys are there; 1 else."""
        return 0 if self.proof.holds and not self.missing and not self.changes else 1


def warmup(
    lock: Lock,
    target: Target,
    *,
    recipe: Recipe,
    leave: bool,
    devices: Sequence[str],
    place: CachePlace | None,
    update: bool,
    prober: Prober,
    warmer: Warmer,
    caches: Caches,
    store: Store,
    progress: Progress,
) -> Warmed:
    """Run a recipe twice. ``leave``: code that the recipe names may run; ``place`` None: the lock's own cache.

    ``prober`` looks at ``place``, with entries' texts. NotTrustedError, UsageError, CacheUnsafeError;
    WarmupFailedError when a run fails, takes too long or compiles nothing, or a device isn't there.
    """
    if recipe.needs_leave and not leave:
        raise refusal(recipe)
    where = place if place is not None else caches.own(lock.name, lock_id(lock))
    caches.prepare(where)
    run = _Run(lock, target, recipe, where, prober, warmer, store, progress)
    return run.all(devices, update=update)


def refusal(recipe: Recipe) -> NotTrustedError:
    """A recipe that is code, and what to do."""
    score = recipe.workload.score_mod if recipe.workload is not None else None
    what = shlex.join(recipe.command) if recipe.command else f"score_mod {score}"
    return NotTrustedError(
        f"this lock's warmup runs code that the lock names: {what}",
        hint="look at it, then: --run-warmup (or trust-locks = true in [tool.envguard])",
    )


@dataclass(slots=True)
class _Run:
    lock: Lock
    target: Target
    recipe: Recipe
    place: CachePlace
    prober: Prober
    warmer: Warmer
    store: Store
    progress: Progress

    def all(self, asked: Sequence[str], *, update: bool) -> Warmed:
        before = self._look()
        devices = planning.devices_of(self.recipe, asked, before)
        self._refuse_missing(devices, before)
        cold = self._start(devices, "warmup")
        after = self._look()
        made = planning.keys_made(cold, value_or_none(after.keys))
        if not made.names:
            raise _nothing(cold)
        warm = self._start(devices, "proof")
        again = self._look()
        proof = self._proof(cold, warm, after, again)
        return self._result(replace(self.recipe, devices=devices), proof, made, again, update=update)

    def _look(self) -> Facts:
        return self.prober.facts(
            self.target, Level.METADATA, baseline=baseline_of(self.lock.facts, self.store), progress=self.progress
        )

    def _refuse_missing(self, devices: Sequence[str], facts: Facts) -> None:
        missing = planning.missing_devices(devices, facts)
        if not missing:
            return
        gpus = facts.gpus
        if isinstance(gpus, Value) and gpus.value:
            here = f"this machine has {', '.join(f'cuda:{gpu.index}' for gpu in gpus.value)}"
        else:
            here = f"no GPU is seen here{f' ({gpus.reason})' if isinstance(gpus, Unobserved) else ''}"
        raise WarmupFailedError(
            f"there is no {', '.join(missing)}: {here}",
            where=self.lock.name,
            hint="name those that are there: --devices 0,1 (as CUDA_VISIBLE_DEVICES numbers them), or cpu",
        )

    def _start(self, devices: Sequence[str], what: str) -> list[tuple[str | None, Ran]]:
        """One start a device, or one for all."""
        each = self.recipe.launch is Launch.PER_DEVICE
        groups: list[tuple[str, ...]] = [(device,) for device in devices] if each else [tuple(devices)]
        done: list[tuple[str | None, Ran]] = []
        for number, group in enumerate(groups):
            self.progress.step(what, number, len(groups), "starts")
            ran = self.warmer.run(
                Start(
                    target=self.target,
                    place=self.place,
                    command=self.recipe.command,
                    workload=self.recipe.workload,
                    devices=group,
                    rank=number,
                    steps=self.recipe.steps,
                    deadline=self.recipe.deadline,
                    variables=planning.variables_of(self.lock.facts, KNOWN),
                )
            )
            self._refuse_failed(ran, ", ".join(group))
            done.append((group[0] if len(group) == 1 and self.recipe.launch is not Launch.RANKS else None, ran))
        self.progress.step(what, len(groups), len(groups), "starts")
        return done

    def _refuse_failed(self, ran: Ran, who: str) -> None:
        last = ran.last_lines[-1] if ran.last_lines else "it said nothing"
        if ran.code is None:
            raise WarmupFailedError(
                f"the warmup did not end within {self.recipe.deadline} s on {who}, and was ended; last: {last}",
                where=self.lock.name,
                hint="let it end by itself, name steps in the recipe, or give it more time: --deadline SECONDS",
            )
        if ran.code:
            ended = f"exit {ran.code}" if ran.code > 0 else f"signal {-ran.code}"
            raise WarmupFailedError(f"the warmup failed on {who} ({ended}): {last}", where=self.lock.name)

    def _proof(self, cold: planning.Runs, warm: planning.Runs, after: Facts, again: Facts) -> Proof:
        keys = value_or_none(again.keys)
        named: dict[str, set[str]] = {}
        for device in keys.devices if keys is not None else ():
            for key in device.keys:
                named.setdefault(key, set()).add(device.device)
        counts = [planning.counts_of(runs, named, self.recipe.launch) for runs in (cold, warm)]
        rows = planning.table(cold, warm, counts[0], counts[1])
        was = value_or_none(after.keys)
        there = set(was.names) if was is not None else set()
        new = tuple(key for key in (keys.names if keys is not None else ()) if key not in there)
        recorded = self._recorded_bypasses([row.who for row in rows])
        proof = planning.proof(rows, new, recorded)
        dense = dict.fromkeys(warning for _, ran in (*cold, *warm) for warning in ran.warnings)
        return replace(proof, failures=(*dense, *proof.failures))

    def _recorded_bypasses(self, who: Sequence[str]) -> tuple[Bypass, ...]:
        """Those that the lock records, of the same recipe, for what ran now."""
        before = self.lock.warmup
        if before is None or not before.proven or not _same(before.recipe, self.recipe):
            return ()
        return tuple(bypass for bypass in before.bypasses if bypass.who in who)

    def _result(self, recipe: Recipe, proof: Proof, made: CacheKeys, again: Facts, *, update: bool) -> Warmed:
        recorded = with_listings(self.lock.facts, again, self.store)
        before = value_or_none(self.lock.facts.keys)
        counted = before if before is not None and before.source.counts else None
        there = value_or_none(again.keys)
        whole = frozenset(there.names).difference(there.damaged) if there is not None else frozenset()
        changes = () if update else predict(recorded, again, recipe.devices).changes
        missing = () if update or changes else planning.not_made(counted, made, whole)
        warmed = Warmed(proof, recipe, self.place, made, None, missing, changes)
        if not proof.holds or missing or changes:
            return warmed
        keys = made if update else planning.merged(counted, made)
        return replace(warmed, lock=self._lock(recipe, proof, keys, again, update=update))

    def _lock(self, recipe: Recipe, proof: Proof, keys: CacheKeys, again: Facts, *, update: bool) -> Lock:
        facts = self.lock.facts
        before = value_or_none(facts.keys)
        if before is not None and before.components is not None and before.names == keys.names:
            keys = replace(keys, components=before.components)
        elif keys.graphs:
            keys = replace(keys, components=self.store.put(dump_graphs(keys.graphs)))
        stays = before is not None and before.source.counts and isinstance(facts.factors, Value) and not update
        factors = facts.factors if stays else again.factors
        kept = self.lock.warmup
        union = recipe
        if kept is not None and _same(kept.recipe, recipe):
            union = replace(recipe, devices=_joined(kept.recipe.devices, recipe.devices))
        done = Warmup(
            recipe=union,
            bypasses=tuple(sorted(bypass for row in proof.rows if row.warm for bypass in row.warm.bypasses)),
            graphs=tuple((row.who, row.cold.graphs) for row in proof.rows),
            proven=True,
        )
        if kept is not None and union is not recipe:
            done = _with_others(done, kept)
        return replace(self.lock, facts=replace(facts, keys=Value(keys), factors=factors), warmup=done)


def _joined(before: Sequence[str], now: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *now)))


def _with_others(done: Warmup, kept: Warmup) -> Warmup:
    """With what is recorded for devices that were not warmed now."""
    now = {who for who, _ in done.graphs}
    return replace(
        done,
        bypasses=tuple(sorted((*done.bypasses, *(one for one in kept.bypasses if one.who not in now)))),
        graphs=(*(entry for entry in kept.graphs if entry[0] not in now), *done.graphs),
    )


def _same(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes do the same, on whichever devices and however long it may take."""
    return replace(one, devices=(), deadline=0) == replace(other, devices=(), deadline=0)


def _nothing(cold: planning.Runs) -> WarmupFailedError:
    bypasses = [look for _, ran in cold for process in ran.processes for look in process.lookups]
    if bypasses:
        reason = planning.plain(next((look.reason for look in bypasses if look.state == "bypass"), None))
        return WarmupFailedError(
            f"every graph bypasses the cache, so nothing can be warmed: {reason}",
            hint="what torch can't cache is compiled at every start",
        )
    return WarmupFailedError(
        "the recipe compiled nothing: no graph was looked up in the cache",
        hint="it must call a torch.compile'd function; caches turned off by a variable or in code show the same",
    )


def recipe_of(lock: Lock, given: Recipe | None) -> Recipe:
    """The recipe that was given, else the lock's. UsageError without any."""
    if given is not None:
        return given
    if lock.warmup is None:
        raise UsageError(
            f"{lock.name} records no warmup, and none was given",
            hint="say what to run: envguard warmup LOCK -- COMMAND, or --flex lengths=4096,heads=8",
        )
    return lock.warmup.recipe
