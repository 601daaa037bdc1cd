"""restore, with its full check, against ``uv pip sync`` of the same wheels into a new environment."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pairs import Pair
from benchmarks.place import Place


def pairs(here: Place, wheels: Path) -> Iterator[Pair]:
    """uv with an empty cache, as restore works; with a warm one, linking and copying.

    restore hashes every wheel and file and compiles all bytecode, so uv compiles too, unless it is said.
    """
    environment, lock = here.folder / "made" / "env", here.folder / "made.toml"
    pinned = here.folder / "pinned.txt"
    here.call(here.uv, "venv", "-q", "-p", sys.executable, environment)
    cache = here.folder / "uv-cache"
    install = ["--offline", "--no-index", "--find-links", wheels, "--cache-dir", cache, "-p", environment]
    here.call(here.uv, "pip", "install", "-q", *install, *sorted(wheels.glob("*.whl")))
    lines = [f"{wheel.name.split('-')[0]}=={wheel.name.split('-')[1]}" for wheel in sorted(wheels.glob("*.whl"))]
    pinned.write_text("\n".join(lines))
    here.call(
        here.tool, "snapshot", "-q", "--offline", "-o", lock, "--python", environment, "--find-links", wheels
    )
    kept = here.kept()
    target = here.folder / "restored"
    ours = [
        here.tool,
        "restore",
        "-q",
        str(lock),
        "--offline",
        "--find-links",
        str(wheels),
        "--target",
        str(target),
    ]

    def before() -> None:
        here.emptied(target)()
        kept()

    for name, empty, mode, more, goal in (
        ("empty cache", True, "hardlink", ["--compile-bytecode"], 1.25),
        ("warm cache, hardlinks", False, "hardlink", ["--compile-bytecode"], 2.5),
        ("warm cache, copies", False, "copy", ["--compile-bytecode"], 1.0),
        ("empty cache, no bytecode", True, "hardlink", [], None),
        ("warm cache, hardlinks, no bytecode", False, "hardlink", [], None),
    ):
        there = here.folder / "synced"
        sync = ["--offline", "--no-index", "--find-links", wheels, "--cache-dir", cache, *more]
        sync += ["--link-mode", mode, "-p", there, pinned]
        make = shlex.join(map(str, [here.uv, "venv", "-q", "-p", sys.executable, there]))
        fill = shlex.join(map(str, [here.uv, "pip", "sync", "-q", *sync]))
        yield Pair(
            f"restore, {len(lines)} distributions",
            ours,
            ["sh", "-c", f"{make} && {fill}"],
            f"uv pip sync, {name}",
            goal,
            before=before,
            before_peer=here.emptied(there, cache) if empty else here.emptied(there),
            most=3,
        )


def download(here: Place, folder: Path) -> None:
    """The wheels, from the default index, each once."""
    names = Path(__file__).with_name("distributions.txt")
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--dest", folder]
    here.call(sys.executable, "-m", "pip", "download", *options, "--requirement", names)
