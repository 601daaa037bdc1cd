from __future__ import annotations

import pytest

from envguard.model.cuda import driver_floor
from envguard.model.facts import Driver, Facts, Gpu, Live
from envguard.model.observed import Absent, Observed, Unobserved, Value
from envguard.planning.machine import machine_problems
from tests.builders import facts, torch_build


def live(*architectures: str) -> Value[Live]:
    return Value(Live("2.11.0+cu130", "0" * 40, "13.0", None, None, architectures, "float32", ()))


FLOOR = driver_floor("cu130")
NONE = Absent()


def here(driver: Observed[Driver] = NONE, *capabilities: str) -> Facts:
    gpus = tuple(Gpu(index, "a GPU", capability, 80_000) for index, capability in enumerate(capabilities))
    return Facts(driver=driver, gpus=Value(gpus))


@pytest.mark.parametrize("version", ["580.65.06", "580.159", "600"])
def test_a_driver_at_or_above_the_floor_is_nothing_to_tell(version: str) -> None:
    assert machine_problems(facts(), here(Value(Driver(version)))) == ((), ())


@pytest.mark.parametrize("version", ["579.99", "570.86", "9.99"])
def test_a_driver_below_the_floor_is_a_problem(version: str) -> None:
    (problem,), notes = machine_problems(facts(), here(Value(Driver(version))))
    assert problem.reason == f"driver {version} is below what cu130 needs: at least {FLOOR}"
    assert notes == ()


@pytest.mark.parametrize("driver", [Absent(), Unobserved("no permission")], ids=["none", "unseen"])
def test_no_driver_is_a_note(driver: Observed[Driver]) -> None:
    assert machine_problems(facts(), here(driver)) == (
        (),
        (f"no NVIDIA driver was seen here; cu130 needs at least {FLOOR}",),
    )


@pytest.mark.parametrize(
    "recorded",
    [facts(torch=Absent()), facts(torch=Value(torch_build(variant="cpu")))],
    ids=["no-torch", "cpu"],
)
def test_what_needs_no_driver_asks_for_none(recorded: Facts) -> None:
    assert machine_problems(recorded, here()) == ((), ())


@pytest.mark.parametrize(
    ("capability", "built_for", "runs"),
    [
        ("9.0", ("sm_80", "sm_90"), True),
        ("8.6", ("sm_80",), True),
        ("8.0", ("sm_86",), False),
        ("12.0", ("sm_80", "sm_90"), False),
        ("12.0", ("sm_90", "compute_90"), True),
        ("7.0", ("compute_80",), False),
        ("9.0", ("sm_90a",), True),
        ("9.4", ("gfx942",), True),
        ("odd", ("sm_90",), True),
        ("9.0", (), True),
    ],
)
def test_a_gpu_is_held_against_the_architectures_of_the_build(
    capability: str, built_for: tuple[str, ...], runs: bool
) -> None:
    recorded = facts(live=live(*built_for))
    problems, _ = machine_problems(recorded, here(Value(Driver("600")), capability))
    assert [problem.subject for problem in problems] == ([] if runs else ["gpu 0"])


def test_without_recorded_architectures_no_gpu_is_judged() -> None:
    assert machine_problems(facts(), here(Value(Driver("600")), "1.0")) == ((), ())
