"""What the two runs of a warmup prove, and which keys are the recipe's own. Pure decisions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from envguard.model.cache import CacheFactors, CacheKeys, Graph, KeySource, keys_by_device
from envguard.model.facts import Facts, VariableKind
from envguard.model.observed import Value, value_or_none
from envguard.model.variables import Known
from envguard.model.warm_run import Lookup, Process, Ran
from envguard.model.warmup import Bypass, Counts, Launch, Proof, Recipe, Row

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_LONGEST_REASON = 200
_LEADS_TO_CODE = re.compile(r"PATH|_DIR|^CXX$|_MANAGER$|REMOTE_CACHE|_OVERRIDE_|PRELOAD")
"""Names of variables that can name code, or where it lies."""
_PLAIN = re.compile(r"[A-Za-z0-9_.,:+\- ]{0,200}")

Runs = Sequence[tuple[str | None, Ran]]
"""Starts in order: the device of each, None where one start serves several."""


def devices_of(recipe: Recipe, asked: Sequence[str], facts: Facts) -> tuple[str, ...]:
    """The devices to warm: asked for, else the recipe's, else the machine's, else the CPU."""
    if asked or recipe.devices:
        return tuple(asked or recipe.devices)
    gpus = value_or_none(facts.gpus) or ()
    return tuple(f"cuda:{gpu.index}" for gpu in gpus) or ("cpu",)


def missing_devices(devices: Iterable[str], facts: Facts) -> tuple[str, ...]:
    """Those that this machine doesn't have."""
    here = {f"cuda:{gpu.index}" for gpu in value_or_none(facts.gpus) or ()}
    return tuple(device for device in devices if device != "cpu" and device not in here)


def counts_of(runs: Runs, devices_of_key: Mapping[str, Collection[str]], launch: Launch) -> tuple[Counts, ...]:
    """Lookups by device or rank, in the order of the starts."""
    found: dict[str, list[Lookup]] = {}
    for device, ran in runs:
        for process in ran.processes:
            for lookup in process.lookups:
                for who in _who(device, process, lookup, devices_of_key, launch):
                    found.setdefault(who, []).append(lookup)
    return tuple(_counts(who, found[who]) for who in sorted(found, key=_order))


def _who(
    device: str | None,
    process: Process,
    lookup: Lookup,
    devices_of_key: Mapping[str, Collection[str]],
    launch: Launch,
) -> list[str]:
    if device is not None:
        return [device]
    if launch is Launch.RANKS or process.rank is not None:
        return [f"rank {process.rank or 0}"]
    return sorted(devices_of_key.get(lookup.key or "", ())) or ["threads"]


def _counts(who: str, lookups: Sequence[Lookup]) -> Counts:
    states = Counter(lookup.state for lookup in lookups)
    graphs = {lookup.key for lookup in lookups if lookup.cache == "fxgraph" and lookup.key}
    reasons = Counter((lookup.cache, plain(lookup.reason)) for lookup in lookups if lookup.state == "bypass")
    return Counts(
        who,
        len(graphs),
        states["hit"],
        states["miss"],
        tuple(sorted(Bypass(who, cache, reason, number) for (cache, reason), number in reasons.items())),
    )


def plain(reason: str | None) -> str:
    """A bypass's reason on one line, without what differs from start to start."""
    told = " ".join((reason or "torch told no reason").split())
    return _ADDRESS.sub("0x…", told)[:_LONGEST_REASON]


def _order(who: str) -> tuple[str, int]:
    kind, number = re.fullmatch(r"(.*?)[: ]?(\d*)", who).groups()  # type: ignore[union-attr]
    return kind, int(number or -1)


def table(cold: Runs, warm: Runs | None, before: Sequence[Counts], after: Sequence[Counts]) -> tuple[Row, ...]:
    """A row a device or rank; starts that serve several share their seconds."""
    second = {one.who: one for one in after}
    rows = []
    for one in before:
        rows.append(
            Row(
                one.who,
                _seconds(cold, one.who),
                None if warm is None else _seconds(warm, one.who),
                one,
                None if warm is None else second.get(one.who, Counts(one.who)),
            )
        )
    known = {one.who for one in before}
    rows += [
        Row(one.who, 0.0, _seconds(warm or (), one.who), Counts(one.who), one)
        for one in after
        if one.who not in known
    ]
    return tuple(rows)


def _seconds(runs: Runs, who: str) -> float:
    own = [ran.seconds for device, ran in runs if device == who]
    return own[0] if own else sum(ran.seconds for _, ran in runs)


