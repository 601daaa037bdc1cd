"""Speed, side by side: each of ours in turn with its peer on one machine; ratios with spread, and peak memory.

python -m benchmarks.run --python ENVIRONMENT/bin/python [--runs 9] [GROUP ...]     (the environment is only read)
Groups: looks · keeping · restoring · caching · reading (asks the default index) · growth. All, when none is named.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import caching, growth, keeping, looks, reading, restoring
from benchmarks.pairs import Pair, heading, measure
from benchmarks.place import Place, place

GROUPS = ("looks", "keeping", "restoring", "caching", "reading", "growth")


def main() -> int:
    """Print a table a group."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--python", type=Path, required=True, help="interpreter of a real environment with torch")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument(
        "--wheels", type=Path, help="folder of wheels to restore from (default: they are downloaded)"
    )
    parser.add_argument("--large", action="store_true", help="growth up to a million files")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"no group is called {sorted(unknown)[0]}; they are {', '.join(GROUPS)}")
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with (
        tempfile.TemporaryDirectory(prefix="envguard-bench-") as name,
        place(Path(name).resolve(), options.python.absolute()) as here,
    ):
        print(f"{sum(len(files) for _, _, files in os.walk(here.site)):,} files, runs interleaved")
        for group in options.groups or GROUPS:
            _group(here, group, options)
    return 0


def _group(here: Place, group: str, options: argparse.Namespace) -> None:
    if group == "growth":
        growth.table(here, large=options.large)
        return
    print(f"\n{group}")
    heading()
    for pair in _pairs(here, group, options.wheels):
        measure(pair, options.runs)


def _pairs(here: Place, group: str, wheels: Path | None) -> Iterable[Pair]:
    if group == "restoring":
        if wheels is None:
            wheels = here.folder / "wheels"
            restoring.download(here, wheels)
        return restoring.pairs(here, wheels.absolute())
    groups: dict[str, Callable[[Place], Iterable[Pair]]] = {
        "looks": looks.pairs,
        "keeping": keeping.pairs,
        "caching": caching.pairs,
        "reading": reading.pairs,
    }
    return groups[group](here)


if __name__ == "__main__":
    sys.exit(main())
