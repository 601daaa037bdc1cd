"""Which of the installed interpreters a restore builds with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from envguard.model.facts import Interpreter
from envguard.model.observed import Observed, Value
from envguard.planning.obtain import Problem, ProblemKind


@dataclass(frozen=True, slots=True)
class Python:
    """An installed interpreter, by its path."""

    path: str
    interpreter: Interpreter


@dataclass(frozen=True, slots=True)
class Choice:
    """The interpreter to build with, or why there is none."""

    path: str | None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def minor(version: str) -> str:
    """``3.12.3`` → ``3.12``."""
    return ".".join(version.split(".")[:2])


def exact(recorded: Interpreter, found: Interpreter) -> bool:
    """Whether it is the recorded interpreter as far as this can be told."""
    return fits(recorded, found) and (recorded.version, recorded.build) == (found.version, found.build)


def fits(recorded: Interpreter, found: Interpreter) -> bool:
    """Whether the recorded wheels and bytecode are this interpreter's: another patch release will do."""
    return (recorded.implementation, minor(recorded.version), recorded.soabi) == (
        found.implementation,
        minor(found.version),
        found.soabi,
    )


def choose(recorded: Observed[Interpreter], found: Sequence[Python], looked: str) -> Choice:
    """The nearest of ``found``; ``looked`` says where they come from."""
    if not isinstance(recorded, Value):
        problem = Problem(ProblemKind.PYTHON, "interpreter", "the lock doesn't say which Python it was made with")
        return Choice(None, (problem,))
    wanted = recorded.value
    fitting = [python for python in found if fits(wanted, python.interpreter)]
    if not fitting:
        return Choice(None, (_missing(wanted, found, looked),))
    best = min(fitting, key=lambda python: _distance(wanted, python.interpreter))
    notes = []
    if best.interpreter.version != wanted.version:
        notes.append(f"Python {best.interpreter.version} is used; the lock was made with {wanted.version}")
    elif best.interpreter.build != wanted.build:
        notes.append(
            f"another build of Python {wanted.version} is used: {wanted.build} → {best.interpreter.build}"
        )
    return Choice(best.path, (), tuple(notes))


def _distance(wanted: Interpreter, found: Interpreter) -> tuple[bool, bool, int]:
    """The same build, then the same version, then the nearest patch release."""
    return (
        found.version != wanted.version,
        found.build != wanted.build,
        abs(_patch(found.version) - _patch(wanted.version)),
    )


def _patch(version: str) -> int:
    found = re.match(r"\d+\.\d+\.(\d+)", version)
    return int(found[1]) if found else 0


def _missing(wanted: Interpreter, found: Sequence[Python], looked: str) -> Problem:
    others = sorted({f"{python.interpreter.version} ({python.interpreter.soabi})" for python in found})
    seen = f"; found only {', '.join(others)}" if others else ""
    build = f"{wanted.implementation} {minor(wanted.version)} ({wanted.soabi})"
    return Problem(
        ProblemKind.PYTHON,
        "interpreter",
        f"no {build} is installed{seen}; looked in {looked}",
        f"install it (uv python install {wanted.version}), or name it: --python PATH",
    )
