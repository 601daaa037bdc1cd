"""Pages of indexes: JSON or HTML in, wheel files out. Every page is taken for hostile."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import json
import re
import time
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urljoin

from envguard.adapters.hops import refusal
from envguard.adapters.transport import Answer, BadAnswerError
from envguard.formats.address import Address
from envguard.model.digest import Digest

_JSON = "application/vnd.pypi.simple.v1+json"
_HTML = frozenset({"application/vnd.pypi.simple.v1+html", "text/html"})
_MARKS = re.compile(
    rb"pypi:repository-version|<(?:title|h1)[^>]*>\s*(?:links for|simple index|directory listing for|index of)",
    re.IGNORECASE,
)
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*\.(?:whl|tar\.gz|tar\.bz2|zip|egg|tgz)")
_WHEEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]*-[A-Za-z0-9._+!]+(?:-[A-Za-z0-9._]+){3,4}\.whl")
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_SDISTS = (".tar.gz", ".zip", ".tar.bz2", ".tgz")
_STEP = 1 << 13
_LONGEST_NAME = 240  # with room for what is added while it comes


@dataclass(frozen=True, slots=True)
class Caps:
    """How much of a page is taken in: bytes (after decompression), files, seconds to read it."""

    page: int = 64 << 20
    entries: int = 250_000
    parse: float = 60


@dataclass(frozen=True, slots=True)
class Listed:
    """A wheel file, or an sdist, as a page lists it; all of it is the page's word."""

    filename: str
    address: Address
    sha256: Digest | None
    size: int | None
    yanked: str | None
    requires_python: str | None = None
    uploaded: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page's bytes, what they are, and the address that relative links start from."""

    content: bytes
    kind: str
    charset: str | None
    address: Address


def is_filename(name: str) -> bool:
    """Whether a name can be a wheel's, and so has neither folders nor anything else that surprises."""
    return len(name) <= _LONGEST_NAME and _WHEEL.fullmatch(name) is not None


def is_sdist(name: str) -> bool:
    """Whether a name can be an sdist's."""
    return len(name) <= _LONGEST_NAME and name.endswith(_SDISTS) and _FILE.fullmatch(name) is not None


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def received(answer: Answer, caps: Caps) -> Page:
    """A page's body, decompressed, within the caps. BadAnswerError, UnreachableError."""
    from email.message import Message

    content = b"".join(_decoded(answer, caps.page))
    header = Message()
    header["content-type"] = answer.headers.get("content-type", "text/html")
    charset = header.get_param("charset")
    return Page(content, header.get_content_type(), charset if isinstance(charset, str) else None, answer.address)


def listed(page: Page, name: str, caps: Caps) -> list[Listed]:
    """The wheel files of a page. BadAnswerError when it is no page of an index."""
    return [found for found in files(page, name, caps) if is_filename(found.filename)]


def files(page: Page, name: str, caps: Caps) -> list[Listed]:
    """The wheel files and sdists of a page. BadAnswerError when it is no page of an index."""
    if page.kind == _JSON:
        packages = _from_json(page, caps)
    elif page.kind in _HTML:
        packages = _from_html(page, name, caps)
    else:
        raise BadAnswerError(f"the page is {page.kind[:60]}")
    return [found for package in packages if (found := _listed(package, page)) is not None]


def _from_json(page: Page, caps: Caps) -> Iterable[Any]:
    from pypi_simple import ProjectPage, UnexpectedRepoVersionWarning, UnsupportedRepoVersionError

    warnings.simplefilter("ignore", UnexpectedRepoVersionWarning)
    try:
        whole = json.loads(page.content)
        if isinstance(whole, dict) and isinstance(whole.get("files"), list) and len(whole["files"]) > caps.entries:
            raise BadAnswerError(f"the page lists more than {caps.entries} files")
        return ProjectPage.from_json_data(whole, page.address.bare).packages
    except UnsupportedRepoVersionError:
        raise BadAnswerError("the page is of a newer kind than can be read") from None
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise BadAnswerError(f"the page is not an index's JSON{_first_fault(error)}") from None


