"""cache show and cache explain: what is in a compile cache, and whether a start would hit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from envguard.errors import ObjectCorruptError, ObjectMissingError
from envguard.formats.cache_trace import CacheEvent, graphs_of, load_graphs
from envguard.model.cache import Graph
from envguard.model.cache_prediction import Prediction, predict
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value, value_or_none
from envguard.model.target import Level, Target
from envguard.operations.recorded import baseline_of, with_listings
from envguard.planning.cache_explanation import Explanation, explain
from envguard.ports import Prober, Progress, Store


@dataclass(frozen=True, slots=True)
class Traced:
    """What a run's trace says. ``counts``: (cache, state) → lookups."""

    counts: tuple[tuple[str, str, int], ...]
    explanations: tuple[Explanation, ...]
    bypasses: tuple[str, ...]
    """Reasons, each once."""


@dataclass(frozen=True, slots=True)
class Explained:
    """Prediction against a lock, and explanation of a run, each where it was asked for."""

    observed: Facts
    recorded: Facts | None
    prediction: Prediction | None
    traced: Traced | None

    @property
    def exit_code(self) -> int:
        """1 when something misses or missed, 4 when it can't be told, else 0."""
        if self.traced is not None and any(state == "miss" for _, state, _ in self.traced.counts):
            return 1
        if self.prediction is None:
            return 0
        unwarmed = any(not device.recorded for device in self.prediction.devices)
        if unwarmed or self.prediction.changes or self.prediction.hits < self.prediction.recorded:
            return 1
        return 4 if self.prediction.unseen or isinstance(self.observed.keys, Unobserved) else 0


def look(target: Target, *, prober: Prober, progress: Progress) -> Facts:
    """The facts that ``cache show`` tells of."""
    return prober.facts(target, Level.METADATA, baseline=_none, progress=progress)


def explain_cache(
    lock: Lock | None,
    target: Target,
    *,
    devices: Sequence[str],
    events: Sequence[CacheEvent] | None,
    before: Sequence[CacheEvent] | None,
    prober: Prober,
    store: Store,
    progress: Progress,
) -> Explained:
    """Predict against a lock, explain a run (``events``) against an earlier one, the lock or the folder."""
    baseline = baseline_of(lock.facts, store) if lock else _none
    observed = prober.facts(target, Level.FAST, baseline=baseline, progress=progress)
    recorded = with_listings(lock.facts, observed, store) if lock else None
    prediction = predict(recorded, observed, devices) if recorded is not None else None
    traced = None
    if events is not None:
        known = graphs_of(before) if before is not None else _known(recorded, observed, events, store)
        traced = trace(events, known, _recorded_keys(recorded))
    return Explained(observed, recorded, prediction, traced)


def trace(events: Sequence[CacheEvent], known: Sequence[Graph], recorded: Sequence[str] = ()) -> Traced:
    """Count a run's lookups, and explain each graph that missed. ``recorded``: names such as ``fxgraph/f…``."""
    missed = graphs_of(event for event in events if event.state == "miss")
    counts = Counter((event.cache, event.state) for event in events)
    return Traced(
        counts=tuple((cache, state, number) for (cache, state), number in sorted(counts.items())),
        explanations=explain(missed, known, [name.partition("/")[2] for name in recorded]),
        bypasses=tuple(sorted({event.reason or "no reason told" for event in events if event.state == "bypass"})),
    )


def _known(recorded: Facts | None, observed: Facts, events: Sequence[CacheEvent], store: Store) -> Sequence[Graph]:
    """The graphs of before: the lock's, else those of the folder that this run did not make."""
    graphs = _components(recorded, store) if recorded is not None else ()
    there = value_or_none(observed.keys)
    if graphs or there is None:
        return graphs
    made = {event.key for event in events if event.state == "miss"}
    return tuple(graph for graph in there.graphs if graph.key not in made)


def _components(recorded: Facts, store: Store) -> Sequence[Graph]:
    keys = value_or_none(recorded.keys)
    if keys is None or keys.components is None:
        return ()
    try:
        return load_graphs(store.read(keys.components))
    except (ObjectMissingError, ObjectCorruptError, ValueError):
        return ()


def _recorded_keys(recorded: Facts | None) -> Sequence[str]:
    return recorded.keys.value.names if recorded is not None and isinstance(recorded.keys, Value) else ()


def _none(_: str) -> None:
    """Nothing is recorded that could stand for a damaged RECORD."""
