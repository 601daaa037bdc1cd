"""Files that are read in parts: of this machine, or of an index by HTTP ranges."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Protocol

from envguard.adapters.asking import asked, refuse_status
from envguard.adapters.index import Line
from envguard.adapters.transport import Answer, BadAnswerError, UnreachableError
from envguard.errors import WheelInvalidError
from envguard.formats.address import Address
from envguard.model.wheel_facts import Cost
from envguard.ports import Offer

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_LENGTH = re.compile(r"\d{1,18}")
_NO_SUFFIX = frozenset({400, 416, 501})


class Source(Protocol):
    """A file's bytes by place. ``size`` is known once ``tail`` was asked for."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""

    @property
    def validator(self) -> str | None:
        """What tells this file from another one at the same place; None where nothing does."""

    @property
    def cost(self) -> Cost:
        """What was asked for so far."""

    def tail(self, count: int) -> bytes:
        """The last ``count`` bytes, or all of a shorter file."""

    def read(self, start: int, stop: int) -> bytes:
        """Exactly the bytes from ``start`` to ``stop``."""


class NoRangesError(Exception):
    """The server sends whole files only. ``size``: of the file, where it is told."""

    def __init__(self, size: int | None) -> None:
        super().__init__("the server sends whole files only")
        self.size = size


class FileSource:
    """A file of this machine. WheelInvalidError when it can't be read."""

    validator = None
    cost = Cost()

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise WheelInvalidError(f"can't be read: {error.strerror}", where=str(path)) from None
        status = os.fstat(self._handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._handle)
            raise WheelInvalidError("is no regular file", where=str(path))
        self.size = status.st_size

    def __enter__(self) -> FileSource:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def tail(self, count: int) -> bytes:
        """The last ``count`` bytes."""
        return self.read(max(0, self.size - count), self.size)

    def read(self, start: int, stop: int) -> bytes:
        """Exactly these bytes."""
        pieces = []
        try:
            os.lseek(self._handle, start, os.SEEK_SET)
            while start < stop and (piece := os.read(self._handle, stop - start)):
                pieces.append(piece)
                start += len(piece)
        except OSError as error:
            raise WheelInvalidError(f"can't be read: {error.strerror}", where=str(self._path)) from None
        if start < stop:
            raise WheelInvalidError("became shorter while it was read", where=str(self._path))
        return b"".join(pieces)


class RangeSource:
    """A file of an index. IndexUnreachableError, IndexAnswerError; NoRangesError after the headers.

    Every answer must be of exactly the part that was asked for, and of the same file as the first one.
    """

    def __init__(self, line: Line, offer: Offer, address: Address) -> None:
        self._line = line
        self._offer = offer
        self._address = address
        self._requests = 0
        self._got = 0
        self._size: int | None = None
        self._validator: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        if self._size is None:
            raise AssertionError("the tail comes first")
        return self._size

    @property
    def validator(self) -> str | None:
        """The file's ETag, or time."""
        return self._validator

    @property
    def cost(self) -> Cost:
        """Requests and bytes."""
        return Cost(self._requests, self._got)

    def tail(self, count: int) -> bytes:
        """The last bytes, asked for from the end: no request is needed for the size."""
        return self._asked(f"bytes=-{count}", None, count)

    def read(self, start: int, stop: int) -> bytes:
        """Exactly these bytes."""
        return self._asked(f"bytes={start}-{stop - 1}", start, stop - start)

    def _asked(self, header: str, start: int | None, count: int) -> bytes:
        return asked(
            lambda deadline: self._once(header, start, count, deadline),
            what=self._offer.filename,
            where=self._offer.location,
            index=self._offer.source,
            timeouts=self._line.timeouts,
            total=self._line.timeouts.page,
            pause=self._line.pause,
        )

    def _once(self, header: str, start: int | None, count: int, deadline: float) -> bytes:
        headers = {"Accept": "*/*", "Accept-Encoding": "identity", "Range": header}
        self._requests += 1
        with self._line.transport.get(self._address, headers, deadline) as answer:
            if answer.status == 200:
                length = answer.headers.get("content-length", "")
                raise NoRangesError(int(length) if _LENGTH.fullmatch(length) else self._offer.size)
            if answer.status != 206:
                if start is None and answer.status in _NO_SUFFIX and self._offer.size:
                    return self._by_size(self._offer.size, count, deadline)
                refuse_status(answer, what=self._offer.filename, index=self._offer.source)
            expected = self._check(answer, start, count)
            content = self._body(answer, expected)
        self._address = answer.address  # where redirects led, so that each of them is asked once
        return content

    def _by_size(self, size: int, count: int, deadline: float) -> bytes:
        """For servers that know no ranges from the end."""
        start = max(0, size - count)
        return self._once(f"bytes={start}-{size - 1}", start, size - start, deadline)

    def _check(self, answer: Answer, start: int | None, count: int) -> int:
        """How many bytes are to come. BadAnswerError when they are not those that were asked for."""
        match = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
        if match is None:
            raise BadAnswerError("a part of the file, without saying which")
        if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise BadAnswerError("a part of the file in an encoding that was not asked for")
        first, last, total = (int(number) for number in match.groups())
        self._is_same_file(answer, total)
        begin = max(0, total - count) if start is None else start
        if (first, last) != (begin, min(begin + count, total) - 1) or (
            start is not None and last - first != count - 1
        ):
            raise BadAnswerError("another part of the file than was asked for")
        return last - first + 1

    def _is_same_file(self, answer: Answer, total: int) -> None:
        validator = answer.headers.get("etag") or answer.headers.get("last-modified")
        if self._size is None:
            if self._offer.size not in (None, total):
                raise BadAnswerError(f"it lists {self._offer.size} bytes and serves a file of {total}")
            self._size, self._validator = total, validator
        elif (total, validator) != (self._size, self._validator):
            raise BadAnswerError("the file was replaced while it was read")

    def _body(self, answer: Answer, expected: int) -> bytes:
        pieces, got = [], 0
        for piece in answer.pieces():
            got += len(piece)
            self._got += len(piece)
            if got > expected:
                raise BadAnswerError("more bytes than it said")
            pieces.append(piece)
        if got < expected:
            raise UnreachableError(f"the body ended after {got} of {expected} bytes")
        return b"".join(pieces)