def proof(rows: Sequence[Row], new_keys: Sequence[str], recorded: Sequence[Bypass]) -> Proof:
    """Whether the second run loaded all: no miss, no new key, no other bypass than before."""
    failures = [*_row_failures(rows)]
    if new_keys:
        failures.append(f"the second run added {len(new_keys):,} new keys, the first of them {new_keys[0][:24]}…")
    if recorded:
        failures += _bypass_failures(
            recorded, [bypass for row in rows if row.warm for bypass in row.warm.bypasses]
        )
    return Proof(tuple(rows), tuple(failures), tuple(new_keys))


def _row_failures(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        if row.warm is None:
            continue
        if row.warm.misses:
            yield f"{row.who}: {row.warm.misses:,} lookups of the second run missed"
        if not row.warm.hits + row.warm.misses and row.cold.hits + row.cold.misses:
            yield f"{row.who}: the second run looked nothing up"
        yield from _bypass_failures(row.cold.bypasses, row.warm.bypasses)


def _bypass_failures(before: Iterable[Bypass], after: Iterable[Bypass]) -> list[str]:
    was, now = set(before), set(after)
    told = [f"{one.who}: bypassed anew, {one.number} × {one.cache}: {one.reason}" for one in sorted(now - was)]
    return told + [
        f"{one.who}: no more bypassed, {one.number} × {one.cache}: {one.reason}" for one in sorted(was - now)
    ]


def keys_made(runs: Runs, there: CacheKeys | None) -> CacheKeys:
    """The keys that a recipe looks up, by device: of their entries' text, else of the start that made them."""
    named: dict[str, set[str]] = {}
    for device in there.devices if there is not None else ():
        for key in device.keys:
            named.setdefault(key, set()).add(device.device)
    found: dict[str, set[str]] = {}
    for device_of_start, ran in runs:
        for lookup in (lookup for process in ran.processes for lookup in process.lookups):
            if lookup.key is None or lookup.state == "bypass":
                continue
            own = named.get(lookup.key, set()) - {"unknown"} or {device_of_start or "unknown"}
            for device_name in own:
                found.setdefault(device_name, set()).add(lookup.key)
    return CacheKeys(
        KeySource.WARMUP,
        keys_by_device({device: tuple(keys) for device, keys in found.items()}),
        there.triton if there is not None else (),
        attributed_by="text" if named else "warmup",
        graphs=_graphs(runs),
    )


def _graphs(runs: Runs) -> tuple[Graph, ...]:
    found = {graph.key: graph for _, ran in runs for process in ran.processes for graph in process.graphs}
    return tuple(found[key] for key in sorted(found))


def merged(before: CacheKeys | None, made: CacheKeys) -> CacheKeys:
    """Recorded keys and new ones: devices that were recorded keep theirs, others are added."""
    if before is None or not before.source.counts:
        return made
    devices = {entry.device: entry.keys for entry in made.devices} | {
        entry.device: tuple({*entry.keys, *made.of(entry.device)}) for entry in before.devices
    }
    return replace(
        made,
        devices=keys_by_device(devices),
        triton=tuple(sorted({*before.triton, *made.triton})),
        components=None,
    )


def not_made(before: CacheKeys | None, made: CacheKeys, whole: Collection[str]) -> tuple[str, ...]:
    """Recorded keys, of devices that were warmed, that are not in the folder now."""
    if before is None or not before.source.counts:
        return ()
    warmed = {entry.device for entry in made.devices}
    return tuple(
        key for entry in before.devices if entry.device in warmed for key in entry.keys if key not in whole
    )


def variables_of(facts: Facts, known: Mapping[str, Known]) -> dict[str, str]:
    """Recorded variables that a start is to have: those that enter keys or results, and hold no path.

    By the table's word, not the lock's: a lock could call LD_PRELOAD a key.
    """
    seen = value_or_none(facts.variables)
    return {
        variable.name: variable.value
        for variable in (seen.values if seen is not None else ())
        if variable.name in known
        and known[variable.name].kind in (VariableKind.KEY, VariableKind.NUMERICS)
        and _LEADS_TO_CODE.search(variable.name) is None
        and _PLAIN.fullmatch(variable.value) is not None
    }


def other_factors(recorded: Facts, observed: Facts) -> tuple[CacheFactors, CacheFactors] | None:
    """Both, where factors are recorded and seen and differ."""
    if isinstance(recorded.factors, Value) and isinstance(observed.factors, Value):
        was, now = recorded.factors.value, observed.factors.value
        return (was, now) if replace(was, unseen=()) != replace(now, unseen=()) else None
    return None
