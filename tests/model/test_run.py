"""A run's words: roles, who shares a process, how much memory."""

from __future__ import annotations

import pytest

from envguard.model.run import Run, RunDevice, RunThread, role_of


@pytest.mark.parametrize(
    ("thread", "role"),
    [
        ("MainThread", "MainThread"),
        ("drafter-1", "drafter"),
        ("target_12", "target"),
        ("Thread-3 (work)", "work"),
        ("Thread-7", "Thread"),
        ("42", "42"),
        ("ThreadPoolExecutor-0_3", "ThreadPoolExecutor-0"),
    ],
)
def test_a_role_is_the_name_without_its_number(thread: str, role: str) -> None:
    assert role_of(thread) == role


def run(*threads: RunThread, devices: tuple[RunDevice, ...] = ()) -> Run:
    return Run("2.11.0", "c", threads, devices)


def test_together_are_those_of_the_fullest_process() -> None:
    whole = run(RunThread("a", "cuda:0", 0), RunThread("b", "cuda:1", 1), RunThread("c", "cuda:1", 1))
    assert whole.together == ("cuda:1", "cuda:1")
    assert run().together == ()


def test_budget_is_the_most_that_was_held_on_any_device() -> None:
    devices = (RunDevice("cpu"), RunDevice("cuda:0", reserved_mib=10), RunDevice("cuda:1", reserved_mib=30))
    assert run(devices=devices).budget_mib == 30
    assert run().budget_mib is None


def test_a_device_needs_what_was_held_and_the_context() -> None:
    assert RunDevice("cuda:0", reserved_mib=10, context_mib=5).needs_mib == 15
    assert RunDevice("cuda:0", reserved_mib=10).needs_mib == 10
    assert RunDevice("cpu", context_mib=5).needs_mib is None
