"""Wheels in folders of this machine: listing them, and taking a copy that is hashed on the way."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from envguard.adapters.pages import Caps, Listed, Page, canonical, is_filename, listed
from envguard.adapters.part import Part
from envguard.adapters.transport import BadAnswerError
from envguard.errors import IndexAnswerError, IndexUnreachableError, OtherBytesError
from envguard.formats.address import Address
from envguard.model.digest import Digest
from envguard.ports import Offer, Progress

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class LocalWheel:
    """A wheel file of this machine, as an offer's reference."""

    path: Path


def in_folder(folder: Path, source: str) -> list[Offer]:
    """The wheels of a folder, or one wheel that is named itself, in order of their names; none there: none."""
    paths = [folder] if folder.is_file() else _children(folder)
    return [
        Offer(path.name, str(path), source, size=path.stat().st_size, reference=LocalWheel(path))
        for path in paths
        if is_filename(path.name) and path.is_file()
    ]


def in_simple_folder(root: Path, name: str, source: str, caps: Caps) -> list[Offer] | None:
    """The wheels of a distribution in a folder laid out as a simple index; None when it isn't there.

    ``<name>/index.html`` is read as a page, else the wheels in ``<name>/`` are taken.
    """
    folder = root / canonical(name)
    page = folder / "index.html"
    if page.is_file():
        return on_page(page, name, source, caps)
    return in_folder(folder, source) if folder.is_dir() else None


def on_page(page: Path, name: str, source: str, caps: Caps) -> list[Offer]:
    """The wheels that an HTML file of this machine lists. BadAnswerError."""
    try:
        with page.open("rb") as stream:
            content = stream.read(caps.page + 1)
    except OSError as error:
        raise BadAnswerError(f"{page} can't be read: {error.strerror}") from None
    if len(content) > caps.page:
        raise BadAnswerError(f"the page is longer than {caps.page} bytes")
    found = listed(Page(content, "text/html", "utf-8", Address(page.absolute().as_uri())), name, caps)
    return [offered(one, source) for one in found]


def offered(one: Listed, source: str) -> Offer:
    """A listed file as an offer."""
    local = one.address.local
    return Offer(
        filename=one.filename,
        location=str(one.address) if local is None else str(local),
        source=source,
        sha256=one.sha256,
        size=one.size,
        yanked=one.yanked,
        requires_python=one.requires_python,
        uploaded=one.uploaded,
        reference=one.address if local is None else LocalWheel(local),
    )


def copy(offer: Offer, wheel: LocalWheel, part: Part, expect: Digest | None, progress: Progress) -> None:
    """Fill ``part`` with the file's bytes: a copy, since an inode that is shared can be changed by others.

    OtherBytesError, IndexAnswerError for other bytes than ``expect``, or than the page said;
    IndexUnreachableError when the file can't be read.
    """
    part.restart(None)
    try:
        handle = os.open(wheel.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb", buffering=0) as stream:
            total = _length(handle)
            part.check_room(total)
            while piece := stream.read(_CHUNK):
                part.write(piece)
                progress.step(offer.filename, part.position, total, "B")
    except OSError as error:
        raise IndexUnreachableError(
            f"{offer.filename} can't be read: {error.strerror or error}", where=offer.location
        ) from None
    if part.digest != (expect or offer.sha256 or part.digest):
        got, kind = part.digest, OtherBytesError if expect else IndexAnswerError
        raise kind(
            f"{offer.source} has other bytes for {offer.filename}: expected {expect or offer.sha256}, got {got}",
            where=offer.location,
            hint="an index or the archive may still have the file that was locked",
        )


def _length(handle: int) -> int:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is no regular file")
    return status.st_size


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
