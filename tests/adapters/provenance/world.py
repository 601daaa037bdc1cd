"""A small world for evidence: wheels, an environment made of them, caches as uv and pip leave them."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgpack

from envguard.adapters.provenance.installed import Installed, locate
from envguard.formats.record import read_wheel
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.target import Layout
from tests import builders

POLICY = b"an HTTP cache policy \x00\xff\xfe that nobody here can read"


@dataclass(frozen=True, slots=True)
class World:
    """Folders below one root: ``wheels`` (finished files), ``environment``, ``uv``, ``pip``."""

    root: Path

    @property
    def site(self) -> Path:
        return self.root / "environment" / "lib" / "python3.12" / "site-packages"

    @property
    def uv(self) -> Path:
        return self.root / "uv"

    @property
    def pip(self) -> Path:
        return self.root / "pip"

    @property
    def layout(self) -> Layout:
        prefix = self.root / "environment"
        return Layout(
            python=prefix / "bin" / "python",
            prefix=prefix,
            base_prefix=Path("/usr"),
            libraries=(self.site,),
            scripts=prefix / "bin",
            headers=prefix / "include",
            path=(),
            is_venv=True,
            system_site=False,
        )

    def wheel(self, name: str = "idna", version: str = "3.10", code: str = "x = 1\n", **details: Any) -> Path:
        """A finished wheel file, in a folder of its own."""
        folder = self.root / "wheels" / str(len(list(self.root.glob("wheels/*"))))
        folder.mkdir(parents=True)
        return builders.wheel(folder, name, version, {f"{name}/__init__.py": code}, **details)

    def install(self, wheel: Path, *, linked_to: Path | None = None, **changes: Any) -> Installed:
        """Unpack a wheel into the environment (or link it to where it is unpacked), as a distribution."""
        self.site.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.site)
        if linked_to is not None:
            for name in ("METADATA", "WHEEL"):
                for file in self.site.glob(f"*.dist-info/{name}"):
                    file.unlink()
                    os.link(linked_to / file.relative_to(self.site), file)
        return locate(self.layout, replace(distribution_of(wheel), **changes))

    def cached(
        self,
        wheel: Path,
        *,
        place: str = "pypi",
        archive: str = "MG38DKJ9bk6qx-RY",
        buckets: tuple[str, str] = ("wheels-v8", "archive-v0"),
        hashes: Any = None,
        **fields: Any,
    ) -> Path:
        """Put a wheel into uv's cache: unpacked, and its pointer. Returns where it is unpacked."""
        unpacked = self.uv / buckets[1] / archive
        with zipfile.ZipFile(wheel) as content:
            content.extractall(unpacked)
        name = distribution_of(wheel).name
        folder = self.uv / buckets[0] / place / name
        folder.mkdir(parents=True, exist_ok=True)
        told = [{"Sha256": sha256_of(wheel).hex}] if hashes is None else hashes
        value = [archive, told, fields.get("filename", wheel.name), 0, fields.get("size", wheel.stat().st_size)]
        stem = wheel.stem.partition("-")[2]
        (folder / f"{stem}.http").write_bytes(pointer(value))
        (folder / stem).symlink_to(unpacked)
        (folder / f"{stem}.msgpack").write_bytes(msgpack.packb(["metadata"]))
        (folder / f"{stem}.lock").touch()
        return unpacked

    def built_by_uv(self, wheel: Path, *, revision: str = "Xn9tqkvI9zAxIcI5", told: str | None = None) -> Path:
        """Put a built wheel into uv's cache, as from an index. ``told``: the sdist's address. Returns the file."""
        distribution = distribution_of(wheel)
        version = self.uv / "sdists-v11" / "pypi" / distribution.name / distribution.version
        folder = version / revision
        (folder / "src").mkdir(parents=True)
        (folder / "src" / wheel.name).write_bytes(b"a trap: what the sdist itself holds")
        kept = folder / wheel.name
        kept.write_bytes(wheel.read_bytes())
        unpacked = self.uv / "archive-v0" / f"built-{revision}"
        with zipfile.ZipFile(wheel) as content:
            content.extractall(unpacked)
        kept.with_suffix("").symlink_to(unpacked)
        if told is not None:
            value = [revision, [{"Sha256": builders.digest("sdist").hex}], 25901]
            (version / "revision.http").write_bytes(pointer(value, POLICY + told.encode() + b"\0\0"))
        return kept

    def built_by_pip(self, wheel: Path, origin: object = None) -> Path:
        """Put a built wheel into pip's cache. Returns the file."""
        folder = self.pip / "wheels" / "65" / "8e" / "ca" / "8ac9af44d87c0227a2af6233d48b836aedfae454"
        folder.mkdir(parents=True)
        kept = folder / wheel.name
        kept.write_bytes(wheel.read_bytes())
        if origin is not None:
            (folder / "origin.json").write_text(json.dumps(origin))
        return kept


def pointer(value: object, policy: bytes = POLICY) -> bytes:
    """A ``.http`` file: the value, the policy, the value's length."""
    packed: bytes = msgpack.packb(value)
    return packed + policy + len(packed).to_bytes(8, "little")


def sha256_of(path: Path) -> Digest:
    return Digest.of(path.read_bytes())


def distribution_of(wheel: Path) -> Distribution:
    """The distribution that an installation of this wheel is."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.namelist()
        record = next(entry for entry in entries if entry.endswith(".dist-info/RECORD"))
        folder = record.partition("/")[0]
        listed, _ = read_wheel(archive.read(record), folder, entries)
    name, version = folder.removesuffix(".dist-info").split("-")
    return Distribution(
        name=name.lower().replace("_", "-"),
        version=version,
        record=listed.record,
        record_data=listed.record_data,
        folder=folder,
    )
