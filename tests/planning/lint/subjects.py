"""Locks to lint: a good whole, of which a case changes one thing."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from envguard.formats.lockfile import read_lock, write_lock
from envguard.model.cache import CacheKeys, DeviceKeys, KeySource
from envguard.model.declared import Declared, Unreadable
from envguard.model.distribution import Evidence, Wheel
from envguard.model.facts import Driver, Gpu
from envguard.model.lint import LintFinding
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.planning.lint.rule import Rule, Subject
from tests.builders import digest, distribution, facts

TODAY = date(2026, 11, 29)
GPUS = Value(tuple(Gpu(index, "NVIDIA H200", "9.0", 143771) for index in (5, 6)))
TORCH_WHEEL = "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl"


def keys(*devices: str) -> CacheKeys:
    """Two keys a device."""
    return CacheKeys(
        KeySource.WARMUP,
        tuple(DeviceKeys(device, ("aotautograd/a" + "b" * 51, "fxgraph/f" + "c" * 51)) for device in devices),
    )


def good(**sections: Any) -> Lock:
    """A lock that no rule has anything to say of."""
    entries = (
        distribution(wheel=_wheel("requests-2.32.3-py3-none-any.whl")),
        distribution("torch", "2.11.0", wheel=_wheel(TORCH_WHEEL)),
        distribution("triton", "3.6.0", wheel=_wheel("triton-3.6.0-cp312-cp312-linux_x86_64.whl")),
        distribution("nvidia-cublas", "13.1.0.3"),
    )
    whole = {
        "driver": Value(Driver("580.159.04")),
        "gpus": GPUS,
        "keys": Value(keys("cuda:5", "cuda:6")),
        "distributions": Value(entries),
    }
    return Lock("good", facts(**(whole | sections)))


def _wheel(filename: str) -> Wheel:
    return Wheel(filename, digest(filename), None, 10, "default", Evidence.UV_CACHE)


def changed(which: str, **changes: Any) -> Lock:
    """The good lock with one distribution changed."""
    lock = good()
    assert isinstance(lock.facts.distributions, Value)
    entries = tuple(
        replace(entry, **changes) if entry.name == which else entry for entry in lock.facts.distributions.value
    )
    return replace(lock, facts=replace(lock.facts, distributions=Value(entries)))


def subject(
    lock: Lock,
    *,
    extra: str = "",
    declared: Sequence[Declared] = (),
    unreadable: Sequence[Unreadable] = (),
    uncanonical: int | None = None,
) -> Subject:
    """As lint reads it; ``extra`` is text at the file's end."""
    text = write_lock(lock).decode() + extra
    return Subject(
        "lockfiles/good.toml",
        text,
        read_lock(text.encode(), "x"),
        tomllib.loads(text),
        TODAY,
        uncanonical,
        tuple(declared),
        tuple(unreadable),
    )


def said(rule: Rule, subject: Subject) -> list[str]:
    """What a rule says: severity, key or line, message."""
    return [told(finding) for finding in rule.run(subject)]


def told(finding: LintFinding) -> str:
    """One finding in a line."""
    return f"{finding.severity.value} {finding.key or finding.line}: {finding.message}"
