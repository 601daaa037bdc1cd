"""A wheel's filename is not one of its distribution, or not for the lock's interpreter.

What: a wheel's filename holds name, version and tags (torch-2.11.0-cp312-cp312-…). They are held against the
entry's name and version, and the tags against [interpreter].

Why: restore installs that file. A filename of another version or another Python comes from an edit by hand, or
from two locks that were merged.

How to mend it: record the lock again (envguard snapshot --update), or take the entry from the commit that had it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envguard.model.distribution import Distribution
from envguard.model.observed import value_or_none
from envguard.planning import wheel_names
from envguard.planning.lint.rule import AGAIN, Rule, Said, Subject

_PYTHON = re.compile(r"cp(\d)(\d+)t?")


def look(subject: Subject) -> Iterator[Said]:
    """A finding a filename."""
    python = value_or_none(subject.facts.interpreter)
    minor = ".".join(python.version.split(".")[:2]) if python and python.implementation == "cpython" else None
    for entry in subject.distributions.values():
        filename = entry.wheel.filename
        if filename is None:
            continue
        key = f"distribution[{entry.name}].wheel"
        if not _fits(entry, filename):
            yield Said(f"{filename} is no wheel of {entry.name} {entry.version}", AGAIN, key, entry.name)
        elif minor and (other := _other_python(filename, minor)):
            yield Said(f"{filename} is for Python {other}, [interpreter] is {minor}", AGAIN, key, entry.name)


def _fits(entry: Distribution, filename: str) -> bool:
    # Most names need no parser: importing one takes longer than all other rules together.
    name, _, rest = filename.partition("-")
    if name.replace("_", "-").lower() == entry.name and rest.startswith(f"{entry.version}-"):
        return True
    return wheel_names.fits(filename, entry.name, entry.version)


def _other_python(filename: str, minor: str) -> str | None:
    """The Python that an ABI tag binds a wheel to, where it is another one; abi3 and none bind it to no minor."""
    abis = filename.removesuffix(".whl").split("-")[-2].split(".")
    bound = [_PYTHON.fullmatch(abi) for abi in abis]
    pythons = [f"{abi[1]}.{abi[2]}" for abi in bound if abi]
    if len(pythons) != len(abis) or minor in pythons:
        return None
    return pythons[0]


RULE = Rule("wheel-names", __doc__, look)
