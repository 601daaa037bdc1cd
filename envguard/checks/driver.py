"""The NVIDIA driver is another one, or too old.

What drifts: the kernel driver, held against what torch's CUDA variant needs. CUDA 13 (cu130, cu132)
needs 580 or newer, CUDA 12 needs 525.60.13, CUDA 11 needs 450.80.02. Below that floor is a drift;
another driver above it is a note.

Why it changes a training: below the floor torch.cuda doesn't start, or kernels fail with "device
kernel image is invalid". Between the floor and the branch that came with the CUDA version (570 for
12.8, 580 for 13.0) everything compiled beforehand runs, but the driver can't compile newer PTX code,
which some extensions ship. The driver belongs to the machine: no environment pins it, and a
reboot can move it.
Seen in public: https://github.com/huggingface/lerobot/pull/3570 (a lock moved to CUDA 13, clusters
below 580 stood still), https://github.com/triton-lang/triton/issues/3001.

How to read it: no driver at all makes the check unknown, not failed: verify may run on a login node.
--allow-unknown driver,gpus says that this is meant.

How to mend it: ask for a node with the recorded driver or a newer one; or use a build of torch for
an older CUDA (that is another environment: record it anew). NVIDIA's forward-compatibility
libraries can lower the floor in a container.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from envguard.checks.check import Check
from envguard.model.cuda import driver_branch, driver_floor, driver_is_older
from envguard.model.drift import Finding, Outcome, Severity
from envguard.model.facts import Driver, Facts
from envguard.model.observed import Observed, map_value, value_or_none


@dataclass(frozen=True, slots=True)
class Driven:
    """A driver, and the variant of the torch that it drives."""

    driver: str
    variant: str | None


def driven(facts: Facts) -> Observed[Driven]:
    """The section: the driver, with torch where it could be read."""
    torch = value_or_none(facts.torch)

    def of(driver: Driver) -> Driven:
        return Driven(driver.version, torch.variant if torch else None)

    return map_value(facts.driver, of)


def compare(recorded: Driven, observed: Driven) -> Iterator[Finding]:
    """At most one finding."""
    variant = observed.variant or ""
    floor = driver_floor(variant)
    if floor and driver_is_older(observed.driver, floor):
        yield _below(recorded, observed, f"below {floor}, the floor of {variant}")
    elif recorded.driver != observed.driver:
        yield Finding(
            "driver",
            recorded.driver,
            observed.driver,
            _above(observed.driver, variant, floor),
            severity=Severity.NOTE,
            key="machine.driver",
        )


def _below(recorded: Driven, observed: Driven, words: str) -> Finding:
    if recorded == observed:
        # The run was good with it: NVIDIA's forward-compatibility libraries lower the floor.
        return Finding(
            "driver",
            observed=observed.driver,
            detail=f"{words}, as when it was recorded",
            severity=Severity.NOTE,
            key="machine.driver",
        )
    other_variant = f" ({recorded.variant} when it was recorded)" if recorded.driver == observed.driver else ""
    return Finding(
        "driver",
        None if other_variant else recorded.driver,
        observed.driver,
        words + other_variant,
        hint="use a machine with a newer driver; this torch does not start its GPUs here",
        key="machine.driver",
    )


def _above(driver: str, variant: str, floor: str | None) -> str:
    if floor is None:
        return "another driver"
    if driver_is_older(driver, floor) is None:
        return f"can't be held against {floor}, the floor of {variant}"
    branch = driver_branch(variant)
    older = bool(branch and driver_is_older(driver, branch))
    native = f", older than {branch}, which came with its CUDA: it compiles no newer PTX" if older else ""
    return f"above {floor}, the floor of {variant}{native}"


CHECK = Check(
    slug="driver",
    explanation=__doc__,
    section=driven,
    compare=compare,
    when_gone=Outcome.UNKNOWN,
    when_new=Severity.NOTE,
    show=lambda side: side.driver,
    none_here="no NVIDIA driver on this machine",
)
