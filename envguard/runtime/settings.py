"""Settings under which torch goes on without compiling and says nothing. They are refused.

From torch 2.12 settings belong to a thread, so each thread's own are looked at.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from envguard.runtime import tally
from envguard.runtime.errors import GuardRefusedError

CONFIG = "torch._dynamo.config"

_OFF_BY = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_SUPPRESS = "TORCHDYNAMO_SUPPRESS_ERRORS"
"""Any text but an empty one switches it on."""
_BAD = (("error_on_nested_fx_trace", False), ("suppress_errors", True), ("disable", True))
_WHY = {
    "error_on_nested_fx_trace": "calls that meet another thread's trace would run uncompiled",
    "suppress_errors": "what fails to compile would run uncompiled",
    "disable": "nothing would be compiled",
}


def of_variables() -> list[tuple[str, str]]:
    """Dangerous variables that are set: ``[(NAME=value, why)]``."""
    names = [name for name in _OFF_BY if os.environ.get(name) == "1"]
    if os.environ.get(_SUPPRESS):
        names.append(_SUPPRESS)
    return [("%s=%s" % (name, os.environ[name]), "what isn't compiled would run without a word") for name in names]


def of_thread() -> list[tuple[str, str]]:
    """Dangerous settings of the calling thread: ``[(name = value, why)]``."""
    config: Any = sys.modules.get(CONFIG)
    if config is None or getattr(config.__spec__, "_initializing", False):
        return []
    return [
        ("torch._dynamo.config.%s = %s" % (name, bad), _WHY[name])
        for name, bad in _BAD
        if getattr(config, name, None) is bad
    ]


def refuse(found: list[tuple[str, str]], *, refusing: bool) -> None:
    """Note them; GuardRefusedError where ``refusing``."""
    for setting, _ in found:
        tally.hazard("dangerous-setting", setting)
    if found and refusing:
        setting, why = found[0]
        raise GuardRefusedError(
            "%s is refused (%s): %s. Take it out of the program or its environment; to measure it all the same, "
            "ENVGUARD_GUARD=observe." % (setting, tally.where(), why)
        )


def unsuppress() -> None:
    """Let an error of the guard get out of a compile: torch would swallow it under ``suppress_errors``."""
    config: Any = sys.modules.get(CONFIG)
    if config is not None and getattr(config, "suppress_errors", False):
        config.suppress_errors = False
