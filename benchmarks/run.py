"""Speed, side by side: each of ours runs in turn with its peer on one machine, and ratios are printed.

python benchmarks/run.py --python ENVIRONMENT [--runs 9]     (it is only read)
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from envguard.formats.lockfile import write_lock
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value

RECORD_LOOP = """
import base64, csv, hashlib, pathlib, sys
site = pathlib.Path(sys.argv[1])
for record in site.glob("*.dist-info/RECORD"):
    for path, digest, _ in csv.reader(record.open(newline="")):
        if digest:
            algorithm, value = digest.split("=", 1)
            got = hashlib.new(algorithm, (site / path).read_bytes()).digest()
            base64.urlsafe_b64encode(got).rstrip(b"=").decode() == value or print("differs", path)
"""


@dataclass(frozen=True)
class Pair:
    """Ours against a peer, and the ratio that we want to stay below."""

    name: str
    ours: Sequence[str]
    peer: Sequence[str]
    peer_name: str
    goal: float
    folder: Path | None = None
    """Where ours runs; None: a folder that is no repository, so that both look at the environment alone."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="interpreter of a real environment")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--slow", action="store_true", help="also those that take seconds a run")
    options = parser.parse_args()
    python = options.python.absolute()
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    tool = Path(sysconfig.get_path("scripts")) / "envguard"
    with tempfile.TemporaryDirectory(prefix="envguard-bench-") as name:
        folder = Path(name)
        lock = folder / "bench.toml"
        for kind in ("DATA", "CACHE", "STATE"):
            os.environ[f"ENVGUARD_{kind}_DIR"] = str(folder / kind.lower())
        subprocess.run([tool, "snapshot", "-q", "-o", lock, "--python", python], check=True)
        git = _tree_in_git(folder / "git", site)
        os.chdir(folder)
        print(f"{sum(len(files) for _, _, files in os.walk(site)):,} files, {options.runs} runs, interleaved\n")
        print(f"{'ours':<28}{'peer':<34}{'ours s':>8}{'peer s':>8}{'ratio':>7}{'spread':>14}  goal")
        for pair in _pairs(tool, python, site, lock, git, slow=options.slow):
            _measure(pair, 3 if "--full" in pair.ours else options.runs)
    return 0


def _pairs(tool: Path, python: Path, site: Path, lock: Path, git: list[str], *, slow: bool) -> list[Pair]:
    verify = [str(tool), "verify", "-q", str(lock), "--python", str(python)]
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    uv = str(Path(sysconfig.get_path("scripts")) / "uv")
    uv_check = [uv, "pip", "check", "--python", str(python)]
    bare = [sys.executable, "-I", "-c", "pass"]
    pairs = [
        Pair("--version", [str(tool), "--version"], bare, "python -I -c pass", 2.5),
        Pair("--help", [str(tool), "--help"], bare, "python -I -c pass", 3.5),
        Pair("verify (warm)", verify, [*git, "status", "--porcelain"], "git status", 4.0),
        Pair(
            "verify, and the code in git",
            verify,
            [*git, "status", "--porcelain"],
            "git status",
            4.0,
            Path(__file__).resolve().parents[1],
        ),
        Pair("verify (warm)", verify, [*pip, "inspect"], "pip inspect", 0.5),
        Pair("verify (warm)", verify, [*pip, "check"], "pip check", 1.0),
        Pair("verify --metadata", [*verify, "--metadata"], uv_check, "uv pip check (metadata)", 3.5),
        _lint(tool, lock.parent / "lint"),
    ]
    if slow:
        loop = [str(python), "-c", RECORD_LOOP, str(site)]
        pairs.append(Pair("verify --full", [*verify, "--full"], loop, "RECORD loop, 20 lines", 1.0))
    return pairs


def _lint(tool: Path, folder: Path) -> Pair:
    """A lock of 300 distributions; the goal that counts is 0.150 s of ours."""
    entries = tuple(
        Distribution(
            f"name-{number:03}",
            "1.2.3",
            record=Digest.of(f"record {number}".encode()),
            rows=Digest.of(f"rows {number}".encode()),
            wheel=Wheel(
                f"name_{number:03}-1.2.3-py3-none-any.whl",
                Digest.of(f"wheel {number}".encode()),
                None,
                number,
                "default",
                Evidence.UV_CACHE,
            ),
        )
        for number in range(300)
    )
    file = folder / "lockfiles" / "lint.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(write_lock(Lock("lint", Facts(distributions=Value(entries)))))
    parse = "import sys, tomllib; tomllib.load(open(sys.argv[1], 'rb'))"
    peer = [sys.executable, "-I", "-c", parse, str(file)]
    return Pair(
        "lint, 300 distributions", [str(tool), "lint", "-q", str(file)], peer, "python -I, tomllib.load", 3.0
    )


def _tree_in_git(folder: Path, site: Path) -> list[str]:
    git = ["git", f"--git-dir={folder}", f"--work-tree={site}", "-c", "core.fsmonitor=false"]
    subprocess.run(["git", "init", "-q", "--bare", folder], check=True)
    subprocess.run([*git, "config", "core.bare", "false"], check=True)
    subprocess.run([*git, "config", "maintenance.auto", "false"], check=True)  # it would run beside what is timed
    subprocess.run([*git, "add", "-A"], check=True, cwd=site)
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
    subprocess.run([*git, *who, "commit", "-q", "-m", "tree"], check=True, cwd=site)
    return git


def _measure(pair: Pair, runs: int) -> None:
    _once(pair.ours, pair.folder), _once(pair.peer)
    times = [(_once(pair.ours, pair.folder), _once(pair.peer)) for _ in range(runs)]
    ratios = sorted(ours / peer for ours, peer in times)
    ours, peer = (statistics.median(column) for column in zip(*times, strict=True))
    spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
    ratio = statistics.median(ratios)
    met = "met" if ratio <= pair.goal else "NOT met"
    print(
        f"{pair.name:<28}{pair.peer_name:<34}{ours:>8.3f}{peer:>8.3f}{ratio:>7.2f}{spread:>14}",
        f" ≤{pair.goal:g} {met}",
        flush=True,
    )


def _once(command: Sequence[str], folder: Path | None = None) -> float:
    started = perf_counter()
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = perf_counter() - started
    if ended.returncode not in (0, 4):
        sys.exit(f"{command}: exit {ended.returncode}\n{ended.stderr.decode()}")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