def _from_html(page: Page, name: str, caps: Caps) -> Iterable[Any]:
    from pypi_simple import (
        DistributionPackage,
        UnexpectedRepoVersionWarning,
        UnsupportedRepoVersionError,
        parse_links_stream,
    )

    warnings.simplefilter("ignore", UnexpectedRepoVersionWarning)
    packages = []
    try:
        for link in parse_links_stream(_steps(_text(page), caps)):
            with contextlib.suppress(ValueError):  # one link that is no address spoils no page
                whole = dataclasses.replace(link, url=urljoin(page.address.bare, link.url))
                packages.append(DistributionPackage.from_link(whole, name))
            if len(packages) > caps.entries:
                raise BadAnswerError(f"the page lists more than {caps.entries} files")
    except UnsupportedRepoVersionError:
        raise BadAnswerError("the page is of a newer kind than can be read") from None
    except (ValueError, AssertionError, LookupError, RecursionError):
        raise BadAnswerError("the page is not HTML that can be read") from None
    if not _MARKS.search(page.content) and not any(_FILE.fullmatch(_filename(package)) for package in packages):
        raise BadAnswerError("the page is not an index's: it names no files")
    return packages


def _text(page: Page) -> str:
    """Decoded with a charset of text only: others, such as zlib, would unpack."""
    try:
        known = codecs.lookup(page.charset or "utf-8")
        return page.content.decode(known.name if known._is_text_encoding else "utf-8", "replace")
    except (LookupError, ValueError):
        return page.content.decode("utf-8", "replace")


def _steps(content: str, caps: Caps) -> Iterator[str]:
    """The page in small parts, so that one made to be slow to parse is given up."""
    end = time.monotonic() + caps.parse
    for start in range(0, len(content), _STEP):
        if time.monotonic() > end:
            raise BadAnswerError("the page takes too long to read")
        yield content[start : start + _STEP]


def _listed(package: Any, page: Page) -> Listed | None:
    filename = _filename(package)
    if not is_filename(filename) and not is_sdist(filename):
        return None
    address = Address(package.url)
    if refusal(page.address, address) is not None:
        return None
    claimed = package.digests.get("sha256", "")
    yanked = (package.yanked_reason or "") if package.is_yanked else None
    size = package.size if isinstance(package.size, int) and package.size >= 0 else None
    sha256 = Digest(claimed.lower()) if _HEX.fullmatch(claimed) else None
    python = package.requires_python
    python = python[:_LONGEST_NAME] if isinstance(python, str) and python else None
    return Listed(filename, address, sha256, size, yanked, python, _moment(package.upload_time))


def _moment(stated: object) -> datetime | None:
    if not isinstance(stated, datetime):
        return None
    return stated if stated.tzinfo is not None else stated.replace(tzinfo=UTC)


def _filename(package: Any) -> str:
    """The name that the page states; a list of links of another kind states it in the address only."""
    if _FILE.fullmatch(package.filename):
        return str(package.filename)
    return unquote(Address(package.url).path.rpartition("/")[2])


def _decoded(answer: Answer, cap: int) -> Iterator[bytes]:
    coding = answer.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise BadAnswerError(f"the page is encoded as {coding[:40]}, which was not asked for")
    inflate = None if coding in ("", "identity") else zlib.decompressobj(wbits=47)
    total = 0
    for piece in answer.pieces():
        plain = piece
        if inflate is not None:
            try:
                plain = inflate.decompress(piece, cap + 1 - total)
            except zlib.error:
                raise BadAnswerError(f"the page is not {coding}, as it says") from None
        total += len(plain)
        if total > cap:
            raise BadAnswerError(f"the page is longer than {cap} bytes")
        yield plain
    if inflate is not None and not inflate.eof:
        raise BadAnswerError(f"the page's {coding} ends too early")


def _first_fault(error: Exception) -> str:
    """Where a page went wrong. The library's own message quotes values, and may hold a signed address."""
    faults = getattr(error, "errors", None)
    if not callable(faults):
        return ""
    return f": {'.'.join(str(part) for part in faults()[0]['loc'])[:100]}"
