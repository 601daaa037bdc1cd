"""What a Python of this machine can install: marker environment, and tags, best first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.markers import Environment
    from packaging.tags import Tag

    from envguard.model.facts import Interpreter


@dataclass(frozen=True, slots=True)
class Fitting:
    """For which Python a file is read."""

    environment: Environment
    tags: Sequence[Tag]


def of_python(python: Interpreter | None) -> Fitting:
    """For a CPython of this machine; None: the one that runs envguard."""
    from packaging import markers, tags

    environment = markers.default_environment()
    if python is None:
        return Fitting(environment, tuple(tags.sys_tags()))
    numbers = re.match(r"(\d+)\.(\d+)", python.version)
    major, minor = (int(numbers[1]), int(numbers[2])) if numbers else (3, 0)
    environment["python_full_version"] = environment["implementation_version"] = python.version
    environment["python_version"] = f"{major}.{minor}"
    threaded = "t" if re.search(rf"-{major}{minor}d?t", python.soabi) else ""
    platforms = tuple(tags.platform_tags())
    own = tags.cpython_tags((major, minor), [f"cp{major}{minor}{threaded}"], platforms)
    return Fitting(environment, (*own, *tags.compatible_tags((major, minor), f"cp{major}{minor}", platforms)))
