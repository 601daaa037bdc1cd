"""Says what a wheel is: from an index by a few ranges, from a file, from what was read before."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.local_wheels import LocalWheel
from envguard.adapters.remote.inside import read_inside
from envguard.adapters.remote.kept import KeptWheels
from envguard.adapters.remote.pieces import ZipPieces
from envguard.adapters.remote.source import FileSource, NoRangesError, RangeSource, Source
from envguard.errors import EnvguardError, IndexAnswerError, NotObtainableError, WheelInvalidError
from envguard.formats.address import Address
from envguard.formats.zip_directory import BadZipError
from envguard.model.digest import Digest
from envguard.model.wheel_facts import EVERYTHING, Cost, Part, Says, WheelContent, WheelFacts
from envguard.planning import wheel_names
from envguard.planning.wheel_facts import told
from envguard.planning.wheel_names import WheelName
from envguard.ports import Offer, Progress

SMALL = 5_000_000
"""Bytes up to which a file is downloaded unasked where its server sends no parts."""


class Wheels:
    """``ports.WheelReader``. Safe to use from several threads.

    ``download``: fetch files whole where a server sends no parts; ``say`` is told before that is done.
    """

    def __init__(
        self,
        index: SimpleIndexes,
        *,
        progress: Progress,
        download: bool = False,
        kept: KeptWheels | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._index = index
        self._progress = progress
        self._download = download
        self._kept = kept or KeptWheels()
        self._say = say

    def read(self, offer: Offer, parts: frozenset[Part] = EVERYTHING) -> WheelFacts:
        """What an offered wheel is.

        IndexUnreachableError, IndexAnswerError (also for a zip that is refused), NotObtainableError where only a
        download would tell; WheelInvalidError for a file of this machine.
        """
        wheel = wheel_names.parse(offer.filename)
        if wheel is None:
            raise WheelInvalidError(f"not a wheel's filename: {offer.filename[:200]!r}", where=offer.location)
        if isinstance(offer.reference, LocalWheel):
            return self._of_file(offer, offer.reference.path, wheel)
        if not isinstance(offer.reference, Address):
            raise NotObtainableError(f"{offer.filename} is not an offer of these indexes", where=offer.location)
        key = offer.sha256.hex if offer.sha256 else None
        kept = self._kept.content(key) if key else None
        if kept is not None and parts <= kept.parts:
            return told(offer, wheel, kept, Cost(kept=True))
        source = RangeSource(self._index.line, offer, offer.reference)
        try:
            content = self._by_ranges(offer, source, wheel, parts, key, kept)
        except NoRangesError as whole:
            return self._whole(offer, wheel, whole.size, source.cost)
        facts = told(offer, wheel, content, source.cost)
        return replace(facts, size=source.size)

    def _by_ranges(
        self,
        offer: Offer,
        source: RangeSource,
        wheel: WheelName,
        parts: frozenset[Part],
        key: str | None,
        kept: WheelContent | None,
    ) -> WheelContent:
        pieces = ZipPieces(source, offer.size)
        with _told_of(offer):
            pieces.begin()
            if key is None and source.validator is not None:
                key = _key(offer, source)
                kept = self._kept.content(key)
                if kept is not None and parts <= kept.parts:
                    return kept
            content = read_inside(pieces, wheel, parts - kept.parts if kept else parts)
        whole = _merged(kept, content) if kept else content
        if key is not None:
            self._kept.keep(key, whole)
        return whole

    def _whole(self, offer: Offer, wheel: WheelName, size: int | None, cost: Cost) -> WheelFacts:
        """By a download, into a folder that is thrown away."""
        shown = f"{size:,} bytes" if size is not None else "a size that it doesn't tell"
        if not self._download and (size is None or size >= SMALL):
            raise NotObtainableError(
                f"index {offer.source} sends no parts of files, and {offer.filename} has {shown}",
                where=offer.location,
                hint="--download fetches it whole, into a temporary folder",
            )
        remark = f"index {offer.source} sends no parts of files: {offer.filename} ({shown}) was fetched whole"
        self._say(remark.replace("was fetched", "is fetched"))
        with tempfile.TemporaryDirectory(prefix="envguard-") as folder:
            path = self._index.fetch(offer, Path(folder), expect=None, progress=self._progress)
            facts = self._of_file(offer, path, wheel)
        fetched = Cost(cost.requests + 1, cost.size + (facts.size or 0), downloaded=True)
        return replace(facts, cost=fetched, remarks=(remark,))

    def _of_file(self, offer: Offer, path: Path, wheel: WheelName) -> WheelFacts:
        with FileSource(path) as source, _told_of(offer):
            pieces = ZipPieces(source, source.size)
            pieces.begin()
            content = read_inside(pieces, wheel, EVERYTHING)
            size = source.size
            digest = Digest.of_stream(_Stream(source))
        self._kept.keep(digest.hex, content)
        facts = told(offer, wheel, content, Cost())
        return replace(facts, size=size, sha256=digest, says=Says.BYTES)


class _Stream:
    """A file source from its start, to be hashed through the handle that was read."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._at = 0

    def read(self, size: int = -1, /) -> bytes:
        stop = min(self._at + size, self._source.size) if size >= 0 else self._source.size
        piece = self._source.read(self._at, stop)
        self._at = stop
        return piece


class _told_of:  # noqa: N801
    """What is wrong with a zip, as an error that names the wheel."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, BadZipError):
            return
        raise _refused(self._offer, error) from None


def _refused(offer: Offer, error: BadZipError) -> EnvguardError:
    if isinstance(offer.reference, LocalWheel):
        return WheelInvalidError(f"{offer.filename} is no wheel that is read: {error}", where=offer.location)
    return IndexAnswerError(
        f"{offer.filename}, as index {offer.source} serves it, is no wheel that is read: {error}",
        where=offer.location,
        hint="if it stays so, the index is wrong, or the file was made to deceive",
    )


def _key(offer: Offer, source: Source) -> str:
    """For a file whose index tells no hash."""
    address = offer.reference.bare if isinstance(offer.reference, Address) else offer.location
    return f"seen-{Digest.of(f'{address}|{source.validator}|{source.size}'.encode()).hex}"


def _merged(kept: WheelContent, content: WheelContent) -> WheelContent:
    """What both say; they are of the same bytes."""
    whole = {
        field.name: getattr(content, field.name) or getattr(kept, field.name) for field in fields(WheelContent)
    }
    whole["parts"] = kept.parts | content.parts
    return WheelContent(**whole)
