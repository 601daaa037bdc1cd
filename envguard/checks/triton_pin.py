"""Triton isn't the one that torch asks for.

What drifts: the installed Triton, held against the requirement in torch's own METADATA
(triton==3.6.0).

Why it changes a training: torch.compile hands its kernels to Triton, and each torch is tested with
one Triton. Another one makes other machine code, may not know what torch asks of it, and is part of
every compile-cache key, so a warm cache is cold. Anything that is installed later and wants
"triton" can move it, and pip only prints a line about it.
Seen in public: https://github.com/coreweave/ml-containers/issues/64 (an image that broke days later
because Triton had moved), https://github.com/triton-lang/triton/issues/7835.

How to read it: the line gives the installed Triton and the requirement. A mismatch that was there
when the environment was recorded is a note: the run was good with it. Two distributions that both
bring triton/ are told by shared-files.

How to mend it: envguard restore builds the recorded environment beside this one. Or install the
version that the line names, and record again: envguard snapshot --update.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from envguard.checks.check import Check
from envguard.checks.words import RESTORE
from envguard.model.distribution import Distribution
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Facts, TorchBuild
from envguard.model.observed import Absent, Observed, Value, both, map_value

_NAMES = frozenset(
    {
        "pytorch-triton",
        "pytorch-triton-rocm",
        "pytorch-triton-xpu",
        "triton",
        "triton-rocm",
        "triton-windows",
        "triton-xpu",
    }
)


@dataclass(frozen=True, slots=True)
class Pins:
    """Torch's Triton requirements, and the versions of Triton that are installed, by name."""

    torch: str
    required: tuple[str, ...]
    installed: dict[str, str]


def pins(facts: Facts) -> Observed[Pins]:
    """The section: the distributions, with torch; where there is no torch, nothing is asked for."""
    asked = Value(None) if isinstance(facts.torch, Absent) else facts.torch

    def of(pair: tuple[TorchBuild | None, tuple[Distribution, ...]]) -> Pins:
        torch, entries = pair
        installed = {entry.name: entry.version for entry in entries if entry.name in _NAMES}
        return Pins(torch.build if torch else "", torch.requires if torch else (), installed)

    return map_value(both(asked, facts.distributions), of)


def compare(recorded: Pins, observed: Pins) -> Iterator[Finding]:
    """A finding a requirement that isn't met."""
    for text in observed.required:
        name = re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]
        if name not in _NAMES:
            continue
        version = observed.installed.get(name)
        met = version is not None and _is_met(text, name, version)
        if met is None:
            yield _finding(name, f"torch asks for {text!r}, which can't be understood", Severity.UNKNOWN)
        elif not met:
            yield _unmet(name, text, version, recorded, observed)


def _is_met(text: str, name: str, version: str) -> bool | None:
    """None when requirement or version can't be understood."""
    if text == f"{name}=={version}":
        return True
    # Slow to import, and seldom needed.
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.version import InvalidVersion, Version

    try:
        return Requirement(text).specifier.contains(Version(version), prereleases=True)
    except (InvalidRequirement, InvalidVersion):
        return None


def _unmet(name: str, text: str, version: str | None, recorded: Pins, observed: Pins) -> Finding:
    was = recorded.installed.get(name)
    was_so = text in recorded.required and was == version
    said = f"torch {observed.torch} asks for {text}"
    if was_so:
        return _finding(name, f"{version or 'missing'}; {said}, as when it was recorded", Severity.NOTE)
    if was == version:
        return _finding(name, f"{version or 'missing'}; {said}")
    return Finding(name, was or "none", version or "missing", said, hint=RESTORE, key=f"distribution[{name}]")


def _finding(name: str, detail: str, severity: Severity = Severity.DRIFT) -> Finding:
    return Finding(name, None, None, detail, RESTORE, severity, f"distribution[{name}]")


CHECK = Check(
    slug="triton-pin",
    explanation=__doc__,
    section=pins,
    compare=compare,
)
