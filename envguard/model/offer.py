"""Wheel files that sources offer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from envguard.model.digest import Digest


@dataclass(frozen=True, slots=True)
class Offer:
    """A wheel file that a source offers. ``sha256`` and ``size`` are the source's word."""

    filename: str
    location: str
    """Its address, without userinfo, query and fragment, or a path; for people."""
    source: str
    """Name of the index, or ``find-links``, ``archive``."""
    sha256: Digest | None = None
    size: int | None = None
    yanked: str | None = None
    """Why it is yanked; empty text when no reason is given."""
    requires_python: str | None = None
    """Which Pythons it says it is for, as a specifier."""
    uploaded: datetime | None = None
    """When the source says it got it."""
    reference: object = None
    """What the adapter needs to get it; nobody else looks inside."""
