"""Wheel facts as JSON: what was read inside a wheel, for the cache, and the document that ``inspect`` prints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from envguard.formats.record import dump_rows, load_rows
from envguard.model.digest import Digest
from envguard.model.facts import TorchBuild
from envguard.model.wheel_facts import Fingerprint, Part, WheelContent, WheelFacts

SCHEMA = "envguard-inspect-1"
CAP = 32 << 20
"""Bytes that one wheel's content may have in the cache."""

_KEPT = 1
_TEXTS = ("version", "build_tag", "generator")
_LISTS = ("requires", "tags", "architectures")
_TORCH = ("version", "build", "git_commit", "variant", "cuda", "hip")


def dump_content(content: WheelContent) -> bytes:
    """What was read inside a wheel, as JSON."""
    whole: dict[str, Any] = {"schema": _KEPT, "parts": sorted(part.value for part in content.parts)}
    whole |= {name: getattr(content, name) for name in (*_TEXTS, "files", "unpacked")}
    whole |= {name: list(getattr(content, name)) for name in _LISTS}
    whole["fingerprints"] = [_fingerprint(one) for one in content.fingerprints]
    whole["rows"] = dump_rows(content.rows).decode("utf-8", "surrogateescape") if content.rows else None
    whole["torch"] = content.torch and {name: getattr(content.torch, name) for name in _TORCH}
    return json.dumps(whole).encode()


def load_content(text: bytes) -> WheelContent:
    """Read ``dump_content``'s JSON. ValueError when it is anything else."""
    try:
        whole = json.loads(text)
        if whole["schema"] != _KEPT:
            raise ValueError("of another schema")
        return WheelContent(
            parts=frozenset(Part(part) for part in whole["parts"]),
            version=_text(whole["version"]),
            build_tag=_text(whole["build_tag"]),
            generator=_text(whole["generator"]),
            requires=_texts(whole["requires"]),
            tags=_texts(whole["tags"]),
            architectures=_texts(whole["architectures"]),
            fingerprints=tuple(_read_fingerprint(one) for one in whole["fingerprints"]),
            rows=load_rows(whole["rows"].encode("utf-8", "surrogateescape")) if whole["rows"] else {},
            torch=_torch(whole["torch"]) if whole["torch"] else None,
            files=int(whole["files"]),
            unpacked=int(whole["unpacked"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise ValueError(f"not what is kept of a wheel: {problem}") from None


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("not a text")
    return value


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(_text(value) or "" for value in values)


def _torch(whole: Mapping[str, object]) -> TorchBuild:
    return TorchBuild(**{name: _text(whole[name]) for name in _TORCH})  # type: ignore[arg-type]


def _fingerprint(one: Fingerprint) -> dict[str, str | None]:
    return {"record": str(one.record), "record-data": str(one.record_data) if one.record_data else None}


def _read_fingerprint(whole: Mapping[str, str | None]) -> Fingerprint:
    data = whole["record-data"]
    return Fingerprint(Digest.parse(whole["record"] or ""), Digest.parse(data) if data else None)


def wheel_document(facts: WheelFacts) -> dict[str, Any]:
    """One wheel as plain values, as the schema names them."""
    content, torch = facts.content, facts.content.torch
    return {
        "filename": facts.filename,
        "name": facts.name,
        "version": facts.version,
        "build-tag": facts.build_tag or None,
        "source": facts.source,
        "location": facts.location,
        "size": facts.size,
        "sha256": str(facts.sha256) if facts.sha256 else None,
        "sha256-by": facts.says.value if facts.says else None,
        "uploaded": facts.uploaded.isoformat() if facts.uploaded else None,
        "yanked": facts.yanked,
        "requires-python": facts.requires_python,
        "torch": torch
        and {
            "build": torch.build,
            "git-commit": torch.git_commit,
            "variant": torch.variant,
            "cuda": torch.cuda,
            "hip": torch.hip,
        },
        "variant": facts.variant,
        "driver-floor": facts.driver_floor,
        "architectures": list(content.architectures),
        "requires": list(content.requires),
        "tags": list(content.tags),
        "generator": content.generator,
        "record-fingerprints": [_fingerprint(one) for one in content.fingerprints],
        "files": content.files,
        "unpacked-size": content.unpacked,
        "cost": {
            "requests": facts.cost.requests,
            "bytes": facts.cost.size,
            "downloaded": facts.cost.downloaded,
            "from-cache": facts.cost.kept,
        },
        "remarks": list(facts.remarks),
    }
