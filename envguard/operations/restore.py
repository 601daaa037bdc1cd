"""restore: a lock becomes an environment again, proven before anything leads to it."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from envguard.errors import NotObtainableError, OtherBytesError
from envguard.formats import marker
from envguard.formats.lockfile import lock_id
from envguard.model.drift import Report
from envguard.model.environment import Attempt, Switched
from envguard.model.facts import FileFact
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.policy import Policy
from envguard.model.target import Layout, Target
from envguard.operations.cache_back import BringBack, Brought
from envguard.operations.fetch import fetch
from envguard.operations.preflight import look_around
from envguard.operations.prove import Proof, prove
from envguard.planning.obtain import Problem, ProblemKind
from envguard.planning.restore import Plan, plan_restore
from envguard.ports import Environments, Index, Installer, Prober, Progress, Store, WheelReader

NOT_BUILT = (
    "the compile cache is not put back: the first start will compile",
    "no warmup is run",
)
"""What is told where a restore is not asked to bring the cache back."""

_TRIES = 2
"""How often an environment is built from scratch before its drift is reported."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What a restore came to. Without ``switched`` nothing leads to a new environment."""

    plan: Plan
    report: Report | None = None
    """Of the new environment against the lock; None when the plan was all that was asked for."""
    environment: Path | None = None
    """The finished environment; None when it drifted, or was only planned."""
    switched: Switched | None = None
    notes: tuple[str, ...] = ()
    cold: bool = False
    """The cache was to be brought back, and could not: a start would compile."""


def restore(
    lock: Lock,
    *,
    target: Path | None,
    without: AbstractSet[str],
    plan_only: bool,
    offline: bool,
    python: Path | None,
    policy: Policy,
    today: date,
    store: Store,
    index: Index,
    installer: Installer,
    prober: Prober,
    environments: Environments,
    progress: Progress,
    reader: WheelReader | None = None,
    cache: BringBack | None = None,
) -> RestoreResult:
    """Build the environment of a lock, prove it, and make ``target`` lead to it.

    ``target`` None: the link ``current`` beside the lock's environments. ``without``: canonical names, or paths of
    recorded files, to leave out. ``offline``: only the store and find-links folders count. ``python``: the
    interpreter to build with, instead of those found. ``reader``: looks for the recorded files in wheels of other
    bytes, where no source has the recorded ones. ``cache``: brings the compile cache back, in the end.
    An environment that drifts from the lock, twice, is not kept: the report says why, and nothing is switched.
    NotObtainableError or OtherBytesError (what no source has), UsageError (the target), UvUnsuitableError,
    IndexUnreachableError, InstallFailedError, InUseError.
    """
    link = target if target is not None else environments.current(lock.name)
    environments.check(link)
    uv_notes = tuple(installer.notes())
    at_hand = look_around(
        lock,
        without=without,
        offline=offline,
        python=python,
        store=store,
        index=index,
        installer=installer,
        prober=prober,
        environments=environments,
        progress=progress,
        reader=reader,
    )
    plan = plan_restore(lock, lock_id(lock), at_hand, without)
    if plan_only:
        return RestoreResult(plan, notes=(*uv_notes, *(NOT_BUILT if cache is None else cache.planned(lock))))
    refuse(plan)
    with environments.hold(lock.name):
        wheels = _wheels(plan, store, index, environments, progress)
        builder = _Builder(lock, plan, wheels, policy, today, store, installer, prober, environments, progress)
        proof, environment = builder.build()
        if environment is None:
            return RestoreResult(plan, proof.report, notes=uv_notes)
        told = tuple(f"{user} still runs from what {link} led to" for user in environments.occupants(link))
        switched = environments.switch(environment, link)
        environments.forget_wheels(lock.name)
    brought = _cache_and_warmup(cache, lock, environment)
    notes = (*uv_notes, *switched.notes, *told, *brought.notes)
    return RestoreResult(plan, proof.report, environment, switched, notes, cold=brought.failed)


def refuse(plan: Plan) -> None:
    """Raise what stands in a plan's way, all of it in one error."""
    if not plan.problems:
        return
    first = plan.problems[0]
    others = all(problem.kind is ProblemKind.OTHER_BYTES for problem in plan.problems)
    kind = OtherBytesError if others else NotObtainableError
    raise kind(_told(plan.problems), where=plan.name, hint=first.hint)


