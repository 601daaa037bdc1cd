"""Evidence: the sha256 that pip writes to ``direct_url.json`` for what was installed from an address or a path.

uv writes none there; a ``#sha256=`` in its address is what somebody asked for, which proves nothing.
Source: PyPA specifications, "Recording the Direct URL Origin of installed distributions".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.reading import SMALL_CAP, read
from envguard.model.digest import Digest
from envguard.model.distribution import Evidence, Wheel
from envguard.planning import wheel_names

_HEX = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was asked for by its address. ``path`` where it is a file of this machine."""

    filename: str
    sha256: Digest | None
    path: Path | None
    claimed: Digest | None = None
    """What the address's ``#sha256=`` says."""


def read_source(content: bytes) -> Source | None:
    """Read ``direct_url.json`` or pip's ``origin.json``; None when it names no file, or is none of them."""
    try:
        document = json.loads(content)
        url = urlsplit(document["url"])
        archive = document["archive_info"]
        path = unquote(url.path)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not isinstance(archive, dict) or "\0" in path:
        return None
    filename = path.rpartition("/")[2]
    local = Path(path) if url.scheme == "file" and url.netloc in ("", "localhost") else None
    return Source(filename, _sha256(archive), local, _claim(url.fragment))


def _sha256(archive: dict[str, object]) -> Digest | None:
    match archive:
        case {"hashes": {"sha256": str(text)}} if _HEX.fullmatch(text):
            return Digest(text.lower())
        case {"hash": str(text)} if text.startswith("sha256=") and _HEX.fullmatch(text[7:]):  # older pips
            return Digest(text[7:].lower())
    return None


def _claim(fragment: str) -> Digest | None:
    for part in fragment.split("&"):
        if part.startswith("sha256=") and _HEX.fullmatch(part[7:]):
            return Digest(part[7:].lower())
    return None


def source_of(installed: Installed) -> Source | None:
    """What an installed distribution's ``direct_url.json`` says."""
    content = None if installed.folder is None else read(installed.folder / "direct_url.json", SMALL_CAP)
    return None if content is None else read_source(content)


class DirectUrl:
    """Believes pip's sha256, where it is a wheel's."""

    def find(self, installed: Installed) -> Wheel | None:
        """The wheel that pip was told to install."""
        source = _wheel_of(installed)
        if source is None or source.sha256 is None:
            return None
        return Wheel(filename=source.filename, sha256=source.sha256, evidence=Evidence.DIRECT_URL)


class Claimed:
    """Repeats what the address claims, where nothing is proven."""

    def find(self, installed: Installed) -> Wheel | None:
        """The wheel that was asked for, with a claimed sha256 only."""
        source = _wheel_of(installed)
        if source is None or source.claimed is None:
            return None
        return Wheel(filename=source.filename, claimed_sha256=source.claimed)


def _wheel_of(installed: Installed) -> Source | None:
    source, distribution = source_of(installed), installed.distribution
    fits = source is not None and wheel_names.fits(source.filename, distribution.name, distribution.version)
    return source if fits else None
