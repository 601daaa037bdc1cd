"""The first-step gate: one thread's first forward and backward end before the next thread's begin.

Threads that share a device can wait for each other for ever when they compile at once: one holds the compile and
asks the autograd engine for that device, where another waits for the compile.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType

from envguard.runtime import modes, tally
from envguard.runtime.errors import FirstStepDeadlineError

ABORT_CODE = 124


class _Done(threading.local):
    def __init__(self) -> None:
        self.devices: set[str] = set()


class Gate:
    """``with GATE.step(device, ...)``; a thread passes freely once its first step on a device has ended well."""

    def __init__(self) -> None:
        self.done = _Done()
        self.passed = 0
        self.waited = 0.0
        self.forked()

    def forked(self) -> None:
        """Nobody holds it (a fork leaves only the forking thread)."""
        self.turn = threading.Condition()
        self.holder: int | None = None
        self.stuck = ""

    def step(
        self,
        device: str,
        deadline: float,
        action: str,
        before_abort: Callable[[str], None],
        leave: Callable[[], None],
    ) -> Passage:
        """A block for one step: ``before_abort(why)`` before the process ends, ``leave()`` after a good step."""
        return Passage(self, device, deadline, action, before_abort, leave)

    def enter(self) -> None:
        """Wait for the turn. FirstStepDeadlineError when the thread that has it is stuck."""
        started = time.monotonic()
        with self.turn:
            while self.holder is not None:
                if self.stuck:
                    raise FirstStepDeadlineError("%s; %s waits for it" % (self.stuck, tally.where()))
                self.turn.wait()
            self.holder = threading.get_ident()
            self.waited += time.monotonic() - started

    def give_up(self, why: str) -> None:
        """Tell those who wait that the turn won't come."""
        with self.turn:
            self.stuck = why
            self.turn.notify_all()

    def leave(self) -> None:
        """Give the turn to the next."""
        with self.turn:
            self.holder, self.stuck = None, ""
            self.turn.notify()


class Passage:
    """One thread's way through the gate."""

    def __init__(
        self,
        gate: Gate,
        device: str,
        deadline: float,
        action: str,
        before_abort: Callable[[str], None],
        leave: Callable[[], None],
    ) -> None:
        self.gate, self.device, self.deadline, self.action = gate, device, deadline, action
        self.before_abort, self.leave = before_abort, leave
        self.first = False
        self.watch: _Watch | None = None

    def __enter__(self) -> Passage:
        gate = self.gate
        self.first = self.device not in gate.done.devices and gate.holder != threading.get_ident()
        if self.first:
            gate.enter()
            self.watch = _Watch(self, tally.thread_name())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.watch is None:
            return
        late = self.watch.stop()
        self.gate.leave()
        if kind is not None:
            return
        if late:
            raise FirstStepDeadlineError(late)
        self.gate.done.devices.add(self.device)
        self.gate.passed += 1
        self.leave()


class _Watch:
    """Prints all stacks when a first step doesn't end in time, then ends the process if asked to."""

    def __init__(self, passage: Passage, name: str) -> None:
        self.passage = passage
        self.name = name
        self.late = ""
        self._ended = threading.Event()
        self._lock = threading.Lock()
        thread = threading.Thread(target=self._run, name="envguard-first-step", daemon=True)
        thread.start()

    def stop(self) -> str:
        """The step ended. Answers what was said of it if it was too late."""
        self._ended.set()
        with self._lock:
            return self.late

    def _run(self) -> None:
        if self._ended.wait(self.passage.deadline):
            return
        with self._lock:
            if self._ended.is_set():
                return
            self.late = "the first step of thread %s on %s did not end within %g s" % (
                self.name,
                self.passage.device,
                self.passage.deadline,
            )
            modes.say(self.late + "; the stacks of all threads:")
            stacks()
            tally.hazard("first-step-deadline", self.late)
            self.passage.gate.give_up(self.late)
            if self.passage.action == "abort":
                modes.say("the process is ended with exit code %d (ENVGUARD_FIRST_STEP_DEADLINE)" % ABORT_CODE)
                try:
                    self.passage.before_abort(self.late)
                finally:
                    os._exit(ABORT_CODE)


def stacks() -> None:
    """The stacks of all threads, on stderr."""
    try:
        faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    except (OSError, ValueError, AttributeError, RuntimeError):
        faulthandler.dump_traceback(file=2, all_threads=True)


GATE = Gate()