def _told(problems: Sequence[Problem]) -> str:
    if len(problems) == 1:
        return str(problems[0])
    lines = "".join(f"\n  {problem}" for problem in problems)
    return f"{len(problems)} things stand in the way:{lines}"


def _wheels(
    plan: Plan, store: Store, index: Index, environments: Environments, progress: Progress
) -> tuple[Path, ...]:
    """All wheels of a plan. When a source lies about one, none is kept; else the next run goes on."""
    try:
        return fetch(plan.steps, environments.wheels(plan.name), store=store, index=index, progress=progress)
    except OtherBytesError:
        environments.forget_wheels(plan.name)
        raise


def _cache_and_warmup(cache: BringBack | None, lock: Lock, environment: Path) -> Brought:
    """Design section 6, step 6: the compile cache is put back, or the warmup run, and proven.

    Last, since the environment is whole without it, and a warmup can take long: it must not hold up the rest.
    """
    if cache is None:
        return Brought(NOT_BUILT)
    return cache.bring(lock, Target(environment / "bin" / "python", "restored"))


@dataclass(frozen=True, slots=True)
class _Builder:
    lock: Lock
    plan: Plan
    wheels: tuple[Path, ...]
    policy: Policy
    today: date
    store: Store
    installer: Installer
    prober: Prober
    environments: Environments
    progress: Progress

    def build(self) -> tuple[Proof, Path | None]:
        """The proof of the last try, and the finished environment where it holds."""
        for _ in range(_TRIES):
            attempt = self.environments.begin(self.plan.name, self.plan.lock)
            try:
                proof = self._make(attempt)
                if proof.holds:
                    return proof, self._finish(attempt, proof)
            finally:
                self.environments.discard(attempt)
        return proof, None

    def _make(self, attempt: Attempt) -> Proof:
        environment, total = attempt.environment, len(self.wheels)
        self.progress.step("install", 0, total, "wheels")
        self.installer.create(environment, Path(self.plan.python or ""))
        wheels = [(path, step.sha256) for path, step in zip(self.wheels, self.plan.steps, strict=True)]
        self.installer.install(environment, wheels)
        self.progress.step("install", total, total, "wheels")
        self.installer.clear_bytecode(environment)
        target = Target(environment / "bin" / "python", "restored")
        self._own_files(environment, self.prober.layout(target))
        return prove(
            self.lock,
            target,
            left_out=self.plan.left_out,
            policy=self.policy,
            today=self.today,
            prober=self.prober,
            store=self.store,
            progress=self.progress,
        )

    def _own_files(self, environment: Path, layout: Layout) -> None:
        """What no wheel brings, what was missing, and exec bits as they were recorded."""
        for fact in self.plan.modes:
            self.environments.make_executable(
                environment, _place(fact, layout), executable=bool(int(fact.mode or "0", 8) & 0o111)
            )
        for step in self.plan.files:
            path = _place(step.fact, layout)
            if step.sha256 is None:
                self.environments.drop(environment, path)
            else:
                mode = int(step.fact.mode, 8) if step.fact.mode else 0o644
                self.environments.put(environment, path, self.store.read(step.sha256), mode)

    def _finish(self, attempt: Attempt, proof: Proof) -> Path:
        """Bytecode of the sources just proven, and the marker."""
        self.progress.step("compile bytecode", 0, None)
        self.installer.compile(attempt.environment, attempt.final)
        seen = proof.observed.distributions
        records = {entry.name: entry.record for entry in (seen.value if isinstance(seen, Value) else ())}
        wheels = {
            step.name: marker.MarkedWheel(
                step.filename, step.sha256, path.stat().st_size, record, rebuilt=step.rebuilt
            )
            for path, step in zip(self.wheels, self.plan.steps, strict=True)
            if (record := records.get(step.name)) is not None
        }
        return self.environments.finish(attempt, marker.dump(marker.Marker(self.plan.lock, wheels)))


def _place(fact: FileFact, layout: Layout) -> Path:
    roots = {"library": layout.libraries[0], "scripts": layout.scripts, "headers": layout.headers}
    return roots.get(fact.root, layout.prefix) / fact.path
