"""Python is another one.

What drifts: the interpreter of the environment. Its implementation, its minor version (3.12), the
tag of the binary interface that compiled modules are built for (SOABI) and the processor
architecture are exact. The C library must be at least as new as the recorded wheels ask for: a
wheel called manylinux_2_28 needs glibc 2.28.

Why it changes a training: compiled wheels load in one minor version only, so another one means
other wheel files throughout. torch.compile works on Python's bytecode, which changes with every
minor version, and the minor version is part of the compile-cache key. A free-threaded or debug
build has its own SOABI under the same version number.

How to read it: another patch release (3.12.3, 3.12.9) or another build of the same release is a
note. Kernel, host name, user and paths are never compared.

How to mend it: make the environment with the recorded Python. uv python install VERSION gets one
(uv python list shows what is there); then envguard restore. With an older C library than the wheels
need, only a newer machine or container image helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from envguard.checks.check import Check
from envguard.model.distribution import Distribution
from envguard.model.drift import Finding, Severity
from envguard.model.facts import Facts, Interpreter
from envguard.model.observed import Observed, map_value, value_or_none

_ARCHITECTURES = ("x86_64", "amd64", "aarch64", "arm64", "ppc64le", "s390x", "riscv64", "armv7l", "i686", "win32")
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_")
_OLD_MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, and the newest glibc that a wheel beside it asks for: (version, filename)."""

    interpreter: Interpreter
    needs: tuple[tuple[int, int], str] | None


def python(facts: Facts) -> Observed[Python]:
    """The section: the interpreter, with the distributions where they could be looked at."""
    needs = _newest(value_or_none(facts.distributions) or ())
    return map_value(facts.interpreter, lambda interpreter: Python(interpreter, needs))


def compare(recorded: Python, observed: Python) -> Iterator[Finding]:
    """Findings of implementation, version, SOABI, build, platform and C library."""
    was, now = recorded.interpreter, observed.interpreter
    if was.implementation != now.implementation:
        yield _finding(
            "Python", was.implementation, now.implementation, "another implementation", "implementation"
        )
        return
    yield from _versions(was, now)
    yield from _platform(was, now)
    if was.libc not in (now.libc, "unknown"):
        yield from _libc(recorded, now)


def _versions(was: Interpreter, now: Interpreter) -> Iterator[Finding]:
    if _minor(was.version) != _minor(now.version):
        yield _finding("Python", was.version, now.version, "another minor release", "version")
        return
    if was.version != now.version:
        yield _note("Python", was.version, now.version, "another patch release", "version")
    elif was.build != now.build:
        yield _note("build", was.build, now.build, f"another build of Python {now.version}", "build")


def _platform(was: Interpreter, now: Interpreter) -> Iterator[Finding]:
    """One finding for what is one cause: another architecture has another SOABI too."""
    systems = _system(was.platform_tag), _system(now.platform_tag)
    architectures = _architecture(was.platform_tag), _architecture(now.platform_tag)
    if systems[0] != systems[1]:
        yield _finding("platform", was.platform_tag, now.platform_tag, "another system", "platform-tag")
    elif architectures[0] != architectures[1]:
        yield _finding("platform", was.platform_tag, now.platform_tag, "another architecture", "platform-tag")
    elif was.soabi != now.soabi and _minor(was.version) == _minor(now.version):
        yield _finding(
            "SOABI", was.soabi, now.soabi, "compiled modules of the one don't load in the other", "soabi"
        )


def _libc(recorded: Python, now: Interpreter) -> Iterator[Finding]:
    was = recorded.interpreter.libc
    if now.libc == "unknown":
        yield Finding(
            "libc", was, "unknown", "could not be told", severity=Severity.UNKNOWN, key="interpreter.libc"
        )
        return
    if _family(was) != _family(now.libc):
        yield _finding("libc", was, now.libc, "wheels for the one don't load on the other", "libc")
        return
    version = _numbers(now.libc)
    if recorded.needs is None or version is None or _family(was) != "glibc" or version >= recorded.needs[0]:
        return
    (major, minor), wheel = recorded.needs
    yield _finding("libc", was, now.libc, f"{wheel} needs glibc {major}.{minor}", "libc")


def _newest(entries: tuple[Distribution, ...]) -> tuple[tuple[int, int], str] | None:
    needs = [
        (least, name)
        for entry in entries
        if (name := entry.wheel.filename) and (least := wheel_glibc(name)) is not None
    ]
    return max(needs, default=None)


def wheel_glibc(filename: str) -> tuple[int, int] | None:
    """The oldest glibc that a wheel's platform tags allow; None when they ask for none."""
    tags = filename.removesuffix(".whl").rpartition("-")[2].split(".")
    versions: list[tuple[int, int]] = []
    for tag in tags:
        if match := _MANYLINUX.match(tag):
            versions.append((int(match[1]), int(match[2])))
        elif (old := tag.partition("_")[0]) in _OLD_MANYLINUX:
            versions.append(_OLD_MANYLINUX[old])
    return min(versions, default=None)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _system(platform_tag: str) -> str:
    return re.split(r"[-_]", platform_tag)[0]


def _architecture(platform_tag: str) -> str:
    tag = platform_tag.replace("-", "_")
    return next((name for name in _ARCHITECTURES if tag.endswith(name)), tag)


def _family(libc: str) -> str:
    return libc.partition(" ")[0]


def _numbers(libc: str) -> tuple[int, ...] | None:
    match = re.search(r"(\d+)\.(\d+)", libc)
    return (int(match[1]), int(match[2])) if match else None


def _finding(subject: str, was: str, now: str, detail: str, key: str) -> Finding:
    return Finding(
        subject,
        was or "none",
        now or "none",
        detail,
        hint="uv python install VERSION gets the recorded Python; then envguard restore",
        key=f"interpreter.{key}",
    )


def _note(subject: str, was: str, now: str, detail: str, key: str) -> Finding:
    return Finding(subject, was, now, detail, severity=Severity.NOTE, key=f"interpreter.{key}")


CHECK = Check(
    slug="interpreter",
    explanation=__doc__,
    section=python,
    compare=compare,
    show=lambda side: f"{side.interpreter.implementation} {side.interpreter.version}",
    subject="Python",
)
