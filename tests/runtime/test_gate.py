"""The first-step gate: one at a time, once a thread and device, and a deadline that tells."""

from __future__ import annotations

import threading
import time

import pytest

from envguard.runtime.errors import FirstStepDeadlineError
from envguard.runtime.gate import Gate, Passage
from tests.runtime.conftest import Programs


def step(gate: Gate, device: str = "cuda:0", deadline: float = 60, action: str = "raise") -> Passage:
    return gate.step(device, deadline, action, lambda why: None, lambda: None)


def in_threads(work: list[object]) -> None:
    threads = [threading.Thread(target=one) for one in work]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_threads_have_their_first_step_one_after_another() -> None:
    gate, inside, most = Gate(), [0], [0]

    def work() -> None:
        with step(gate):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            time.sleep(0.01)
            inside[0] -= 1

    in_threads([work] * 8)

    assert (most, gate.passed, gate.holder) == ([1], 8, None)


def test_later_steps_pass_at_once_while_another_thread_has_its_first() -> None:
    gate, held, go = Gate(), threading.Event(), threading.Event()
    with step(gate):
        pass

    def other() -> None:
        with step(gate):
            held.set()
            assert go.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    assert held.wait(30)
    with step(gate):
        go.set()
    thread.join()

    assert gate.passed == 2


def test_each_device_of_a_thread_has_its_own_first_step_and_they_nest() -> None:
    gate = Gate()
    with step(gate, "cuda:0"), step(gate, "cuda:1"):
        assert gate.holder == threading.get_ident()

    assert gate.passed == 1
    with step(gate, "cuda:1"):
        assert gate.holder == threading.get_ident()
    assert gate.passed == 2


def test_a_step_that_failed_has_to_be_had_again_and_lets_the_next_in() -> None:
    gate = Gate()
    with pytest.raises(ZeroDivisionError), step(gate):
        raise ZeroDivisionError
    assert (gate.passed, gate.holder) == (0, None)

    with step(gate):
        assert gate.holder == threading.get_ident()
    assert gate.passed == 1


def test_past_its_deadline_stacks_are_printed_and_all_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    gate, told, held = Gate(), [], threading.Event()

    def stuck_here() -> None:
        held.set()
        while not gate.stuck:
            time.sleep(0.01)
        time.sleep(0.2)  # those who wait are told before the step ends

    def holder() -> None:
        try:
            with step(gate, deadline=0.1):
                stuck_here()
        except FirstStepDeadlineError as error:
            told.append(f"holder: {error}")

    def waiter() -> None:
        assert held.wait(30)
        try:
            with step(gate, deadline=0.1):
                told.append("let in")
        except FirstStepDeadlineError as error:
            told.append(f"waiter: {error}")

    in_threads([holder, waiter])

    assert [text.split(":")[0] for text in told] == ["waiter", "holder"]
    assert all("did not end within 0.1 s" in text for text in told)
    assert "stuck_here" in capfd.readouterr().err
    with step(gate):
        assert gate.holder == threading.get_ident()


DEADLOCK = """
import threading, torch
from envguard.runtime import guard

lock = threading.Lock()
lock.acquire()

def waits_for_ever():
    with guard.first_step("cuda:0"):
        lock.acquire()

def second():
    with guard.first_step("cuda:0"):
        print("let in")

for work in (waits_for_ever, second):
    threading.Thread(target=work, name=work.__name__).start()
"""


def test_a_deadlock_ends_the_process_with_the_stacks_and_a_log(programs: Programs) -> None:
    ended = programs.run(DEADLOCK, ENVGUARD_FIRST_STEP_DEADLINE="0.5")

    assert (ended.code, ended.out) == (124, "")
    assert "the first step of thread waits_for_ever on cuda:0 did not end within 0.5 s" in ended.err
    assert "in waits_for_ever" in ended.err and "in second" in ended.err
    assert ended.log["end"]["how"] == "deadline"
    assert ended.log["hazards"][0]["hazard"] == "first-step-deadline"  # who waited may have been told in time too


def test_a_deadline_that_is_no_number_is_told(programs: Programs) -> None:
    ended = programs.run(
        "from envguard.runtime import guard\nwith guard.first_step('cpu'): pass",
        ENVGUARD_FIRST_STEP_DEADLINE="soon",
    )

    assert ended.code == 0 and "ENVGUARD_FIRST_STEP_DEADLINE" in ended.err
