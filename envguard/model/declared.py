"""What a project's own files declare: requirements and pins, each with the file and line that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_VARIANT = re.compile(r"(?<![a-z0-9])(cu\d{2,3}|rocm\d+(?:\.\d+)*|cpu|xpu)(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class Declared:
    """One distribution that a file asks for."""

    name: str
    """Canonical; ``python`` with kind ``python`` is the interpreter."""
    file: str
    line: int
    specifier: str = ""
    """PEP 440 specifiers (``>=2.11,<3``); empty: any version."""
    marker: str | None = None
    source: str | None = None
    """Name or address of the index it is to come from."""
    commit: str | None = None
    """A whole git commit that it is pinned to."""
    hashes: frozenset[str] = frozenset()
    """sha256 of the files that may be taken, hex."""
    wheels: Mapping[str, str] = field(default_factory=dict)
    """The sha256 of each wheel, hex, by its filename."""
    group: str | None = None
    """Extra or dependency group that it belongs to; None: it always holds."""
    wanted: bool = False
    """The environment must have it."""
    side: bool = False
    """The file may speak of another environment (``requirements-docs.txt``): only torch counts there."""

    @property
    def exact(self) -> str | None:
        """The one version of an ``==`` without wildcard; None otherwise."""
        text = self.specifier.strip()
        if text.startswith("===") or not text.startswith("==") or "," in text or "*" in text:
            return None
        return text[2:].strip()

    @property
    def variant(self) -> str | None:
        """The torch variant that its version's label or its index names (``cu130``)."""
        exact = self.exact
        label = exact.partition("+")[2] if exact else ""
        return variant_in(label) or (variant_in(self.source) if self.source else None)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A declaration that could not be understood."""

    file: str
    line: int | None
    problem: str


def variant_in(text: str) -> str | None:
    """The torch variant that a label, an index's name or address names; None when there is none, or several."""
    # the last step of an address: a host may be called cpu.example
    found = set(_VARIANT.findall(text.lower().rstrip("/").rpartition("/")[2]))
    return found.pop() if len(found) == 1 else None
