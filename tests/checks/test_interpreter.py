"""Which Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.checks.interpreter import CHECK, wheel_glibc
from envguard.model.distribution import Wheel
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, Interpreter
from envguard.model.observed import Unobserved, Value
from tests.builders import distribution, facts
from tests.checks.lines import lines

PYTHON = Interpreter(
    "cpython", "3.12.3", "main, GCC 13.2.0", "cpython-312-x86_64-linux-gnu", "linux_x86_64", "glibc 2.39"
)
TORCH = "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl"


def having(*wheels: str, **changes: Any) -> Facts:
    entries = tuple(distribution(f"d{place}", wheel=Wheel(name)) for place, name in enumerate(wheels))
    return facts(interpreter=Value(replace(PYTHON, **changes)), distributions=Value(entries))


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param(
            having(),
            having(implementation="pypy", soabi="pypy311-pp73"),
            "drift Python cpython → pypy: another implementation",
            id="implementation",
        ),
        pytest.param(
            having(),
            having(version="3.13.1", soabi="cpython-313-x86_64-linux-gnu"),
            "drift Python 3.12.3 → 3.13.1: another minor release",
            id="minor",
        ),
        pytest.param(
            having(), having(version="3.12.9"), "note Python 3.12.3 → 3.12.9: another patch release", id="patch"
        ),
        pytest.param(
            having(),
            having(build="main, Clang 18"),
            "note build main, GCC 13.2.0 → main, Clang 18: another build of Python 3.12.3",
            id="build",
        ),
        pytest.param(
            having(),
            having(soabi="cpython-312t-x86_64-linux-gnu"),
            "drift SOABI cpython-312-x86_64-linux-gnu → cpython-312t-x86_64-linux-gnu: "
            "compiled modules of the one don't load in the other",
            id="free-threaded",
        ),
        pytest.param(
            having(),
            having(platform_tag="linux_aarch64", soabi="cpython-312-aarch64-linux-gnu"),
            "drift platform linux_x86_64 → linux_aarch64: another architecture",
            id="architecture, told once",
        ),
        pytest.param(
            having(),
            having(platform_tag="macosx_14_0_x86_64", soabi="cpython-312-darwin", libc="glibc 2.39"),
            "drift platform linux_x86_64 → macosx_14_0_x86_64: another system",
            id="system",
        ),
        pytest.param(
            having(TORCH),
            having(libc="glibc 2.26"),
            f"drift libc glibc 2.39 → glibc 2.26: {TORCH} needs glibc 2.28",
            id="too old a libc",
        ),
        pytest.param(
            having(TORCH, "a-1-cp312-cp312-manylinux_2_34_x86_64.whl"),
            having(libc="glibc 2.31"),
            "drift libc glibc 2.39 → glibc 2.31: a-1-cp312-cp312-manylinux_2_34_x86_64.whl needs glibc 2.34",
            id="the wheel that asks for most",
        ),
        pytest.param(
            having(),
            having(libc="musl 1.2.4"),
            "drift libc glibc 2.39 → musl 1.2.4: wheels for the one don't load on the other",
            id="another libc",
        ),
        pytest.param(
            having(), having(libc="unknown"), "unknown libc glibc 2.39 → unknown: could not be told", id="unknown"
        ),
    ],
)
def test_one_difference(was: Facts, now: Facts, line: str) -> None:
    assert lines(CHECK, was, now) == [line]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param(having(TORCH), having(libc="glibc 2.28"), id="an older libc that is new enough"),
        pytest.param(having(TORCH), having(libc="glibc 2.41"), id="a newer libc"),
        pytest.param(having(), having(libc="glibc 2.5"), id="no wheel asks for one"),
        pytest.param(having("a-1-py3-none-any.whl"), having(libc="glibc 2.5"), id="wheels for any platform"),
        pytest.param(having(TORCH, libc="glibc 2.26"), having(libc="glibc 2.26"), id="too old, as recorded"),
        pytest.param(having(TORCH, libc="unknown"), having(libc="glibc 2.26"), id="libc not recorded"),
        pytest.param(having(TORCH), having(libc="glibc"), id="a libc without a version"),
        pytest.param(
            having(platform_tag="macosx_13_0_arm64"), having(platform_tag="macosx_14_0_arm64"), id="another macOS"
        ),
        pytest.param(
            having(platform_tag="linux-x86_64"), having(platform_tag="linux_x86_64"), id="another spelling"
        ),
    ],
)
def test_no_difference(was: Facts, now: Facts) -> None:
    assert CHECK.run(was, now).findings == ()


def test_several_differences() -> None:
    now = having(version="3.12.9", soabi="cpython-312d-x86_64-linux-gnu", libc="glibc 2.17")
    assert [line.split()[1] for line in lines(CHECK, having(TORCH), now)] == ["Python", "SOABI", "libc"]


@pytest.mark.parametrize(
    ("filename", "glibc"),
    [
        (TORCH, (2, 28)),
        ("numpy-2.4.6-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", (2, 27)),
        ("x-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", (2, 17)),
        ("x-1-cp312-cp312-manylinux2014_aarch64.whl", (2, 17)),
        ("x-1-cp36-abi3-manylinux2010_x86_64.whl", (2, 12)),
        ("x-1-py2.py3-none-manylinux1_x86_64.whl", (2, 5)),
        ("torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl", (2, 28)),
        ("x-1-cp312-cp312-musllinux_1_2_x86_64.whl", None),
        ("x-1-py3-none-any.whl", None),
        ("x-1-cp312-cp312-linux_x86_64.whl", None),
    ],
)
def test_glibc_that_a_wheel_asks_for(filename: str, glibc: tuple[int, int] | None) -> None:
    assert wheel_glibc(filename) == glibc


def test_distributions_need_not_be_known() -> None:
    was = facts(interpreter=Value(PYTHON), distributions=Unobserved("no look"))
    now = facts(interpreter=Value(replace(PYTHON, libc="glibc 2.5")), distributions=Unobserved("no look"))
    assert CHECK.run(was, now).outcome is Outcome.MATCH


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"implementation": "pypy"}, "interpreter.implementation"),
        ({"version": "3.13.0"}, "interpreter.version"),
        ({"version": "3.12.4"}, "interpreter.version"),
        ({"build": "x"}, "interpreter.build"),
        ({"soabi": "x"}, "interpreter.soabi"),
        ({"platform_tag": "linux_aarch64"}, "interpreter.platform-tag"),
        ({"libc": "musl 1.2"}, "interpreter.libc"),
    ],
)
def test_key(changes: dict[str, str], key: str) -> None:
    (finding,) = CHECK.run(having(), having(**changes)).findings
    assert finding.key == key
