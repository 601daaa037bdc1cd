"""Fetch one file of an index: in pieces, going on after breaks, hashed on the way, never a wrong byte kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from envguard.adapters.asking import asked, refuse_status
from envguard.adapters.part import Origin, Part
from envguard.adapters.transport import Answer, BadAnswerError, Timeouts, Transport, UnreachableError
from envguard.errors import IndexAnswerError, OtherBytesError
from envguard.formats.address import Address
from envguard.model.digest import Digest
from envguard.ports import Offer, Progress

_STEP = 1 << 18
_LARGEST = 64 << 30
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_STRONG_TAG = re.compile(r'"[\x21\x23-\x7e]*"')


@dataclass(frozen=True, slots=True)
class Download:
    """How files of indexes are fetched."""

    transport: Transport
    timeouts: Timeouts
    pause: Callable[[float], None] = time.sleep

    def fetch(self, offer: Offer, address: Address, part: Part, expect: Digest | None, progress: Progress) -> None:
        """Fill ``part`` with the whole file, and check it.

        OtherBytesError, IndexAnswerError, IndexUnreachableError; EnvguardError on a full disk. When the bytes are
        wrong the part is gone; when they broke off it stays, for the next call to go on.
        """
        wanted = expect or offer.sha256
        for last in (False, True):
            self._bring(offer, address, part, progress)
            if wanted is None or part.digest == wanted:
                return
            if last or not part.resumed:
                break
            part.restart(None)  # the damage may be in what an earlier try left
        got = part.digest
        size = part.position
        part.discard()
        raise other_bytes(offer, expect, got, size)

    def _bring(self, offer: Offer, address: Address, part: Part, progress: Progress) -> None:
        if part.is_whole_of(str(address)):
            return
        asked(
            lambda deadline: self._once(offer, address, part, progress, deadline),
            what=offer.filename,
            where=offer.location,
            index=offer.source,
            timeouts=self.timeouts,
            total=self.timeouts.file,
            pause=self.pause,
            position=lambda: part.position,
        )

    def _once(self, offer: Offer, address: Address, part: Part, progress: Progress, deadline: float) -> None:
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        origin = part.origin
        if part.position and origin and origin.validator and origin.location == str(address):
            headers |= {"Range": f"bytes={part.position}-", "If-Range": origin.validator}
        else:
            part.restart(None)
        with self.transport.get(address, headers, deadline) as answer:
            total = self._begin(answer, address, part, offer)
            if total is not None:
                self._body(answer, part, total, offer, progress)
                return
        # What came doesn't go on from what is there. Asked from zero, no answer leads here again.
        part.restart(None)
        self._once(offer, address, part, progress, deadline)

    def _begin(self, answer: Answer, address: Address, part: Part, offer: Offer) -> int | None:
        """Look at the headers: the file's length (-1: not told), or None when the part must start anew."""
        if answer.status == 206:
            return _continued(answer, part)
        if answer.status == 416 and part.position:
            return None
        if answer.status != 200:
            refuse_status(answer, what=offer.filename, index=offer.source)
        coding = answer.headers.get("content-encoding", "").strip().lower()
        if coding not in ("", "identity"):
            raise BadAnswerError(f"the file is encoded as {coding[:40]}, which was not asked for")
        length = answer.headers.get("content-length", "")
        total = int(length) if length.isdigit() else None
        part.restart(Origin(str(address), _validator(answer), total))
        return -1 if total is None else total

    def _body(self, answer: Answer, part: Part, total: int, offer: Offer, progress: Progress) -> None:
        part.check_room(total)
        told, cap = part.position, total if total >= 0 else (offer.size or _LARGEST)
        shown = total if total >= 0 else offer.size
        for piece in answer.pieces():
            if part.position + len(piece) > cap:
                part.discard()
                raise BadAnswerError(f"the file is longer than {cap} bytes, its stated size")
            part.write(piece)
            if part.position - told >= _STEP:
                told = part.position
                progress.step(offer.filename, part.position, shown, "B")
        short = part.position < total if total >= 0 else part.position < (offer.size or 0)
        if short:
            raise UnreachableError(f"the body ended after {part.position} of {shown} bytes")
        progress.step(offer.filename, part.position, part.position, "B")


def other_bytes(offer: Offer, expect: Digest | None, got: Digest, size: int) -> OtherBytesError | IndexAnswerError:
    """The error for a file that is whole, and isn't the one that was asked for."""
    if expect is None:
        return IndexAnswerError(
            f"index {offer.source} says {offer.sha256} of {offer.filename} and serves {got} ({size} bytes)",
            where=offer.location,
            hint="run the same command again; if it stays so, the index is wrong",
        )
    return OtherBytesError(
        f"index {offer.source} now serves other bytes for {offer.filename}: expected {expect}, got {got}"
        f" ({size} bytes)",
        where=offer.location,
        hint="another index, a --find-links folder or the archive may still have the file that was locked",
    )


def _continued(answer: Answer, part: Part) -> int | None:
    """The total, when a partial answer goes on exactly where the part ends and is of the same file."""
    match = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
    if not part.position:
        raise BadAnswerError("a part of the file where all of it was asked for")
    if match is None or int(match[1]) != part.position or part.origin is None:
        return None
    total = None if match[3] == "*" else int(match[3])
    if _validator(answer) not in (None, part.origin.validator):
        return None
    if total is None or int(match[2]) != total - 1 or part.origin.total not in (None, total):
        return None
    part.resumed = True
    return total


def _validator(answer: Answer) -> str | None:
    """What proves that a later answer is of the same bytes: a strong tag, or a time; a weak tag proves nothing."""
    tag = answer.headers.get("etag", "").strip()
    if tag:
        return tag if _STRONG_TAG.fullmatch(tag) else None
    return answer.headers.get("last-modified") or None
