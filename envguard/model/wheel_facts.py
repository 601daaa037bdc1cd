"""What a wheel file is: what is written inside it, and what its source says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from envguard.model.digest import Digest
from envguard.model.distribution import Row
from envguard.model.facts import TorchBuild


class Part(Enum):
    """A file inside a wheel that tells what it is."""

    METADATA = "metadata"
    WHEEL = "wheel"
    RECORD = "record"
    TORCH = "torch"
    """``torch/version.py``; wheels of other distributions have none."""


EVERYTHING = frozenset(Part)


class Says(Enum):
    """Whose word a sha256 is."""

    INDEX = "index"
    """The source's: nobody here has seen all bytes."""
    BYTES = "bytes"
    """Ours: the whole file was hashed."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The record fingerprint: library part, and the rest where there is one."""

    record: Digest
    record_data: Digest | None = None


@dataclass(frozen=True, slots=True)
class WheelContent:
    """What was read inside a wheel; ``parts`` tells which files, the fields of others are empty."""

    parts: frozenset[Part]
    version: str | None = None
    """The distribution's version, by METADATA."""
    requires: tuple[str, ...] = ()
    """Triton and nvidia requirements that hold for this wheel's tags, canonical, sorted."""
    tags: tuple[str, ...] = ()
    build_tag: str | None = None
    generator: str | None = None
    fingerprints: tuple[Fingerprint, ...] = ()
    """As installers of the two kinds leave them; one, where they are equal."""
    rows: Mapping[tuple[str, str], Row] = field(default_factory=dict, repr=False)
    """The normalised rows of RECORD."""
    torch: TorchBuild | None = None
    architectures: tuple[str, ...] = ()
    """GPU architectures that names of its files tell (``sm_90``); empty when they tell none."""
    files: int = 0
    unpacked: int = 0
    """Bytes of all files."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What an answer took."""

    requests: int = 0
    size: int = 0
    """Bytes of bodies."""
    downloaded: bool = False
    kept: bool = False
    """It was in the cache, in whole."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.requests + other.requests,
            self.size + other.size,
            self.downloaded or other.downloaded,
            self.kept and other.kept,
        )


@dataclass(frozen=True, slots=True)
class WheelFacts:
    """One wheel file."""

    filename: str
    name: str
    """Canonical, of the filename."""
    version: str
    """Of the filename, with its local label, normalised."""
    content: WheelContent
    build_tag: str = ""
    source: str = ""
    """Name of the index, ``find-links``, ``archive``, ``file`` or ``address``."""
    location: str = ""
    size: int | None = None
    sha256: Digest | None = None
    says: Says | None = None
    uploaded: datetime | None = None
    yanked: str | None = None
    requires_python: str | None = None
    variant: str | None = None
    """``cu130``, ``rocm6.4``, ``cpu``: torch's own word, else the version's label."""
    driver_floor: str | None = None
    """Oldest Linux driver of NVIDIA's that its CUDA runs on."""
    cost: Cost = field(default_factory=Cost, compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)
