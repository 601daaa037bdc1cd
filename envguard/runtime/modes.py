"""How the guard was asked to be, by environment variables."""

from __future__ import annotations

import functools
import os
import sys


def mode() -> str:
    """``on``, ``strict`` (a build that can't be guarded ends the process), ``observe`` (count only) or ``off``."""
    return _chosen("ENVGUARD_GUARD", ("on", "strict", "observe", "off"))


def dense() -> str:
    """What a dense attention call is: ``error``, ``warning`` or ``count``."""
    return _chosen("ENVGUARD_DENSE", ("error", "warning", "count"))


def after_warm() -> str:
    """What a compile after ``guard.warm()`` is: ``error``, ``warning`` or ``count``."""
    return _chosen("ENVGUARD_AFTER_WARM", ("warning", "error", "count"))


@functools.lru_cache(maxsize=None)
def deadline() -> float:
    """Seconds that a first forward and backward may take, the wait for the turn not counted."""
    try:
        return float(os.environ.get("ENVGUARD_FIRST_STEP_DEADLINE", "1800"))
    except ValueError:
        say("ENVGUARD_FIRST_STEP_DEADLINE is not a number of seconds; 1800 is used")
        return 1800.0


def say(text: str) -> None:
    """A line on stderr."""
    try:
        sys.stderr.write("envguard: %s\n" % text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


@functools.lru_cache(maxsize=None)
def _chosen(name: str, known: tuple[str, ...]) -> str:
    value = os.environ.get(name, known[0])
    if value in known:
        return value
    say("%s=%s is not one of %s; %s is used" % (name, value[:40], ", ".join(known), known[0]))
    return known[0]
