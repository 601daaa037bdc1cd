"""inspect of a wheel that lies on an index, against downloading it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.pairs import Pair
from benchmarks.place import Place

WHEELS = ("numpy==2.3.4", "scipy==1.16.2", "torch==2.9.1")


def pairs(here: Place) -> Iterator[Pair]:
    """Small, middling, and hundreds of megabytes; nothing kept from run to run."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--no-deps",
    ]
    folder = here.folder / "downloaded"
    for wheel in WHEELS:
        yield Pair(
            f"inspect {wheel}",
            [here.tool, "inspect", wheel],
            [*pip, "--only-binary", ":all:", "--dest", str(folder), wheel],
            f"pip download {wheel}",
            before=here.emptied(here.own("CACHE")),
            before_peer=here.emptied(folder),
            most=1 if wheel.startswith("torch") else 3,
        )
