"""Starting, verify, lint: what runs at every commit and before every start."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pairs import Pair
from benchmarks.place import Place
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
TWO_THREADS = """
import hashlib, pathlib, sys
from concurrent.futures import ThreadPoolExecutor
def digest(path):
    with open(path, "rb") as stream: return hashlib.file_digest(stream, "sha256").digest()
files = [path for path in pathlib.Path(sys.argv[1]).rglob("*") if path.is_file() and path.suffix != ".pyc"]
files.sort(key=lambda path: -path.stat().st_size)
with ThreadPoolExecutor(2) as pool: list(pool.map(digest, files))
"""
BARE = [sys.executable, "-I", "-c", "pass"]


def pairs(here: Place) -> Iterator[Pair]:
    """Those that take less than a second, then those that read every byte."""
    python = str(here.python)
    verify = [here.tool, "verify", "-q", str(here.lock), "--python", python]
    pip = [sys.executable, "-m", "pip", "--python", python]
    status = [*tree_in_git(here.folder / "git", here.site), "status", "--porcelain"]
    yield Pair("--version", [here.tool, "--version"], BARE, "python -I -c pass", 2.5)
    yield Pair("--help", [here.tool, "--help"], BARE, "python -I -c pass", 3.5)
    yield Pair("verify, warm", verify, status, "git status", 4.0)
    code = Path(__file__).resolve().parents[1]
    yield Pair("verify, warm, its code in git", verify, status, "git status", None, code)
    yield Pair("verify, warm", verify, [*pip, "inspect"], "pip inspect", 0.5)
    yield Pair("verify, warm", verify, [*pip, "check"], "pip check", 1.0)
    metadata = [*verify, "--metadata"]
    yield Pair("verify --metadata", metadata, [here.uv, "pip", "check", "--python", python], "uv pip check")
    yield _sync_check(here, metadata)
    yield _lint(here)
    full = [*verify, "--full"]
    loop = [python, "-c", RECORD_LOOP, str(here.site)]
    yield Pair("verify --full", full, loop, "RECORD loop of 20 lines", 0.7, most=5)
    threads = [sys.executable, "-c", TWO_THREADS, str(here.site)]
    yield Pair("verify --full", full, threads, "hashlib, two threads, the same files", 1.18, most=5)


def tree_in_git(folder: Path, site: Path) -> list[str]:
    """The target's files committed to a repository elsewhere; the beginning of a git command on it."""
    git = ["git", f"--git-dir={folder}", f"--work-tree={site}", "-c", "core.fsmonitor=false"]
    subprocess.run(["git", "init", "-q", "--bare", folder], check=True)
    subprocess.run([*git, "config", "core.bare", "false"], check=True)
    subprocess.run([*git, "config", "maintenance.auto", "false"], check=True)  # it would run beside what is timed
    subprocess.run([*git, "add", "-A"], check=True, cwd=site)
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
    subprocess.run([*git, *who, "commit", "-q", "-m", "tree"], check=True, cwd=site)
    return git


def _sync_check(here: Place, metadata: list[str]) -> Pair:
    """A project whose lock is empty, and the target as its environment: uv reads every dist-info folder."""
    project = here.folder / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.9"\n')
    prefix = here.python.parent.parent
    uv = ["env", f"UV_PROJECT_ENVIRONMENT={prefix}", here.uv, "--project", str(project), "--offline"]
    here.call(*uv, "lock", "-q")
    peer = [*uv, "sync", "-q", "--check", "--frozen", "--inexact"]
    return Pair("verify --metadata", metadata, peer, "uv sync --check --frozen", 3.5)


def _lint(here: Place) -> Pair:
    """A lock of 300 distributions."""
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
    file = here.folder / "lint" / "lockfiles" / "lint.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(write_lock(Lock("lint", Facts(distributions=Value(entries)))))
    parse = "import sys, tomllib; tomllib.load(open(sys.argv[1], 'rb'))"
    peer = [sys.executable, "-I", "-c", parse, str(file)]
    return Pair("lint, 300 distributions", [here.tool, "lint", "-q", str(file)], peer, "tomllib.load alone", 3.0)
