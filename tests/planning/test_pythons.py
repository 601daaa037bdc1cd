from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.model.facts import Interpreter
from envguard.model.observed import Absent, Value
from envguard.planning.obtain import ProblemKind
from envguard.planning.pythons import Choice, Python, choose, exact, minor

WANTED = Interpreter(
    "cpython", "3.12.3", "main, GCC 13.2.0", "cpython-312-x86_64-linux-gnu", "linux_x86_64", "glibc 2.39"
)


def python(path: str, **changes: Any) -> Python:
    return Python(path, replace(WANTED, **changes))


def test_the_recorded_build_wins_over_the_version_over_the_nearest_patch() -> None:
    same, rebuilt = python("/same"), python("/rebuilt", build="another")
    near, far = python("/near", version="3.12.5"), python("/far", version="3.12.11")
    found = [far, near, rebuilt, same]
    for best in ("/same", "/rebuilt", "/near", "/far"):
        assert choose(Value(WANTED), found, "PATH").path == best
        found = [python for python in found if python.path != best]


def test_the_very_interpreter_is_not_worth_a_word() -> None:
    assert choose(Value(WANTED), [python("/same")], "PATH") == Choice("/same")
    assert exact(WANTED, WANTED)
    assert not exact(WANTED, replace(WANTED, build="another"))


def test_another_patch_release_or_build_is_a_note() -> None:
    assert choose(Value(WANTED), [python("/p", version="3.12.9")], "PATH").notes == (
        "Python 3.12.9 is used; the lock was made with 3.12.3",
    )
    assert choose(Value(WANTED), [python("/p", build="another")], "PATH").notes == (
        "another build of Python 3.12.3 is used: main, GCC 13.2.0 → another",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "3.13.0", "soabi": "cpython-313-x86_64-linux-gnu"},
        {"implementation": "pypy"},
        {"soabi": "cpython-312t-x86_64-linux-gnu"},
    ],
    ids=["minor", "implementation", "free-threaded"],
)
def test_what_does_not_fit_is_not_taken_and_the_missing_build_is_named(changes: dict[str, str]) -> None:
    choice = choose(Value(WANTED), [python("/p", **changes)], "PATH and ~/.pyenv")
    assert choice.path is None
    (problem,) = choice.problems
    assert problem.kind is ProblemKind.PYTHON
    assert problem.reason.startswith("no cpython 3.12 (cpython-312-x86_64-linux-gnu) is installed; found only ")
    assert problem.reason.endswith("looked in PATH and ~/.pyenv")
    assert problem.hint == "install it (uv python install 3.12.3), or name it: --python PATH"


def test_none_found_at_all() -> None:
    (problem,) = choose(Value(WANTED), [], "PATH").problems
    assert "found only" not in problem.reason


def test_a_lock_without_an_interpreter_says_so() -> None:
    assert choose(Absent(), [python("/p")], "PATH").problems[0].reason == (
        "the lock doesn't say which Python it was made with"
    )


def test_minor_and_odd_versions() -> None:
    assert minor("3.13.0rc2") == "3.13"
    odd = [python("/odd", version="3.12"), python("/rc", version="3.12.0rc1")]
    assert choose(Value(WANTED), odd, "PATH").path == "/odd"
