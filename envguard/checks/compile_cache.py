"""A start would compile instead of loading what is in the compile cache.

What drifts: the keys that a warmup, a trace or the guard has recorded are held against the cache's
folder, and what every key depends on against this environment: torch's own key (its version, commit,
CUDA and every module of it), Triton's, GPU names by index, variables that inductor's settings are read
from, CPU threads. When one of these differs every key differs, however full the folder is. Keys that
were only found in a folder are no criterion: stale ones may be among them; they are told as a note.

Why it changes a training: a start that compiles takes minutes instead of seconds, and with threads it
is where the tracing race lives (an innocent thread fails with "symbolically trace a dynamo-optimized
function", or attention falls back to its dense form and runs out of memory). Keys contain the device's
index: what was compiled on cuda:0 is not found on cuda:1, even of the same model.
Seen in public: https://github.com/pytorch/pytorch/issues/144859 (a copied cache that misses),
https://github.com/pytorch/pytorch/issues/170123 (nothing shared between equal GPUs).

How to read it: "48 of 48 keys present, keyed to another torch" is a whole cache that nobody will look
into. What only the workload decides (shapes, dtypes, flags set in code) is not visible from outside.

How to mend it: bring the environment back (envguard restore), put the recorded cache back (envguard
cache load), or compile beforehand (envguard warmup). envguard cache explain says more; after a run with
TORCH_TRACE=DIR, envguard cache explain --trace DIR names the parts of each key that differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.checks.check import Check
from envguard.checks.words import count, few
from envguard.model.cache import KeySource
from envguard.model.cache_prediction import Change, DevicePrediction, Prediction, predict
from envguard.model.drift import Finding, Outcome, Severity
from envguard.model.facts import Facts
from envguard.model.observed import Absent, Observed, Unobserved, Value, map_value

_HINT = "envguard warmup compiles beforehand; envguard cache explain says more"


def sides(recorded: Facts, observed: Facts) -> tuple[Observed[Facts], Observed[Facts]]:
    """Whole facts where keys are recorded; a folder that is missing or empty is one without any key."""
    was: Observed[Facts] = map_value(recorded.keys, lambda _: recorded)
    now: Observed[Facts] = observed.keys if isinstance(observed.keys, Unobserved) else Value(observed)
    if isinstance(was, Absent):
        return Unobserved("no cache when it was recorded"), now
    return was, now


def compare(recorded: Facts, observed: Facts) -> Iterator[Finding]:
    """A finding for all devices that miss for one reason, then what else is to be said."""
    keys = recorded.keys
    if not isinstance(keys, Value):
        return
    prediction = predict(recorded, observed)
    severity = Severity.DRIFT if keys.value.source.counts else Severity.NOTE
    yield from _misses(prediction, keys.value.source, severity)
    for factor, why in dict(prediction.unseen).items():
        yield Finding(
            factor,
            detail=f"can't be compared: {why}",
            severity=Severity.UNKNOWN if keys.value.source.counts else Severity.NOTE,
            key="cache.factors",
        )
    for change in prediction.breaks:
        yield _note(str(change))
    if prediction.unwarmed and not prediction.changes:
        yield _note(f"no recorded key is for {few(prediction.unwarmed)}: a start there compiles")
    if isinstance(observed.cache, Value):
        for remark in observed.cache.value.remarks:
            yield _note(f"{observed.cache.value.folder}: {remark}")


def _misses(prediction: Prediction, source: KeySource, severity: Severity) -> Iterator[Finding]:
    reasons: dict[Change | None, list[DevicePrediction]] = {}
    for device in prediction.devices:
        if device.misses:
            reasons.setdefault(device.why, []).append(device)
    for why, devices in reasons.items():
        told = "" if source.counts else " (keys as found, no criterion)"
        there = sum(device.recorded - len(device.missing) for device in devices)
        number = count(sum(device.recorded for device in devices), "key")
        yield Finding(
            few([device.device for device in devices]),
            observed=f"{there:,} of {number} present",
            detail=f"{_because(why, devices)}; a start would compile{told}",
            hint=_HINT if source.counts else None,
            severity=severity,
            key="cache.keys",
        )


def _because(why: Change | None, devices: list[DevicePrediction]) -> str:
    if why is None:
        missing = sum(len(device.missing) for device in devices)
        damaged = sum(len(device.damaged) for device in devices)
        return f"{missing:,} not in the folder" + (f", or not whole ({damaged:,})" if damaged else "")
    moved = f"{why.was} → {why.now}"
    if why.factor == "torch key":
        return f"keyed to another torch: {why.detail or f'its files differ ({moved})'}"
    return f"{why.factor} differs ({moved})" + (f": {why.detail}" if why.detail else "")


def _note(detail: str) -> Finding:
    return Finding("cache", detail=detail, severity=Severity.NOTE, key="cache")


CHECK = Check(
    slug="compile-cache",
    explanation=__doc__,
    section=lambda facts: map_value(facts.keys, lambda _: facts),
    compare=compare,
    when_gone=Outcome.DRIFT,
    sides=sides,
)
