"""Digests: the one place that names a hash algorithm."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Protocol

_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")


class Readable(Protocol):
    """Anything with a ``read`` of bytes."""

    def read(self, size: int = ..., /) -> bytes:
        """At most ``size`` bytes; none at the end."""


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A sha256, written ``sha256:`` and 64 lower-case hex digits."""

    hex: str

    @classmethod
    def parse(cls, text: str) -> Digest:
        """Read ``sha256:hex``; ``ValueError`` says what is wrong with it."""
        if not _PATTERN.fullmatch(text):
            raise ValueError(f"not a digest (sha256: and 64 lower-case hex digits): {text[:80]!r}")
        return cls(text[7:])

    @classmethod
    def of(cls, content: bytes) -> Digest:
        """Digest of bytes in memory."""
        return cls(hashlib.sha256(content).hexdigest())

    @classmethod
    def of_stream(cls, stream: Readable) -> Digest:
        """Digest of what is left in a binary stream."""
        state = hashlib.sha256()
        while chunk := stream.read(1 << 20):
            state.update(chunk)
        return cls(state.hexdigest())

    @property
    def short(self) -> str:
        """First characters, for people."""
        return self.hex[:12]

    def __str__(self) -> str:
        return f"sha256:{self.hex}"
