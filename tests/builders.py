"""Facts and wheels for tests: a good whole, of which a case changes one thing."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.facts import (
    Code,
    Cpu,
    Facts,
    Interpreter,
    TorchBuild,
    Variable,
    VariableKind,
    Variables,
)
from envguard.model.observed import Absent, Value


def digest(seed: str) -> Digest:
    """A digest that stands for something."""
    return Digest.of(seed.encode())


COMMIT = "70d99e998b4955e0049d13a98d77ae1b14db1f45"


def torch_build(**changes: Any) -> TorchBuild:
    """torch 2.11.0+cu130."""
    whole = TorchBuild(
        version="2.11.0",
        build="2.11.0+cu130",
        git_commit=COMMIT,
        variant="cu130",
        cuda="13.0",
        requires=("triton==3.6.0",),
        needs=("libcudart.so.13",),
    )
    return replace(whole, **changes)


def distribution(name: str = "requests", version: str = "2.32.3", **changes: Any) -> Distribution:
    """An installed distribution with fingerprints made from its name and version."""
    whole = Distribution(name=name, version=version, record=digest(f"{name}-{version}"), installer="uv")
    return replace(whole, **changes)


def facts(**sections: Any) -> Facts:
    """A small good environment on a machine without a GPU; ``sections`` replace whole sections."""
    whole = Facts(
        interpreter=Value(
            Interpreter(
                "cpython",
                "3.12.3",
                "main, GCC 13.2.0",
                "cpython-312-x86_64-linux-gnu",
                "linux_x86_64",
                "glibc 2.39",
            )
        ),
        torch=Value(torch_build()),
        driver=Absent(),
        gpus=Absent(),
        cpu=Value(Cpu("x86_64", "a processor", ("avx2", "avx512f"))),
        variables=Value(Variables("shell", (Variable("OMP_NUM_THREADS", VariableKind.KEY, "8"),))),
        code=Value(Code("0" * 40)),
        distributions=Value((distribution(), distribution("torch", "2.11.0"), distribution("triton", "3.6.0"))),
        files=Value(()),
        shared=Value(()),
        shadows=Value(()),
    )
    return replace(whole, **sections)


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes | str],
    *,
    tag: str = "py3-none-any",
    build: str | None = None,
    metadata: str = "",
    entry_points: str | None = None,
    modes: Mapping[str, int] | None = None,
    record: str | None = None,
) -> Path:
    """Write a real wheel file: ``files`` by their path in the zip; ``record`` replaces the right RECORD."""
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    whole = {path: content.encode() if isinstance(content, str) else content for path, content in files.items()}
    whole[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{metadata}".encode()
    tags = [
        f"Tag: {python}-{abi}-{platform}"
        for python, abi, platform in [tag.split("-")]
        for python in python.split(".")
    ]
    lines = ["Wheel-Version: 1.0", "Generator: tests", "Root-Is-Purelib: true", *tags]
    whole[f"{info}/WHEEL"] = "\n".join([*lines, *([f"Build: {build}"] if build else []), ""]).encode()
    if entry_points is not None:
        whole[f"{info}/entry_points.txt"] = entry_points.encode()
    rows = [
        f"{_quoted(path)},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
        f"{len(content)}"
        for path, content in whole.items()
    ]
    text = record if record is not None else "\n".join([*rows, f"{info}/RECORD,,", ""])
    whole[f"{info}/RECORD"] = text.encode("utf-8", "surrogateescape")
    file = folder / f"{stem}-{version}{f'-{build}' if build else ''}-{tag}.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in whole.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = ((modes or {}).get(path, 0o644) | 0o100000) << 16
            archive.writestr(entry, content)
    return file


def _quoted(path: str) -> str:
    return '"{}"'.format(path.replace('"', '""')) if "," in path or '"' in path else path
