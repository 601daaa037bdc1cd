"""Compile caches as JSON documents."""

from __future__ import annotations

from typing import Any

from envguard.formats.cache_lock import cache_document
from envguard.model.cache_prediction import NOT_VISIBLE, Change, Prediction
from envguard.model.facts import Facts
from envguard.model.observed import Unobserved, Value


def show_document(facts: Facts) -> dict[str, Any]:
    """``cache show --format json``."""
    document: dict[str, Any] = {"schema": "envguard-cache-1", **cache_document(facts)}
    if isinstance(facts.cache, Value):
        found = facts.cache.value
        document |= {
            "size": found.size,
            "newest": found.newest,
            "quiet": found.quiet,
            "remarks": list(found.remarks),
        }
    if isinstance(facts.keys, Value):
        document["damaged"] = list(facts.keys.value.damaged)
    reasons = {
        name: seen.reason
        for name in ("cache", "keys", "factors")
        if isinstance(seen := getattr(facts, name), Unobserved)
    }
    return document | ({"unobserved": reasons} if reasons else {})


def prediction_document(prediction: Prediction) -> dict[str, Any]:
    """A prediction, in ``cache explain --format json``."""
    return {
        "recorded": prediction.recorded,
        "hits": prediction.hits,
        "whole": prediction.whole,
        "extra": prediction.extra,
        "devices": [
            {
                "device": device.device,
                "recorded": device.recorded,
                "hits": device.hits,
                "missing": list(device.missing),
                "damaged": list(device.damaged),
                "why": _change(device.why) if device.why else None,
            }
            for device in prediction.devices
        ],
        "changes": [_change(change) for change in prediction.changes],
        "breaks": [_change(change) for change in prediction.breaks],
        "unknown": dict(prediction.unseen),
        "unwarmed": list(prediction.unwarmed),
        "not-visible": NOT_VISIBLE,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "factor": change.factor,
        "was": change.was,
        "now": change.now,
        "detail": change.detail,
        "device": change.device,
    }
