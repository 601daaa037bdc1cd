"""export: a lock's wheels, each with the place that has it now."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from envguard.errors import EnvguardError, IndexUnreachableError, NotObtainableError, UsageError
from envguard.model.distribution import Distribution
from envguard.model.exported import ExportedWheel
from envguard.model.lock import Lock
from envguard.operations.parallel import each
from envguard.planning.obtain import Problem, Step, is_held, obtain
from envguard.planning.restore import recorded_distributions
from envguard.ports import Index, Progress, Store


def export(
    lock: Lock, *, without: AbstractSet[str], index: Index, store: Store, progress: Progress
) -> tuple[ExportedWheel, ...]:
    """Find every wheel by its sha256, at this moment.

    NotObtainableError names all that no source has, and says which of them the store holds. UsageError:
    ``without`` names what isn't recorded. IndexUnreachableError.
    """
    entries = recorded_distributions(lock)
    unknown = sorted(without - {entry.name for entry in entries})
    if unknown:
        raise UsageError(f"the lock holds no distribution {unknown[0]} to leave out")
    wanted = [entry for entry in entries if entry.name not in without]
    found = each(lambda entry: _step(entry, index), wanted, progress, "ask for wheels", "distributions")
    lost = [(entry, outcome) for entry, outcome in zip(wanted, found, strict=True) if isinstance(outcome, Problem)]
    if lost:
        raise _lost(lock, lost, store)
    return tuple(_exported(outcome) for outcome in found if isinstance(outcome, Step))


def _step(entry: Distribution, index: Index) -> Step | Problem:
    if entry.wheel.sha256 is None:
        return obtain(entry, frozenset(), ())
    try:
        offers = index.offers(entry.name)
    except IndexUnreachableError:
        raise
    except EnvguardError as problem:
        return obtain(entry, frozenset(), (), problem.message)
    return obtain(entry, frozenset(), offers)


def _exported(step: Step) -> ExportedWheel:
    offer = step.offers[0]
    return ExportedWheel(step.name, step.version, offer.filename, step.sha256, step.size, offer.location)


def _lost(lock: Lock, lost: list[tuple[Distribution, Problem]], store: Store) -> NotObtainableError:
    held = frozenset(store.digests())
    lines = []
    for entry, problem in lost:
        kept = entry.wheel.sha256 if entry.wheel.sha256 in held else entry.wheel.rebuilt
        where = ""
        if is_held(entry, held):
            where = f"; the store holds one: envguard store get {kept} FOLDER/{entry.wheel.filename}"
        lines.append(f"{problem}{where}")
    message = lines[0] if len(lines) == 1 else f"{len(lines)} wheels have no place:\n  " + "\n  ".join(lines)
    return NotObtainableError(
        message,
        where=lock.name,
        hint=f"leave out what you can do without (--without {lost[0][0].name}), "
        "or name a folder of wheels: --find-links FOLDER",
    )
