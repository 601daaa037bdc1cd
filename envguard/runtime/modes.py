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


def ranks() -> str:
    """What ranks that differ are: ``error``, ``warning``, or ``off``: they don't compare."""
    return _chosen("ENVGUARD_RANKS", ("error", "warning", "off"))


def ranks_deadline() -> float:
    """Seconds that ranks wait for each other's facts."""
    return _seconds("ENVGUARD_RANKS_DEADLINE", 60.0)


def deadline() -> float:
    """Seconds that a first forward and backward may take, the wait for the turn not counted."""
    return _seconds("ENVGUARD_FIRST_STEP_DEADLINE", 1800.0)


def say(text: str) -> None:
    """A line on stderr."""
    try:
        sys.stderr.write("envguard: %s\n" % text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


@functools.lru_cache(maxsize=None)
def _seconds(name: str, default: float) -> float:
    try:
        return float(os.environ.get(name, default))
    except ValueError:
        say("%s is not a number of seconds; %g is used" % (name, default))
        return default


@functools.lru_cache(maxsize=None)
def _chosen(name: str, known: tuple[str, ...]) -> str:
    value = os.environ.get(name, known[0])
    if value in known:
        return value
    say("%s=%s is not one of %s; %s is used" % (name, value[:40], ", ".join(known), known[0]))
    return known[0]
