"""A store in memory."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import BinaryIO

from envguard.errors import ObjectCorruptError, ObjectMissingError, OtherBytesError
from envguard.model.digest import Digest


class MemoryStore:
    """``ports.Store`` in a dictionary. ``damage`` changes an object behind its back; ``put_calls`` counts."""

    def __init__(self) -> None:
        self.put_calls = 0
        self._objects: dict[Digest, bytes] = {}
        self._mutex = threading.Lock()

    def put(self, content: bytes | BinaryIO, *, expect: Digest | None = None) -> Digest:
        """Keep bytes; OtherBytesError when they are not ``expect``."""
        whole = content if isinstance(content, bytes) else content.read()
        digest = Digest.of(whole)
        if expect is not None and digest != expect:
            raise OtherBytesError(f"the store was to keep {expect}, and was given {digest}")
        with self._mutex:
            self.put_calls += 1
            self._objects[digest] = whole
        return digest

    def open(self, digest: Digest) -> BinaryIO:
        """The object's bytes, as a stream. ObjectMissingError, ObjectCorruptError."""
        return io.BytesIO(self.read(digest))

    def read(self, digest: Digest) -> bytes:
        """All bytes, checked against the name. ObjectMissingError, ObjectCorruptError."""
        with self._mutex:
            content = self._objects.get(digest)
        if content is None:
            raise ObjectMissingError(f"the store doesn't hold {digest}", where="memory")
        if Digest.of(content) != digest:
            raise ObjectCorruptError(f"object {digest} of the store holds other bytes", where="memory")
        return content

    def has(self, digest: Digest) -> bool:
        """Whether an object of that name is there."""
        with self._mutex:
            return digest in self._objects

    def digests(self) -> Iterator[Digest]:
        """All names."""
        with self._mutex:
            return iter(list(self._objects))

    def damage(self, digest: Digest, content: bytes) -> None:
        """Put other bytes under a name."""
        with self._mutex:
            self._objects[digest] = content
