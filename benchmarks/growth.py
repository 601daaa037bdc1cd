"""How verify and snapshot grow: with distributions, and with files. Environments of small toy distributions."""

from __future__ import annotations

import base64
import hashlib
import shutil
import sys
from pathlib import Path

from benchmarks.pairs import once
from benchmarks.place import Place

SHAPES = ((10, 1_000), (100, 1_000), (1_000, 100), (100, 100), (100, 10_000))
"""Distributions, and files in each."""


def table(here: Place, *, large: bool) -> None:
    """One line a shape: seconds, and the largest resident set."""
    print(
        f"\n{'distributions':>14}{'files':>11}{'snapshot s':>12}{'first s':>9}{'warm s':>8}{'full s':>8}{'MB':>7}"
    )
    for distributions, files in SHAPES:
        if distributions * files > 200_000 and not large:
            continue
        folder = here.folder / "grown"
        python = _environment(here, folder / "env", distributions, files)
        lock = folder / "grown.toml"
        verify = [here.tool, "verify", "-q", str(lock), "--python", str(python)]
        snapshot = once([here.tool, "snapshot", "-q", "--offline", "-o", str(lock), "--python", str(python)])
        here.emptied(here.own("CACHE"))()
        first = once(verify)
        once(verify)
        warm = min((once(verify) for _ in range(3)), key=lambda time: time.seconds)
        full = once([*verify, "--full"])
        peak = max(time.peak for time in (snapshot, first, warm, full))
        print(
            f"{distributions:>14,}{distributions * files:>11,}{snapshot.seconds:>12.2f}{first.seconds:>9.2f}"
            f"{warm.seconds:>8.2f}{full.seconds:>8.2f}{peak:>7.0f}",
            flush=True,
        )
        shutil.rmtree(folder)
        here.emptied(here.own("DATA"), here.own("CACHE"))()


def _environment(here: Place, folder: Path, distributions: int, files: int) -> Path:
    here.call(here.uv, "venv", "-q", "-p", sys.executable, folder)
    (site,) = folder.glob("lib/python*/site-packages")
    for number in range(distributions):
        _distribution(site, f"toy{number}", files)
    return folder / "bin" / "python"


def _distribution(site: Path, name: str, files: int) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    rows = []
    for part in range((files + 99) // 100):
        folder = site / name / f"part{part}"
        folder.mkdir(parents=True)
        for number in range(min(100, files - 100 * part)):
            content = f"{name} {part} {number}\n".encode() * 4
            (folder / f"m{number}.txt").write_bytes(content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append(f"{name}/part{part}/m{number}.txt,sha256={digest},{len(content)}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    (info / "INSTALLER").write_text("uv")
    names = ("METADATA", "WHEEL", "INSTALLER", "RECORD")
    rows += [f"{info.name}/{file},,\n" for file in names]
    (info / "RECORD").write_text("".join(rows))
