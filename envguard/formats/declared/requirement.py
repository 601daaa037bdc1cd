"""One requirement (PEP 508) taken apart, without the time that importing a whole parser takes."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHAPE = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*"
    r"(?:@\s*(?P<url>[^\s;]+)|(?P<bracket>\()?\s*(?P<spec>(?:(?:===|~=|==|!=|<=|>=|<|>)\s*[^\s,;()]+\s*,?\s*)*)(?(bracket)\)))"
    r"\s*(?:;\s*(?P<marker>.+))?\s*"
)
_COMMIT = re.compile(r"@([0-9a-f]{40})(?:[#?]|$)")
_RUN = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class Parts:
    """A requirement's parts. ``url`` is a direct reference (``name @ https://…``)."""

    name: str
    specifier: str = ""
    marker: str | None = None
    url: str | None = None

    @property
    def commit(self) -> str | None:
        """The whole git commit that a direct reference names."""
        found = _COMMIT.search(self.url) if self.url and self.url.startswith("git+") else None
        return found[1] if found else None


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 writes it."""
    return _RUN.sub("-", name).lower()


def split(text: str) -> Parts | None:
    """Take a requirement apart; None when it is none."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        return None
    specifier = re.sub(r"\s+", "", found["spec"] or "").rstrip(",")
    return Parts(canonical(found["name"]), specifier, found["marker"], found["url"])
