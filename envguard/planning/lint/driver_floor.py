"""The recorded driver is older than the recorded torch can run on.

What: [machine] names the driver that the run had, and the variant has a floor (CUDA 13 needs 580 or newer).

Why: such a run cannot have happened on that machine, so the two come from different snapshots. And restore's
preflight holds machines against the floor that is written here.

How to mend it: record the lock again on the machine of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from envguard.model.cuda import driver_floor, driver_is_older
from envguard.model.observed import value_or_none
from envguard.planning.lint.rule import AGAIN, Rule, Said, Subject


def look(subject: Subject) -> Iterator[Said]:
    """At most two findings: the floor as written, and the driver under it."""
    torch = subject.torch
    floor = driver_floor(torch.variant) if torch else None
    machine = subject.document.get("machine")
    written = machine.get("driver-floor") if isinstance(machine, dict) else None
    if torch is None:
        return
    if isinstance(written, str) and written != floor:
        told = f"its floor is {floor}" if floor else "it needs no NVIDIA driver"
        message = f"driver-floor {written} is not that of {torch.variant}: {told}"
        yield Said(message, f"envguard lint --fix {subject.file}", "machine.driver-floor", "driver-floor")
    driver = value_or_none(subject.facts.driver)
    if driver is not None and floor is not None and driver_is_older(driver.version, floor):
        message = f"driver {driver.version} is older than {floor}, which {torch.variant} needs"
        yield Said(message, AGAIN, "machine.driver", "driver")


RULE = Rule("driver-floor", __doc__, look)
