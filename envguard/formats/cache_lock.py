"""The lock's ``[cache]`` table: the folder as found, the factors, the keys."""

from __future__ import annotations

import re
from typing import Any

from envguard.formats.decode import Table, WrongValueError
from envguard.model.cache import CacheFactors, CacheKeys, KeySource, keys_by_device
from envguard.model.digest import Digest
from envguard.model.facts import CacheFound, Facts
from envguard.model.observed import Value

Document = dict[str, Any]

TRITON = "triton"
"""The entry of ``[cache.keys]`` that isn't a device."""

_HEX = re.compile(r"[0-9a-f]{64}")
_DEVICE = re.compile(r"[a-z]+(:\d{1,4})?")
_KEY = re.compile(r"(aotautograd/a|fxgraph/f)[a-z2-7]{20,80}")
_TRITON_KEY = re.compile(r"triton/[A-Z2-7]{20,80}")


def cache_document(facts: Facts, manifest: Digest | None = None) -> Document:
    """The ``[cache]`` table; empty when nothing of a cache is a fact. ``manifest``: names its files' bytes."""
    document: Document = {}
    if isinstance(facts.cache, Value):
        found = facts.cache.value
        document |= {"folder": found.folder, "source": found.source, "found": dict(sorted(found.entries))}
    if isinstance(facts.keys, Value):
        document |= _keys(facts.keys.value)
    if manifest is not None:
        document["manifest"] = str(manifest)
    if isinstance(facts.factors, Value):
        document["factors"] = _factors(facts.factors.value)
    if isinstance(facts.keys, Value):
        document["keys"] = _lists(facts.keys.value)
    return document


def _keys(keys: CacheKeys) -> Document:
    document: Document = {
        "fingerprint": str(keys.fingerprint),
        "keys-source": keys.source.value,
        "attributed-by": keys.attributed_by,
    }
    if keys.components is not None:
        document["components"] = str(keys.components)
    return document


def _lists(keys: CacheKeys) -> Document:
    lists: Document = {device.device: list(device.keys) for device in keys.devices}
    return lists | ({TRITON: list(keys.triton)} if keys.triton else {})


def _factors(factors: CacheFactors) -> Document:
    document: Document = {
        "torch-key": factors.torch_key,
        "triton-key": factors.triton_key,
        "threads": factors.threads,
        "ptxas": factors.ptxas,
        "settings": dict(factors.settings),
        "unseen": dict(factors.unseen),
    }
    return {key: value for key, value in document.items() if value not in (None, {})}


def read_found(table: Table) -> CacheFound:
    """``folder``, ``source`` and ``found``."""
    found = table.table("found")
    return CacheFound(
        folder=table.text("folder"),
        source=table.text("source"),
        entries=tuple(sorted((kind, found.integer(kind)) for kind in found.content)),
    )


def read_factors(cache: Table) -> CacheFactors:
    """``[cache.factors]``."""
    table = cache.table("factors")
    return CacheFactors(
        torch_key=_hex(table, "torch-key"),
        triton_key=_hex(table, "triton-key"),
        threads=table.integer_or_none("threads"),
        ptxas=_hex(table, "ptxas"),
        settings=tuple(sorted(table.mapping("settings").items())),
        unseen=tuple(sorted(table.mapping("unseen").items())),
    )


def read_keys(cache: Table) -> CacheKeys:
    """``[cache.keys]`` and what stands beside it. A fingerprint that isn't the list's is refused."""
    table = cache.table("keys")
    devices = {device: _names(table, device, _KEY) for device in table.content if device != TRITON}
    for device in devices:
        if not _DEVICE.fullmatch(device):
            raise WrongValueError(table.where(device), f"not a device (cpu, cuda:0): {device[:40]!r}")
    keys = CacheKeys(
        source=cache.choice("keys-source", KeySource),
        devices=keys_by_device(devices),
        triton=tuple(sorted(_names(table, TRITON, _TRITON_KEY))),
        attributed_by=cache.text_or_none("attributed-by") or "text",
        components=cache.digest_or_none("components"),
    )
    told = cache.digest_or_none("fingerprint")
    if told is not None and told != keys.fingerprint:
        raise WrongValueError(cache.where("fingerprint"), "is not the digest of the keys listed below it")
    return keys


def _names(table: Table, key: str, shape: re.Pattern[str]) -> tuple[str, ...]:
    names = table.texts(key)
    for number, name in enumerate(names):
        # They become file names when a cache is put back.
        if not shape.fullmatch(name):
            raise WrongValueError(f"{table.where(key)}[{number}]", f"not a cache key: {name[:80]!r}")
    return names


def _hex(table: Table, key: str) -> str | None:
    text = table.text_or_none(key)
    if text is not None and not _HEX.fullmatch(text):
        raise WrongValueError(table.where(key), f"expected 64 lower-case hex digits, found {text[:80]!r}")
    return text
