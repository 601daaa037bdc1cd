"""Counts compiles where torch makes them, looks at the thread's settings there, and ends them after warm."""

import functools
import sys
import warnings

from envguard.runtime import modes, settings, tally
from envguard.runtime.errors import CompileAfterWarmError

FRAMES = "torch._dynamo.convert_frame"
CALLBACKS = "torch._dynamo.callback"


class _State:
    after_warm = None
    """None before ``warm()``; then ``error``, ``warning`` or ``count``."""


STATE = _State()


def follow_frames(module):
    """Follow ``_compile``: every frame that Dynamo compiles, in the thread that does it."""
    original = module._compile

    @functools.wraps(original)
    def _compile(code, *arguments, **named):
        _begins("compiles", "%s (%s:%d)" % (code.co_name, _short(code.co_filename), code.co_firstlineno))
        return original(code, *arguments, **named)

    module._compile = _compile


def follow_callbacks(module):
    """Follow backward graphs that are compiled when they first run, in the autograd engine's threads."""
    kind = module.CompilationCallbackHandler
    original = kind.install_callbacks

    @functools.wraps(original)
    def install_callbacks(self, trigger, *arguments, **named):
        if getattr(trigger, "name", "") == "LAZY_BACKWARD":
            _begins("backward_compiles", "a backward graph")
        return original(self, trigger, *arguments, **named)

    kind.install_callbacks = install_callbacks


def _begins(name, what):
    tally.add(name)
    refusing = modes.mode() in ("on", "strict")
    found = settings.of_thread()
    if found:
        if refusing:
            settings.unsuppress()
        settings.refuse(found, refusing=refusing)
    if STATE.after_warm is not None:
        _late(what)


def _late(what):
    tally.add("compiles_after_warm")
    text = "%s was compiled after guard.warm() (%s), called from %s" % (what, tally.where(), _caller())
    tally.hazard("compile-after-warm", "%s was compiled after guard.warm()" % what)
    if STATE.after_warm == "error":
        settings.unsuppress()
        raise CompileAfterWarmError(text)
    if STATE.after_warm == "warning":
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        modes.say(text)


def _caller():
    """The nearest line that is neither torch's nor the guard's."""
    torch = sys.modules["torch"].__path__[0]
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((torch, "<")) and __package__.replace(".", "/") not in name.replace("\\", "/"):
            return "%s:%d" % (_short(name), frame.f_lineno)
        frame = frame.f_back
    return "the autograd engine"


def _short(path):
    return "/".join(path.replace("\\", "/").split("/")[-2:])
