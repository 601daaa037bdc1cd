from __future__ import annotations

from dataclasses import replace

from packaging.tags import sys_tags

from envguard.adapters.wheel_tags import of_python
from envguard.model.facts import Interpreter

PYTHON = Interpreter("cpython", "3.13.1", "", "cpython-313-x86_64-linux-gnu", "linux_x86_64", "glibc 2.36")


def test_of_this_python() -> None:
    fitting = of_python(None)
    assert list(fitting.tags) == list(sys_tags())


def test_of_another() -> None:
    fitting = of_python(PYTHON)
    assert fitting.environment["python_version"] == "3.13"
    assert fitting.environment["python_full_version"] == "3.13.1"
    assert (fitting.tags[0].interpreter, fitting.tags[0].abi) == ("cp313", "cp313")
    assert str(fitting.tags[-1]) == "py30-none-any"
    assert "cp313-abi3" in {f"{tag.interpreter}-{tag.abi}" for tag in fitting.tags}


def test_of_a_free_threaded_one() -> None:
    fitting = of_python(replace(PYTHON, soabi="cpython-313t-x86_64-linux-gnu"))
    assert fitting.tags[0].abi == "cp313t"
