"""Counts compiles where torch makes them, looks at the thread's settings there, and ends them after warm."""

from __future__ import annotations

import functools
import sys
import warnings
from types import CodeType, FrameType
from typing import Any

from envguard.runtime import modes, settings, tally
from envguard.runtime.errors import CompileAfterWarmError

FRAMES = "torch._dynamo.convert_frame"
CALLBACKS = "torch._dynamo.callback"
_DENSE_WRAPPER = "_flex_attention_hop_wrapper"
"""What torch compiles by itself around a flex_attention that nobody compiled: the dense call says it better."""


class _State:
    after_warm: str | None = None
    """None before ``warm()``; then ``error``, ``warning`` or ``count``."""


STATE = _State()


def follow_frames(module: Any) -> None:
    """Follow ``_compile``: every frame that Dynamo compiles, in the thread that does it."""
    original = module._compile

    @functools.wraps(original)
    def _compile(code: CodeType, *arguments: Any, **named: Any) -> Any:
        what = "%s (%s:%d)" % (code.co_name, _short(code.co_filename), code.co_firstlineno)
        _begins("compiles", what, dense=code.co_name == _DENSE_WRAPPER)
        return original(code, *arguments, **named)

    module._compile = _compile


def follow_callbacks(module: Any) -> None:
    """Follow backward graphs that are compiled when they first run, in the autograd engine's threads."""
    kind = module.CompilationCallbackHandler
    original = kind.install_callbacks

    @functools.wraps(original)
    def install_callbacks(self: Any, trigger: Any, *arguments: Any, **named: Any) -> Any:
        if getattr(trigger, "name", "") == "LAZY_BACKWARD":
            _begins("backward_compiles", "a backward graph")
        return original(self, trigger, *arguments, **named)

    kind.install_callbacks = install_callbacks


def _begins(name: str, what: str, *, dense: bool = False) -> None:
    tally.add(name)
    refusing = modes.mode() in ("on", "strict")
    found = settings.of_thread()
    if found:
        if refusing:
            settings.unsuppress()
        settings.refuse(found, refusing=refusing)
    if STATE.after_warm is not None and not dense:
        _late(what)


def _late(what: str) -> None:
    tally.add("compiles_after_warm")
    text = "%s was compiled after guard.warm() (%s), called from %s" % (what, tally.where(), _caller())
    tally.hazard("compile-after-warm", "%s was compiled after guard.warm()" % what)
    if STATE.after_warm == "error":
        settings.unsuppress()
        raise CompileAfterWarmError(text)
    if STATE.after_warm == "warning":
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        modes.say(text)


def _caller() -> str:
    """The nearest line that is neither torch's nor the guard's."""
    torch = sys.modules["torch"].__path__[0]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((torch, "<")) and __package__.replace(".", "/") not in name.replace("\\", "/"):
            return "%s:%d" % (_short(name), frame.f_lineno)
        frame = frame.f_back
    return "the autograd engine"


def _short(path: str) -> str:
    return "/".join(path.replace("\\", "/").split("/")[-2:])
