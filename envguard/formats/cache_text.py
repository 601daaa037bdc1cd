"""Compile caches in words: what is in one, whether a start would hit, why a run missed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from envguard.model.cache import CacheKeys
from envguard.model.cache_prediction import NOT_VISIBLE, Change, DevicePrediction, Prediction, keyed_elsewhere
from envguard.model.facts import Facts
from envguard.model.observed import Observed, Unobserved, Value, value_or_none

_WIDTH = 14
_UNWARMED = "no recorded key is for it, and keys contain the index: a start there compiles"


def show_lines(facts: Facts, now: datetime) -> Iterator[str]:
    """``cache show``: the folder, its keys by device, the factors."""
    yield from _folder_lines(facts, now)
    yield from factor_lines(facts)


def _folder_lines(facts: Facts, now: datetime) -> Iterator[str]:
    if not isinstance(facts.cache, Value):
        reason = facts.cache.reason if isinstance(facts.cache, Unobserved) else "there is no such folder"
        yield _row("cache", reason)
        return
    found = facts.cache.value
    yield _row("cache", f"{found.folder} ({found.source})")
    counts = ", ".join(f"{number:,} {kind}" for kind, number in found.entries)
    yield _row("size", f"{size_text(found.size)}: {counts}")
    if found.newest is not None:
        yield _row("newest", age_text((now - datetime.fromtimestamp(found.newest, UTC)).total_seconds()))
    yield from _key_lines(facts.keys, facts)
    for remark in found.remarks:
        yield _row("note", remark)


def _key_lines(seen: Observed[CacheKeys], facts: Facts) -> Iterator[str]:
    if not isinstance(seen, Value):
        yield _row("keys", seen.reason if isinstance(seen, Unobserved) else "none")
        return
    keys = seen.value
    for device in keys.devices:
        graphs = sum(key.startswith("fxgraph/") for key in device.keys)
        yield _row(device.device, f"{graphs:,} graphs, {len(device.keys) - graphs:,} autograd")
    yield _row("fingerprint", str(keys.fingerprint))
    other, told = keyed_elsewhere(keys, value_or_none(facts.factors))
    if told:
        yield _row("keyed to", f"this torch: {told - other:,} of {told:,} graphs that tell it")


def factor_lines(facts: Facts) -> Iterator[str]:
    """What every key depends on."""
    factors = value_or_none(facts.factors)
    if factors is None:
        reason = facts.factors.reason if isinstance(facts.factors, Unobserved) else "no torch"
        yield _row("factors", reason)
        return
    torch, python = value_or_none(facts.torch), value_or_none(facts.interpreter)
    yield _row("torch key", f"{factors.torch_key or 'unknown'}{f' ({torch.build})' if torch else ''}")
    yield _row("triton key", factors.triton_key or "none")
    yield _row("CUDA", (torch.cuda if torch else None) or "none")
    if python is not None:
        yield _row("Python", ".".join(python.version.split(".")[:2]))
    for gpu in value_or_none(facts.gpus) or ():
        yield _row(f"cuda:{gpu.index}", gpu.name)
    yield _row("CPU threads", "in no key" if factors.threads is None else str(factors.threads))
    for name, value in factors.settings:
        yield _row("setting", f"{name}={value}")
    for name, why in factors.unseen:
        yield _row("unknown", f"{name}: {why}")


def prediction_lines(recorded: Facts, observed: Facts, prediction: Prediction) -> Iterator[str]:
    """``cache explain LOCK``: a line a device, why, and what can't be seen."""
    keys = value_or_none(recorded.keys)
    whole = prediction.recorded and prediction.whole and not prediction.hits
    if whole and prediction.changes:
        there = f"{prediction.recorded:,} of {prediction.recorded:,} keys"
        yield f"the cache is whole ({there}) but keyed to {_other(prediction.changes[0])}"
    for device in prediction.devices:
        yield _device_line(device, keys is not None and not keys.source.counts)
    if keys is None:
        yield "no keys are recorded: only what they depend on can be compared"
    for change in prediction.changes:
        yield f"differs      {change}"
    if not prediction.changes and not prediction.unseen:
        yield "nothing that keys depend on differs, as far as it is visible from outside"
    for name, why in prediction.unseen:
        yield f"unknown      {name}: {why}"
    for note in _notes(observed, prediction):
        yield f"note         {note}"
    yield f"not visible from outside: {NOT_VISIBLE}"


def _notes(observed: Facts, prediction: Prediction) -> Iterator[str]:
    yield from map(str, prediction.breaks)
    for device in prediction.unwarmed:
        yield f"{device}: {_UNWARMED}"
    if prediction.extra:
        yield f"{prediction.extra:,} keys in the folder are not recorded"
    if isinstance(observed.cache, Value):
        yield from observed.cache.value.remarks


def _other(change: Change) -> str:
    if change.factor == "torch key":
        return f"another torch: {change.detail or 'its files differ'}"
    return f"another value of {change}"


def _device_line(device: DevicePrediction, found: bool) -> str:
    if not device.recorded:
        return f"{device.device:<12} {_UNWARMED}"
    told = f"{device.device:<12} {device.hits:,} of {device.recorded:,} keys would hit"
    if device.why is not None:
        told += f"; all are compiled anew, since {device.why}"
    elif device.missing:
        damaged = f", {len(device.damaged):,} of them there but not whole" if device.damaged else ""
        told += f"; {len(device.missing):,} are not in the folder{damaged}"
    return f"{told} (keys as found, no criterion)" if found else told


def size_text(size: int) -> str:
    """``1.4 MB``."""
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def age_text(seconds: float) -> str:
    """``3 hours ago``."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "less than a minute ago"


def _row(name: str, value: str) -> str:
    return f"{name:<{_WIDTH}}{value}"
