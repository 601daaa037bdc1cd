"""Distributions: what is installed, which wheel it came from, and the rows of its RECORD."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from envguard.model.digest import Digest

BOOTSTRAP = frozenset({"pip", "setuptools", "wheel", "uv", "envguard"})
"""Distributions that installers and tools bring along: present without being in the lock, they are a note."""


class Evidence(Enum):
    """How a wheel's sha256 is known; facts only, best first. A lock file's word alone is ``claimed_sha256``."""

    DIRECT_URL = "direct-url"
    UV_CACHE = "uv-cache"
    FIND_LINKS = "find-links"
    INDEX_RECORD = "index-record"
    ARCHIVE = "archive"
    RESTORED = "restored"
    BUILT_FROM_SDIST = "built-from-sdist"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Wheel:
    """The wheel file of an installed distribution. ``sha256`` only from evidence that saw bytes or RECORD."""

    filename: str | None = None
    sha256: Digest | None = None
    claimed_sha256: Digest | None = None
    size: int | None = None
    index: str | None = None
    evidence: Evidence = Evidence.NONE
    sdist: str | None = None
    """For a local build: the sdist it was built from, ``name-1.0.tar.gz sha256:…``, where that is known."""
    rebuilt: Digest | None = None
    """Object of the store: a wheel rebuilt from the installed files, with the same record fingerprint and bytes of
    its own. Equal to ``sha256`` where nothing is known of the wheel that was installed."""

    @property
    def original(self) -> Digest | None:
        """sha256 of the wheel that was installed; None where none is known but that of a rebuilt one."""
        return None if self.sha256 == self.rebuilt else self.sha256


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an editable, folder or VCS install came from (``direct_url.json``), without host paths or secrets."""

    kind: str
    """``vcs``, ``folder`` or ``archive``."""
    editable: bool = False
    url: str | None = None
    """Without userinfo, query and fragment; None for a path of this machine."""
    commit: str | None = None
    changes: Digest | None = None
    """Digest of uncommitted changes of the working tree; None when clean or unknown."""
    subdirectory: str | None = None
    archive: Digest | None = field(default=None, compare=False)
    """Object of the store: the files of that folder as they were, a tar."""


@dataclass(frozen=True, slots=True)
class Row:
    """One normalised RECORD row: ``root`` is ``library`` or ``data``; ``digest`` is ``algorithm:hex``."""

    root: str
    path: str
    digest: str
    size: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """One installed distribution.

    ``record`` and ``record_data`` are record fingerprints (library and data part); ``rows`` names the normalised
    rows as an object in the store. The fields after ``origin`` are seen live only and never written to a lock.
    """

    name: str
    """Canonical (PEP 503)."""
    version: str
    record: Digest | None = None
    record_data: Digest | None = None
    rows: Digest | None = None
    wheel: Wheel = field(default_factory=Wheel)
    installer: str | None = None
    """``pip``, ``uv``, ``conda``, …; written to a lock only when it is neither pip nor uv."""
    origin: Origin | None = None
    note: str | None = None
    folder: str | None = field(default=None, compare=False)
    """Live: the dist-info folder's name, with its parent where several share it."""
    problem: str | None = field(default=None, compare=False)
    """Live: why ``record`` is None, in words ("RECORD is missing", "no permission to read RECORD")."""
    listing: Mapping[tuple[str, str], Row] | None = field(default=None, compare=False, repr=False)
    """The normalised rows by (root, path), where they are at hand."""
