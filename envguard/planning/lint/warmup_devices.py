"""Warmup or run name devices that the machine has not, or one leaves out the other's.

What: the devices of [warmup], those that [run] says were trained on, and [machine] gpus.

Why: keys of the compile cache contain the device's index. A device that is not warmed up compiles at the first
step, in the middle of the run.

How to mend it: name the run's devices in [warmup] devices, and record again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from envguard.model.observed import value_or_none
from envguard.planning.lint.rule import Rule, Said, Subject

_DEVICE = re.compile(r"cuda:(\d+)")


def look(subject: Subject) -> Iterator[Said]:
    """A finding a section."""
    gpus = value_or_none(subject.facts.gpus)
    warmed = _devices(_section(subject.document, "warmup"))
    used = _devices(_section(subject.document, "run"))
    if gpus is not None:
        there = {gpu.index for gpu in gpus}
        for section, named in (("warmup", warmed), ("run", used)):
            if missing := named - there:
                yield _said(section, f"names {_shown(missing)}, and [machine] has {_shown(there) or 'no GPU'}")
    if warmed and used - warmed:
        yield _said("warmup", f"leaves out {_shown(used - warmed)}, which [run] uses")


def _section(document: Mapping[str, Any], name: str) -> object:
    return document.get(name)


def _devices(content: object) -> set[int]:
    """Every ``cuda:5``, and every number in a key called ``device`` or ``devices``, at any depth."""
    found: set[int] = set()
    if isinstance(content, dict):
        for key, value in content.items():
            found |= _numbers(value) if key in ("device", "devices") else _devices(value)
    elif isinstance(content, list):
        for entry in content:
            found |= _devices(entry)
    return found


def _numbers(value: object) -> set[int]:
    if isinstance(value, bool):
        return set()
    if isinstance(value, int):
        return {value}
    if isinstance(value, str):
        return {int(index) for index in _DEVICE.findall(value)}
    if isinstance(value, list):
        return {number for entry in value for number in _numbers(entry)}
    return _devices(value)


def _shown(indices: set[int]) -> str:
    return ", ".join(f"cuda:{index}" for index in sorted(indices))


def _said(section: str, what: str) -> Said:
    hint = "name the run's devices, then envguard snapshot --update"
    return Said(f"[{section}] {what}", hint, f"{section}.devices", section)


RULE = Rule("warmup-devices", __doc__, look)
