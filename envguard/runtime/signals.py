"""A last word on SIGTERM and SIGINT, even while the main thread is stuck in C code.

Python runs signal functions only in the main thread; its C part, though, writes each signal's number to a pipe at
once. A thread of ours reads that pipe.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

LastWord = Callable[[str], None]
"""Called with the signal's name."""


class _State:
    reading: int | None = None
    writing: int | None = None
    last_word: LastWord | None = None


def _asked(number: int, _: Any) -> None:
    """SIGTERM's function, so that its number is written to the pipe; the reading thread ends the process.

    Where the program took the pipe's place since (asyncio does), nobody reads it, and it is up to this function.
    """
    current = signal.set_wakeup_fd(-1)
    if current != -1:
        signal.set_wakeup_fd(current, warn_on_full_buffer=False)
    if current != _State.writing and _State.last_word is not None:
        _one(number, _State.last_word)


def watch(last_word: LastWord) -> None:
    """Call ``last_word(signal name)`` on SIGTERM and SIGINT; then SIGTERM ends the process as it would have.

    SIGTERM is left alone where the program has a function of its own for it. Only in the main thread.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    ours = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    try:
        before = signal.set_wakeup_fd(-1)
    except ValueError:
        return
    if before != -1:  # the program's own (asyncio's): it is not ours to take
        signal.set_wakeup_fd(before)
        return
    _State.reading, _State.writing = os.pipe()
    _State.last_word = last_word
    os.set_blocking(_State.writing, False)
    signal.set_wakeup_fd(_State.writing, warn_on_full_buffer=False)
    thread = threading.Thread(target=_read, args=(_State.reading, last_word), name="envguard-signals", daemon=True)
    thread.start()
    if ours:
        signal.signal(signal.SIGTERM, _asked)


def forked(last_word: LastWord) -> None:
    """After a fork: the pipe was the parent's."""
    if _State.writing is None or _State.reading is None:
        return
    signal.set_wakeup_fd(-1)
    for number in (_State.reading, _State.writing):
        os.close(number)
    _State.reading = _State.writing = None
    if signal.getsignal(signal.SIGTERM) is _asked:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    watch(last_word)


def _read(reading: int, last_word: LastWord) -> None:
    while True:
        try:
            numbers = os.read(reading, 64)
        except OSError:
            return
        if not numbers:
            return
        for number in numbers:
            if number in (signal.SIGTERM, signal.SIGINT):
                _one(number, last_word)


def _one(number: int, last_word: LastWord) -> None:
    try:
        last_word(signal.Signals(number).name)
    finally:
        if number == signal.SIGTERM and signal.getsignal(number) is _asked:
            _die(number)


def _die(number: int) -> None:
    """As if nobody had listened. ``signal.signal`` is for the main thread alone, so C's own is called."""
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    libc.signal(number, None)
    os.kill(os.getpid(), number)
