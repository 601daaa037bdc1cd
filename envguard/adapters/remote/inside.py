"""What the few telling files inside a wheel say, read with as few requests as can be."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envguard.adapters.remote.pieces import ZipPieces
from envguard.formats import zip_directory
from envguard.formats.distinfo import canonical, read_metadata, read_wheel_tags
from envguard.formats.record import read_wheel
from envguard.formats.torch_version import TorchVersion, read_torch_version
from envguard.formats.zip_directory import BadZipError, Entry
from envguard.model.facts import TorchBuild
from envguard.model.wheel_facts import Fingerprint, Part, WheelContent
from envguard.planning import wheel_match
from envguard.planning.torch_requires import torch_requires
from envguard.planning.wheel_names import WheelName

CAP = 16 << 20
"""Bytes that one of these files may have; torch's RECORD has about 1.4 MB."""

_TORCH = "torch/version.py"
_NAMES = {Part.METADATA: "METADATA", Part.WHEEL: "WHEEL", Part.RECORD: "RECORD"}
_ARCHITECTURE = re.compile(
    r"(?:^|[^A-Za-z0-9])sm_?(\d{2,3}[af]?)(?![A-Za-z0-9])[^/]*\.(?:so|pyd|cubin|fatbin|ptx)(?:\.[\d.]+)?$"
)
"""In the names of compiled files alone: sources for many architectures are in wheels that run on none."""


def read_inside(pieces: ZipPieces, wheel: WheelName, parts: frozenset[Part]) -> WheelContent:
    """The wanted parts, and those that came along. BadZipError when it isn't this distribution's wheel.

    ``pieces`` has begun; ``wheel`` is what its filename says.
    """
    pieces.open(before=parts != {Part.TORCH})
    found = _entries(pieces, wheel)
    wanted = [part for part in Part if part in found and (part in parts or pieces.has(found[part]))]
    missing = [part for part in parts if part not in found and part is not Part.TORCH]
    if missing:
        raise BadZipError(f"it has no {_NAMES[missing[0]]}")
    texts = dict(zip(wanted, pieces.read([found[part] for part in wanted], CAP), strict=True))
    told = frozenset(texts) | (parts & {Part.TORCH}) | ({Part.TORCH} - set(found))
    return _content(texts, told, wheel, _folder(pieces.entries, wheel), pieces.entries)


def _content(
    texts: Mapping[Part, bytes],
    told: frozenset[Part],
    wheel: WheelName,
    folder: str,
    entries: tuple[Entry, ...],
) -> WheelContent:
    try:
        metadata = read_metadata(texts[Part.METADATA]) if Part.METADATA in texts else None
        tags = read_wheel_tags(texts[Part.WHEEL]) if Part.WHEEL in texts else None
        names = frozenset(entry.name for entry in entries)
        listings = read_wheel(texts[Part.RECORD], folder, names) if Part.RECORD in texts else ()
        torch = read_torch_version(texts[Part.TORCH]) if Part.TORCH in texts else None
    except ValueError as problem:
        raise BadZipError(f"what it says of itself can't be read: {problem}") from None
    requires = torch_requires(metadata.requires, wheel_match.interpreter_of(wheel.tags)) if metadata else ()
    return WheelContent(
        parts=told,
        version=metadata.version if metadata else None,
        requires=requires,
        tags=tags.tags if tags else (),
        build_tag=tags.build if tags else None,
        generator=tags.generator if tags else None,
        fingerprints=tuple(dict.fromkeys(Fingerprint(one.record, one.record_data) for one in listings)),
        rows=listings[0].rows if listings else {},
        torch=_build(torch, wheel.version) if torch else None,
        architectures=tuple(sorted({f"sm_{found[1]}" for name in names if (found := _ARCHITECTURE.search(name))})),
        files=sum(not entry.is_folder for entry in entries),
        unpacked=sum(entry.size for entry in entries),
    )


def _build(torch: TorchVersion, version: str) -> TorchBuild:
    return TorchBuild(
        version=version,
        build=torch.version,
        git_commit=torch.git_version,
        variant=torch.variant,
        cuda=torch.cuda,
        hip=torch.hip,
    )


def _entries(pieces: ZipPieces, wheel: WheelName) -> dict[Part, Entry]:
    folder = _folder(pieces.entries, wheel)
    names = {part: f"{folder}/{name}" for part, name in _NAMES.items()}
    if wheel.name == "torch":
        names[Part.TORCH] = _TORCH
    found = {part: zip_directory.only(pieces.entries, name) for part, name in names.items()}
    return {part: entry for part, entry in found.items() if entry is not None}


def _folder(entries: tuple[Entry, ...], wheel: WheelName) -> str:
    """The wheel's one dist-info folder."""
    folders = {entry.name.partition("/")[0] for entry in entries}
    folders = {folder for folder in folders if folder.endswith(".dist-info")}
    if len(folders) != 1:
        raise BadZipError(f"it has {len(folders)} dist-info folders")
    (folder,) = folders
    if canonical(folder.removesuffix(".dist-info").partition("-")[0]) != wheel.name:
        raise BadZipError(f"it is a wheel of something else: {folder[:100]}")
    return folder
