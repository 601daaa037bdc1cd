"""The lock: recorded facts, and where to get the bytes again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from envguard.model.digest import Digest
from envguard.model.facts import Facts
from envguard.model.policy import Policy

if TYPE_CHECKING:
    from envguard.model.warmup import Warmup

SCHEMA = 1
"""The lock's schema number; a reader refuses any other."""


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file. ``indexes``: name → address without userinfo, query and fragment."""

    name: str
    facts: Facts
    created: datetime | None = None
    note: str | None = None
    indexes: Mapping[str, str] = field(default_factory=dict)
    archive: tuple[Digest, ...] = ()
    policy: Policy = field(default_factory=Policy)
    warmup: Warmup | None = None
    cache_manifest: Digest | None = None
    """Object in the store that names the cache's files by their digests."""
