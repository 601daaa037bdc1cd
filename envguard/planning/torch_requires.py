"""Torch's own requirements on Triton and CUDA libraries, as they hold for one interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envguard.model.facts import Interpreter

_NAMES = re.compile(r"(?:pytorch[-_.])?triton|nvidia[-_.]|cuda[-_.]", re.IGNORECASE)
_SYSTEMS = {
    "linux": ("linux", "Linux", "posix"),
    "macosx": ("darwin", "Darwin", "posix"),
    "win": ("win32", "Windows", "nt"),
}


def torch_requires(lines: Iterable[str], interpreter: Interpreter) -> tuple[str, ...]:
    """Requires-Dist lines on ``triton*``, ``nvidia-*`` and ``cuda-*`` whose markers hold, canonical and sorted."""
    named = [line for line in lines if _NAMES.match(line)]
    if not named:
        return ()
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    environment = marker_environment(interpreter)
    found = set()
    for line in named:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            found.add(line)
            continue
        if requirement.marker is None or requirement.marker.evaluate(environment):
            extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            found.add(f"{canonicalize_name(requirement.name)}{extras}{requirement.specifier}")
    return tuple(sorted(found))


def marker_environment(interpreter: Interpreter) -> dict[str, str]:
    """Marker variables (PEP 508) of an interpreter."""
    system, _, rest = interpreter.platform_tag.partition("_")
    platform, name, kind = _SYSTEMS.get(re.sub(r"\d+$", "", system), (system, system, "posix"))
    machine = re.sub(r"^(?:\d+_)+", "", rest) if system == "macosx" else rest
    if kind == "nt":
        machine = {"amd64": "AMD64", "arm64": "ARM64"}.get(machine, machine)
    return {
        "implementation_name": interpreter.implementation,
        "implementation_version": interpreter.version,
        "os_name": kind,
        "platform_machine": machine,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(
            interpreter.implementation, interpreter.implementation
        ),
        "platform_release": "",
        "platform_system": name,
        "platform_version": "",
        "python_full_version": interpreter.version,
        "python_version": ".".join(interpreter.version.split(".")[:2]),
        "sys_platform": platform,
        "extra": "",
    }
