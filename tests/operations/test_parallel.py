from __future__ import annotations

import threading
import time

import pytest

from envguard.operations.parallel import StoppedError, Stopping, each
from tests.fakes.index import Silence


def test_results_come_in_the_order_of_things() -> None:
    progress = Silence()

    def slow_first(number: int) -> int:
        time.sleep(0.02 if number == 0 else 0)
        return number * number

    assert each(slow_first, range(5), progress, "squares", "numbers") == [0, 1, 4, 9, 16]
    assert progress.steps == [("squares", done, 5, "numbers") for done in range(1, 6)]


def test_no_things_no_results() -> None:
    assert each(str, [], Silence(), "nothing", "things") == []


def test_no_more_than_so_many_at_a_time() -> None:
    now, most, mutex = 0, 0, threading.Lock()

    def count(_: int) -> None:
        nonlocal now, most
        with mutex:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with mutex:
            now -= 1

    each(count, range(20), Silence(), "count", "", workers=3)
    assert most == 3


def test_the_first_error_ends_the_others_at_their_next_word() -> None:
    stopping = Stopping(Silence())
    started, given_up, never = threading.Event(), threading.Event(), []

    def do(number: int) -> None:
        if number == 0:
            started.wait(10)
            raise ValueError("the first")
        if number > 1:
            never.append(number)
            return
        started.set()
        try:
            while True:
                stopping.step("download", 1, None)
                time.sleep(0.001)
        except StoppedError:
            given_up.set()
            raise

    with pytest.raises(ValueError, match="the first"):
        each(do, [0, 1, *range(2, 100)], stopping, "do", "", workers=2)
    assert given_up.is_set()
    assert never == []


def test_what_was_stopped_passes_nothing_on() -> None:
    progress = Silence()
    stopping = Stopping(progress)
    stopping.step("a", 1, 2, "B")
    stopping.stop()
    with pytest.raises(StoppedError):
        stopping.step("a", 2, 2, "B")
    assert progress.steps == [("a", 1, 2, "B")]


def test_a_thing_that_fails_later_is_told_as_well_as_one_that_fails_first() -> None:
    def do(number: int) -> int:
        if number == 3:
            raise ValueError("the last")
        return number

    with pytest.raises(ValueError, match="the last"):
        each(do, range(4), Silence(), "do", "", workers=1)


def test_an_interrupt_gives_the_others_up() -> None:
    class Interrupted(Silence):
        def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
            raise KeyboardInterrupt

    begun = []

    def do(number: int) -> None:
        begun.append(number)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        each(do, range(100), Interrupted(), "do", "", workers=1)
    assert len(begun) < 100
