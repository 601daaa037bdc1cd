"""What the operations ask of the world. Adapters implement these; tests bring fakes (``tests/fakes``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Wheel
from envguard.model.facts import Facts, FileFact
from envguard.model.target import Layout, Level, Target


class Progress(Protocol):
    """Told how far a long step is. ``total`` None: not known beforehand."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """``done`` of ``total`` ``unit`` (files, B) of ``what`` are done."""


Baseline = Callable[[str], bytes | None]
"""Canonical distribution name → its normalised rows as the lock's object holds them, or None."""


class Prober(Protocol):
    """Looks at a target environment."""

    def layout(self, target: Target) -> Layout:
        """Where the environment keeps things. TargetInvalidError, TargetBrokenError, ProbeFailedError."""

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """All facts; a section that fails is Unobserved. ``baseline`` serves where a RECORD can't be read.

        Every distribution comes with its ``listing``.
        """

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """The bytes of a file that a fact tells of, as they are now. OSError."""


class Provenance(Protocol):
    """Finds which wheel each installed distribution came from."""

    def wheels(self, layout: Layout, distributions: Sequence[Distribution]) -> Mapping[str, Wheel]:
        """Canonical name → wheel with the best evidence there is; names without any are left out."""


class Store(Protocol):
    """Bytes named by their digest."""

    def put(self, content: bytes | BinaryIO, *, expect: Digest | None = None) -> Digest:
        """Keep bytes, durably; OtherBytesError when they are not ``expect``. StoreError on disk faults."""

    def open(self, digest: Digest) -> BinaryIO:
        """The object's bytes, as a stream. ObjectMissingError, ObjectCorruptError."""

    def read(self, digest: Digest) -> bytes:
        """All bytes, checked against the name. ObjectMissingError, ObjectCorruptError."""

    def has(self, digest: Digest) -> bool:
        """Whether an object of that name is there (not whether it is whole)."""

    def digests(self) -> Iterator[Digest]:
        """All names, in no order."""


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
    reference: object = None
    """What the adapter needs to get it; nobody else looks inside."""


class Index(Protocol):
    """All places that wheels can be had from, in order: find-links folders, then indexes."""

    def offers(self, name: str) -> Sequence[Offer]:
        """Every wheel file of a distribution. IndexUnreachableError, IndexAnswerError."""

    def fetch(self, offer: Offer, folder: Path, *, expect: Digest | None, progress: Progress) -> Path:
        """Download (resuming) or copy into ``folder`` under the real filename, hashing on the way.

        OtherBytesError when the bytes are not ``expect``; nothing bad is kept.
        """


class Installer(Protocol):
    """Makes environments: uv."""

    def version(self) -> str:
        """uv's version. UvUnsuitableError when there is none that can be used."""

    def create(self, environment: Path, python: Path) -> None:
        """Make an empty relocatable environment."""

    def install(self, environment: Path, wheels: Sequence[tuple[Path, Digest]]) -> None:
        """Install exactly these files, offline, hashes required, without any shared cache."""
