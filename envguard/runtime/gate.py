"""The first-step gate: one thread's first forward and backward end before the next thread's begin.

Threads that share a device can wait for each other for ever when they compile at once: one holds the compile and
asks the autograd engine for that device, where another waits for the compile.
"""

import faulthandler
import os
import sys
import threading
import time

from envguard.runtime import modes, tally
from envguard.runtime.errors import FirstStepDeadlineError

ABORT_CODE = 124


class _Done(threading.local):
    def __init__(self):
        self.devices = set()


class Gate:
    """``with GATE.step(device, ...)``; a thread passes freely once its first step on a device has ended well."""

    def __init__(self):
        self.done = _Done()
        self.passed = 0
        self.waited = 0.0
        self.forked()

    def forked(self):
        """Nobody holds it (a fork leaves only the forking thread)."""
        self.turn = threading.Condition()
        self.holder = None
        self.stuck = ""

    def step(self, device, deadline, action, before_abort, leave):
        """A block for one step. ``before_abort(why)`` runs before the process ends, ``leave()`` after a good step."""
        return _Passage(self, device, deadline, action, before_abort, leave)

    def enter(self):
        """Wait for the turn. FirstStepDeadlineError when the thread that has it is stuck."""
        started = time.monotonic()
        with self.turn:
            while self.holder is not None:
                if self.stuck:
                    raise FirstStepDeadlineError("%s; %s waits for it" % (self.stuck, tally.where()))
                self.turn.wait()
            self.holder = threading.get_ident()
            self.waited += time.monotonic() - started

    def give_up(self, why):
        """Tell those who wait that the turn won't come."""
        with self.turn:
            self.stuck = why
            self.turn.notify_all()

    def leave(self):
        """Give the turn to the next."""
        with self.turn:
            self.holder, self.stuck = None, ""
            self.turn.notify()


class _Passage:
    def __init__(self, gate, device, deadline, action, before_abort, leave):
        self.gate, self.device, self.deadline, self.action = gate, device, deadline, action
        self.before_abort, self.leave = before_abort, leave
        self.first = False
        self.watch = None

    def __enter__(self):
        gate = self.gate
        self.first = self.device not in gate.done.devices and gate.holder != threading.get_ident()
        if self.first:
            gate.enter()
            self.watch = _Watch(self, tally.thread_name())
        return self

    def __exit__(self, kind, error, trace):
        if not self.first:
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
    """Prints the stacks of all threads when a first step doesn't end in time, then ends the process if asked to."""

    def __init__(self, passage, name):
        self.passage = passage
        self.name = name
        self.late = ""
        self._ended = threading.Event()
        self._lock = threading.Lock()
        thread = threading.Thread(target=self._run, name="envguard-first-step", daemon=True)
        thread.start()

    def stop(self):
        """The step ended. Answers what was said of it if it was too late."""
        self._ended.set()
        with self._lock:
            return self.late

    def _run(self):
        if self._ended.wait(self.passage.deadline):
            return
        with self._lock:
            if self._ended.is_set():
                return
            self.late = "the first step of thread %s on %s did not end within %g s" % (
                self.name, self.passage.device, self.passage.deadline,
            )  # fmt: skip
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


def stacks():
    """The stacks of all threads, on stderr."""
    try:
        faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    except (OSError, ValueError, AttributeError, RuntimeError):
        faulthandler.dump_traceback(file=2, all_threads=True)


GATE = Gate()
