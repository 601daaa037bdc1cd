"""The same distributions, however they were installed, are the same environment: no false alarm.

Real distributions, chosen for what installers treat specially.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from envguard.checks import compare
from envguard.model.drift import Outcome, Result
from envguard.model.facts import Facts
from envguard.model.observed import Value
from envguard.model.policy import Policy
from envguard.model.target import Level, Target
from tests.installs import Installs, python_of, site_of

pytestmark = [pytest.mark.online, pytest.mark.slow]

DISTRIBUTIONS = (
    "numpy",  # compiled modules; a console script
    "pyyaml",  # a compiled module; two packages
    "rich",  # pure
    "setuptools<81",  # a .pth file; vendored dist-info folders
    "pip",  # launchers that its entry points don't name
    "greenlet",  # headers
    "ninja",  # an executable in bin
    "jmespath",  # a script with a Python shebang
    "docutils<0.21",  # many such scripts
    "numba",  # one that declares its coding, for which uv writes another start
    "tqdm",  # a console script; a man page
    "jupyterlab-widgets",  # data below share
    "widgetsnbextension",  # data below etc
    "nvidia-nvtx-cu12",  # a namespace folder; headers and a library of CUDA
    "markdown-it-py",  # a console script
)

LONG = "a-folder-with-a-name-so-long-that-no-shebang-can-hold-the-path-of-its-interpreter-" * 2


def _hardlink(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv("uv-hardlink")
    installs.uv_install(environment, "--link-mode", "hardlink", "--no-deps", "-r", requirements)
    return environment


def _copy(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv(f"{LONG}/uv-copy")
    installs.uv_install(environment, "--link-mode", "copy", "--no-deps", "-r", requirements)
    return environment


def _symlink(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv("uv-symlink")
    installs.uv_install(environment, "--link-mode", "symlink", "--no-deps", "-r", requirements)
    assert (site_of(environment) / "numpy" / "version.py").is_symlink()
    return environment


def _relocated(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv("uv-relocatable", "--relocatable")
    installs.uv_install(environment, "--no-deps", "-r", requirements)
    return environment.rename(environment.with_name("uv-relocated"))


def _compiled(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv("uv-compiled")
    installs.uv_install(environment, "--compile-bytecode", "--no-deps", "-r", requirements)
    return environment


def _pip(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv("pip")
    installs.pip_install(environment, "--compile", "--no-deps", "-r", requirements)
    return environment


def _pip_not_compiled(installs: Installs, requirements: Path) -> Path:
    environment = installs.venv("pip-not-compiled")
    installs.pip_install(environment, "--no-compile", "--no-deps", "-r", requirements)
    return environment


WAYS: dict[str, Callable[[Installs, Path], Path]] = {
    "uv hardlink": _hardlink,
    "uv copy, long path": _copy,
    "uv symlink": _symlink,
    "uv relocatable, moved": _relocated,
    "uv compiled": _compiled,
    "pip compiled": _pip,
    "pip not compiled": _pip_not_compiled,
}


@pytest.fixture(scope="module")
def installs(tmp_path_factory: pytest.TempPathFactory) -> Installs:
    return Installs(tmp_path_factory.mktemp("false-alarms"))


@pytest.fixture(scope="module")
def requirements(installs: Installs) -> Path:
    """One version of each, the same for every environment."""
    asked, pinned = installs.root / "requirements.in", installs.root / "requirements.txt"
    asked.write_text("\n".join(DISTRIBUTIONS))
    installs.uv(
        "pip",
        "compile",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--python",
        sys.executable,
        asked,
        "--output-file",
        pinned,
    )
    return pinned


@pytest.fixture(scope="module")
def environments(installs: Installs, requirements: Path) -> dict[str, Path]:
    return {way: install(installs, requirements) for way, install in WAYS.items()}


def _look(environment: Path, folder: Path, level: Level = Level.FULL) -> Facts:
    from envguard.adapters.interpreter import Interpreters
    from envguard.adapters.prober import EnvironmentProber

    prober = EnvironmentProber(interpreters=Interpreters(folder), environ=os.environ, working_folder=folder)
    target = Target(python_of(environment), "test")
    return prober.facts(target, level, baseline=lambda name: None, progress=_Silent())


class _Silent:
    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        pass


@pytest.fixture(scope="module")
def facts(environments: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Facts]:
    return {way: _look(environment, tmp_path_factory.mktemp("look")) for way, environment in environments.items()}


def _told(results: tuple[Result, ...]) -> Iterator[str]:
    """Every finding, and every check that could not look."""
    for result in results:
        if result.outcome is Outcome.UNKNOWN and result.check not in ("driver", "gpus"):
            yield f"{result.check} unknown: {result.reason}"
        for finding in result.findings:
            difference = f"{finding.recorded} → {finding.observed} {finding.detail or ''}"
            yield f"{result.check} {finding.severity.value}: {finding.subject} {difference}"


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [pytest.param(*pair, id=" → ".join(pair)) for pair in itertools.permutations(WAYS, 2)],
)
def test_no_finding_between_two_ways(facts: dict[str, Facts], recorded: str, observed: str) -> None:
    results = compare(facts[recorded], facts[observed], Policy(), date(2026, 1, 1))
    assert list(_told(results)) == []


@pytest.mark.parametrize("way", WAYS)
def test_everything_was_looked_at(facts: dict[str, Facts], way: str) -> None:
    seen = facts[way]
    assert isinstance(seen.distributions, Value)
    assert len(seen.distributions.value) == len(DISTRIBUTIONS)
    assert all(entry.record for entry in seen.distributions.value)
    assert seen.files_seen > 2000
    assert isinstance(seen.files, Value)
    assert {fact.kind.value for fact in seen.files.value} >= {"startup", "script", "header"}


@pytest.mark.parametrize(
    "file",
    [
        pytest.param("site/numpy/version.py", id="library"),
        pytest.param("site/distutils-precedence.pth", id="startup code"),
        pytest.param("bin/jp.py", id="script"),
        pytest.param("bin/ninja", id="executable"),
        pytest.param("etc/jupyter/nbconfig/notebook.d/widgetsnbextension.json", id="data"),
    ],
)
@pytest.mark.parametrize("way", ["uv copy, long path", "pip compiled"])
def test_a_change_is_seen(
    environments: dict[str, Path], facts: dict[str, Facts], way: str, file: str, tmp_path: Path
) -> None:
    """Silence above means something: the same comparison tells of one changed byte."""
    environment = environments[way]
    path = site_of(environment) / file[5:] if file.startswith("site/") else environment / file
    original = path.read_bytes()
    path.write_bytes(original + b"#")
    try:
        results = compare(facts["uv hardlink"], _look(environment, tmp_path), Policy(), date(2026, 1, 1))
    finally:
        path.write_bytes(original)
    drifted = [result for result in results if result.outcome is Outcome.DRIFT]
    assert any(path.name in (finding.subject or "") for result in drifted for finding in result.findings)
