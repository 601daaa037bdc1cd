"""A distribution as its dist-info folder tells it, before it becomes a fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envguard.model.digest import Digest
from envguard.model.distribution import Row

BOOKKEEPING = frozenset(
    {
        "RECORD",
        "RECORD.jws",
        "RECORD.p7s",
        "INSTALLER",
        "REQUESTED",
        "direct_url.json",
        "uv_cache.json",
        "uv_build.json",
        "provenance_url.json",
    }
)
"""Files of a dist-info folder that installers write, or that sign what installers rewrite."""


@dataclass(frozen=True, slots=True)
class InstalledRow:
    """One row of an installed RECORD, placed.

    ``root`` is ``library``, ``data``, ``scripts`` or ``headers``; ``path`` is relative to it (posix, normalised);
    ``digest`` is ``algorithm:hex`` or empty; ``size`` as written, may be empty.
    """

    root: str
    path: str
    digest: str
    size: str
    site: str = ""
    """For a library row that lies in another library folder than its dist-info: that folder."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A RECORD, read: normalised hashed rows by (root, path), all placed rows, and paths without a hash.

    ``rows`` has roots ``library`` and ``data`` only and is what the record fingerprints digest.
    """

    rows: Mapping[tuple[str, str], Row]
    placed: tuple[InstalledRow, ...]
    errata: tuple[str, ...]
    record: Digest
    record_data: Digest | None


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A launcher to be: ``name`` runs ``target`` (``module:attribute``)."""

    name: str
    target: str
