"""Whether this machine can run what a lock holds: driver and GPU architecture."""

from __future__ import annotations

from envguard.model.cuda import driver_floor
from envguard.model.facts import Facts
from envguard.model.observed import Value
from envguard.planning.obtain import Problem, ProblemKind


def machine_problems(recorded: Facts, here: Facts) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    """Problems, and notes where a look could not be had or nothing is there to be compared."""
    driver = _driver(recorded, here)
    gpus = _gpus(recorded, here)
    outcomes = (*driver, *gpus)
    return (
        tuple(outcome for outcome in outcomes if isinstance(outcome, Problem)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, str)),
    )


def _driver(recorded: Facts, here: Facts) -> tuple[Problem | str, ...]:
    torch = recorded.torch
    floor = driver_floor(torch.value.variant) if isinstance(torch, Value) else None
    if floor is None or not isinstance(torch, Value):
        return ()
    variant = torch.value.variant
    if not isinstance(here.driver, Value):
        return (f"no NVIDIA driver was seen here; {variant} needs at least {floor}",)
    version = here.driver.value.version
    if _numbers(version) >= _numbers(floor):
        return ()
    reason = f"driver {version} is below what {variant} needs: at least {floor}"
    return (Problem(ProblemKind.MACHINE, "driver", reason, "update the NVIDIA driver, or restore elsewhere"),)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _gpus(recorded: Facts, here: Facts) -> tuple[Problem | str, ...]:
    """Each GPU here against the architectures that the torch build was compiled for, where the lock has them."""
    if not isinstance(recorded.live, Value) or not isinstance(here.gpus, Value):
        return ()
    built_for = recorded.live.value.architectures
    if not built_for:
        return ()
    return tuple(
        Problem(
            ProblemKind.MACHINE,
            f"gpu {gpu.index}",
            f"{gpu.name} has capability {gpu.capability}; the torch build is for {', '.join(built_for)}",
            "restore on a machine with another GPU",
        )
        for gpu in here.gpus.value
        if not _runs(gpu.capability, built_for)
    )


def _runs(capability: str, built_for: tuple[str, ...]) -> bool:
    """``sm_80`` runs on 8.0 and later of major 8; ``compute_80`` (PTX) on 8.0 and everything later."""
    own = _capability(capability.replace(".", ""))
    for name in built_for:
        kind, _, digits = name.partition("_")
        least = _capability(digits.rstrip("af"))
        if own is None or least is None:
            return True  # a name of another kind (gfx942): not for us to judge
        if (kind == "compute" and own >= least) or (kind == "sm" and own[0] == least[0] and own >= least):
            return True
    return False


def _capability(digits: str) -> tuple[int, int] | None:
    return (int(digits[:-1]), int(digits[-1])) if digits.isdecimal() and len(digits) > 1 else None
