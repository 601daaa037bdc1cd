"""What a program calls. Injected or not, the first call (or ``install()``) puts the guard in place, once.

::

    from envguard.runtime import guard

    with guard.first_step(device):      # each thread, around its first forward and backward
        loss(batch).backward()
    guard.warm()                        # once all have had theirs: from here on a compile is told
    for batch in batches:
        ...
        guard.step(tokens=batch.numel())
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from envguard.runtime import (
    compiles,
    flag,
    hook,
    marks,
    modes,
    place,
    ranks,
    runlog,
    settings,
    signals,
    tally,
)
from envguard.runtime import dense as dense_calls
from envguard.runtime.errors import (
    CompileAfterWarmError,
    DenseAttentionError,
    FirstStepDeadlineError,
    GuardError,
    GuardRefusedError,
    RanksDifferError,
)
from envguard.runtime.gate import GATE
from envguard.runtime.steps import STEPS

__all__ = (
    "CompileAfterWarmError",
    "DenseAttentionError",
    "FirstStepDeadlineError",
    "GuardError",
    "GuardRefusedError",
    "RanksDifferError",
    "dense",
    "first_step",
    "install",
    "report",
    "step",
    "warm",
    "write_log",
)

_installing = threading.RLock()


class _Installed:
    done = False


def install() -> None:
    """Guard this process, once; imports torch where the program hasn't yet. GuardRefusedError.

    Call it before the first torch.compile on torch 2.8.
    """
    with _installing:
        if _Installed.done or modes.mode() == "off":
            return
        importlib.import_module("torch")
        if not _Installed.done:
            _install(by_hand=True)


def injected() -> None:
    """Torch was imported in a process of ``envguard run``."""
    hook.lend_no_more()
    with _installing:
        if not _Installed.done and modes.mode() != "off" and place.role() != "compile-worker":
            _install(by_hand=False)


def first_step(
    device: object = None, deadline: float | None = None, on_deadline: str = "abort"
) -> AbstractContextManager[object]:
    """A block for a thread's first forward and backward on a device: one thread at a time has it.

    Later blocks of the thread pass at once. Have what the step needs (a batch, another thread's features)
    before it: who waits inside for a thread that waits outside waits for ever. After ``deadline`` seconds
    (ENVGUARD_FIRST_STEP_DEADLINE, else 1800) all stacks are printed; then the process ends with exit code 124, or,
    with ``on_deadline="raise"``, those who wait get FirstStepDeadlineError, and so does the step once it ends.
    """
    install()
    if device is not None:
        tally.HERE.device = _name(device)
    _check()
    if modes.mode() in ("off", "observe"):
        return _Open()
    return GATE.step(
        tally.device(),
        modes.deadline() if deadline is None else deadline,
        on_deadline,
        lambda why: runlog.write("deadline", why),
        _check,
    )


def warm(after: str | None = None) -> None:
    """All first steps are done. From here on a compile, in any thread, is ``error``, ``warning`` or ``count``.

    ``after`` None: ENVGUARD_AFTER_WARM, else ``warning``. GuardRefusedError when a dangerous setting is on.
    """
    install()
    if modes.mode() == "off":
        return
    chosen = modes.after_warm() if after is None else after
    if chosen not in ("error", "warning", "count"):
        raise ValueError("after is error, warning or count, not %r" % (chosen,))
    _check()
    compiles.STATE.after_warm = "count" if modes.mode() == "observe" else chosen
    runlog.write()


def step(tokens: int = 0) -> None:
    """A training step of this thread ended; ``tokens`` it trained on."""
    STEPS.step(tokens)


def dense() -> dense_calls.Dense:
    """A block of this thread in which flex_attention without torch.compile is meant: counted, and no error."""
    install()
    return dense_calls.Dense()


def report() -> dict[str, Any]:
    """The run log as it is now: a dict of the schema ``envguard-run-1``."""
    return runlog.document()


def write_log() -> None:
    """Write the run log now, where ENVGUARD_RUN_LOG asks for one; it is written at the end all the same."""
    runlog.write()


class _Open:
    def __enter__(self) -> _Open:
        return self

    def __exit__(self, *error: object) -> None:
        return None


def _install(by_hand: bool) -> None:
    _Installed.done = True
    observing = modes.mode() == "observe"
    place.own()
    _ends()
    settings.refuse(settings.of_variables() + settings.of_thread(), refusing=not observing)
    _guard_flag(by_hand, observing)
    if not observing and marks.MODULE in sys.modules:  # importing torch brings it
        _followed("annotations", marks.steady(sys.modules[marks.MODULE]))
    hook.after("torch._dynamo.utils", lambda module: _followed("cache counters", tally.follow(module.counters)))
    hook.after("torch._dynamo.convert_frame", lambda module: _try("compiles", compiles.follow_frames, module))
    hook.after(
        "torch._dynamo.callback", lambda module: _try("backward compiles", compiles.follow_callbacks, module)
    )
    hook.after(dense_calls.SOURCE, _guard_dense)
    if ranks.MODULE in sys.modules or place.rank()["world_size"] is not None:
        hook.after(ranks.MODULE, lambda module: _try("ranks", ranks.follow, module))


def _guard_flag(by_hand: bool, observing: bool) -> None:
    module = sys.modules[flag.MODULE]
    count = _count_trace
    if observing:
        flag.watch(module, count)
        runlog.STATE.flag = "process" if flag.raised() is not None else "torch"
        return
    try:
        runlog.STATE.flag = flag.per_thread(module, count)
    except GuardRefusedError as refused:
        runlog.STATE.flag, runlog.STATE.refused = "unguarded", str(refused)
        tally.hazard("unknown-build", str(refused))
        if by_hand or modes.mode() == "strict":
            raise
        modes.say("%s The run goes on without it (ENVGUARD_GUARD=strict would end it)." % refused)


def _count_trace() -> None:
    tally.add("fx_traces")


def _guard_dense(module: Any) -> None:
    known = dense_calls.guard(module)
    _followed("dense calls", known)
    if not known and modes.mode() != "observe" and modes.dense() == "error":
        dense_calls.by_warning()


def _try(what: str, follow: Callable[[Any], None], module: Any) -> None:
    """Follow one of torch's functions; a build that hasn't got it goes uncounted, and the log says so."""
    try:
        follow(module)
        _followed(what, True)
    except AttributeError:
        _followed(what, False)


def _followed(what: str, known: bool) -> None:
    runlog.STATE.followed[what] = known


def _check() -> None:
    """The thread's settings and the flag."""
    refusing = modes.mode() in ("on", "strict")
    if flag.stuck():
        tally.hazard("sticky-flag", "the tracing flag is up though nothing traces")
        if refusing and runlog.STATE.flag != "guard":
            raise GuardRefusedError(
                "torch's tracing flag is stuck: every compiled call fails or runs uncompiled now"
            )
    settings.refuse(settings.of_thread(), refusing=refusing)


def _name(device: object) -> str:
    text = str(device)
    if text == "cuda":
        torch = importlib.import_module("torch")
        return "cuda:%d" % torch.cuda.current_device()
    return "cuda:%s" % text if text.isdigit() else text


def _ends() -> None:
    """See to it that the run log is written however this process ends, short of SIGKILL."""
    atexit.register(lambda: runlog.write("exit"))
    signals.watch(lambda name: runlog.write("signal", name))
    _hook_exceptions()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    hook.after("multiprocessing.util", _at_child_exit)


def _hook_exceptions() -> None:
    main, thread = sys.excepthook, threading.excepthook

    def in_main(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        runlog.write("exception", "%s: %s" % (kind.__name__, _first_line(error)))
        main(kind, error, trace)

    def in_thread(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_type is not SystemExit:
            name = ended.thread.name if ended.thread is not None else "?"
            tally.hazard(
                "thread-died", "%s: %s: %s" % (name, ended.exc_type.__name__, _first_line(ended.exc_value))
            )
            runlog.write()
        thread(ended)

    sys.excepthook, threading.excepthook = in_main, in_thread


def _first_line(error: BaseException | None) -> str:
    return (str(error).splitlines() or [""])[0][:300]


def _forked() -> None:
    flag.forked()
    tally.forked()
    GATE.forked()
    STEPS.forked()
    runlog.forked()
    signals.forked(lambda name: runlog.write("signal", name))


def _at_child_exit(util: Any) -> None:
    """Forked children of multiprocessing end by ``os._exit``; their finalizers run, though."""

    def after_fork(_: object) -> None:
        util.Finalize(None, lambda: runlog.write("exit"), exitpriority=0)

    util.register_after_fork(_Open, after_fork)
