"""The real default index: torch's builds told apart, and real environments identified without a download."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.interpreter import Interpreters
from envguard.adapters.prober import EnvironmentProber
from envguard.adapters.provenance.index_record import IndexRecord
from envguard.adapters.provenance.local import LocalProvenance
from envguard.adapters.remote.kept import KeptWheels
from envguard.adapters.remote.reader import Wheels
from envguard.formats.index_settings import Sources
from envguard.model.digest import Digest
from envguard.model.distribution import Evidence
from envguard.model.target import Target
from envguard.operations.find import find
from envguard.operations.identify import Identification, identify
from envguard.operations.inspect import Spec, inspect_version
from envguard.planning import wheel_match
from envguard.planning.wheel_match import Wanted
from tests.fakes.index import Silence
from tests.many import EXTRA

pytestmark = [pytest.mark.online, pytest.mark.slow]

HERE = Wanted("cp312", "linux_x86_64")
TORCH = {
    "2.8.0": ("a1cb3cc05d", "12.8"),
    "2.10.0": ("449b176841", "12.8"),
    "2.11.0": ("70d99e998b", "13.0"),
    "2.13.0": ("cf30153c4c", "13.0"),
}
"""Commit and CUDA of releases, as their release tags and their wheels have them."""

SMALL = (
    *("requests", "flask", "rich", "jinja2", "httpx", "pyyaml", "click", "attrs", "tqdm", "markupsafe"),
    *("itsdangerous", "pluggy", "iniconfig", "tomlkit", "platformdirs", "filelock", "packaging", "tenacity"),
    *("wrapt", "pytz", "six", "python-dateutil", "jsonschema", "regex", "colorama"),
)
SDIST = "docopt==0.6.2"
"""Has an sdist only."""


@pytest.fixture
def index(sources: Sources) -> Iterator[SimpleIndexes]:
    with SimpleIndexes(sources) as index:
        yield index


@pytest.fixture
def reader(index: SimpleIndexes, tmp_path: Path) -> Wheels:
    return Wheels(index, progress=Silence(), kept=KeptWheels(tmp_path / "kept"))


def test_every_torch_since_2_8(index: SimpleIndexes, reader: Wheels) -> None:
    from packaging.version import Version

    offers = index.offers("torch")
    builds = [
        offer
        for offer, _ in wheel_match.builds(offers, HERE)
        if Version(offer.filename.split("-")[1]) >= Version("2.8.0")
    ]
    assert len(builds) >= 10
    for offer in builds:
        facts = reader.read(offer)
        torch = facts.content.torch
        assert torch is not None
        assert facts.cost.requests <= 8
        assert facts.cost.size <= 2_500_000
        assert (facts.sha256, facts.size) == (offer.sha256, offer.size)
        assert torch.build.startswith(facts.version)
        assert len(torch.git_commit) == 40
        assert facts.driver_floor is not None
        assert any(one.startswith("triton") for one in facts.content.requires)
        known = TORCH.get(facts.version)
        if known is not None:
            assert (torch.git_commit[:10], torch.cuda) == known
    again = reader.read(builds[0])
    assert again.cost.kept


def test_the_hash_of_a_torch_whose_bytes_are_known(index: SimpleIndexes, reader: Wheels) -> None:
    seen = inspect_version(Spec("torch", "2.11.0"), HERE, index=index, reader=reader, progress=Silence())
    (facts,) = seen.wheels
    assert facts.sha256 == Digest("0f68f4ac6d95d12e896c3b7a912b5871619542ec54d3649cf48cc1edd4dd2756")
    assert (facts.variant, facts.driver_floor) == ("cu130", "580")


def test_the_two_2_10_0_are_told_apart(index: SimpleIndexes, reader: Wheels) -> None:
    seen = inspect_version(Spec("torch", "2.10.0"), HERE, index=index, reader=reader, progress=Silence())
    assert {facts.build_tag for facts in seen.wheels} == {"", "3"}
    (compared,) = seen.compared
    assert "agree in version 2.10.0, build 2.10.0+cu128, commit 449b17684101 and variant cu128" in compared.text
    assert compared.comparison is not None
    assert compared.comparison.changed == ("torch/__init__.py", "*.dist-info/WHEEL")


def test_a_commit_is_found_in_one_version_only(index: SimpleIndexes, reader: Wheels) -> None:
    search = find(
        "torch",
        "70d99e998b",
        variant=None,
        want=HERE,
        first=False,
        index=index,
        reader=reader,
        progress=Silence(),
    )
    assert [one.wheel.version for one in search.found] == ["2.11.0"]
    assert search.searched > 20
    assert search.failures == ()
    assert search.cost.requests <= 3 * search.searched


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two projects of ours: to be installed as a folder, and editable."""
    folder = tmp_path_factory.mktemp("projects")
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "pyproject.toml").write_text(
            f'[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
            f'[project]\nname = "envguard-test-{name}"\nversion = "1"\n'
            f'[tool.setuptools]\npy-modules = ["{name}"]\n'
        )
        (folder / name / f"{name}.py").write_text("x = 1\n")
    return folder


def _environ(cache: Path) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    return {
        **kept,
        "UV_CACHE_DIR": str(cache / "uv"),
        "PIP_CACHE_DIR": str(cache / "pip"),
        "PIP_CONFIG_FILE": os.devnull,
    }


def _run(command: list[object], environ: Mapping[str, str]) -> None:
    subprocess.run([str(part) for part in command], check=True, env=environ, capture_output=True, timeout=400)


def by_uv(env: Path, cache: Path, index: str, projects: Path) -> None:
    from uv import find_uv_bin

    environ = _environ(cache)
    pip = [find_uv_bin(), "pip", "install", "-q", "--no-config", "--default-index", index, "-p", env]
    _run([find_uv_bin(), "venv", "-q", "--no-config", "-p", sys.executable, env], environ)
    _run([*pip, *SMALL, *EXTRA, SDIST, projects / "one", "-e", projects / "two"], environ)
    for bucket in cache.glob("uv/wheels-v*"):  # so that this machine knows of no index wheel
        shutil.rmtree(bucket)


def by_pip(env: Path, cache: Path, index: str, projects: Path) -> None:
    environ = _environ(cache)
    _run([sys.executable, "-m", "venv", env], environ)
    pip = [env / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-i", index]
    _run([*pip, *SMALL, *EXTRA, SDIST, projects / "one", "-e", projects / "two"], environ)


@pytest.mark.parametrize("made", [by_uv, by_pip])
def test_a_real_environment(made: object, sources: Sources, tmp_path: Path, projects: Path) -> None:
    env, cache = tmp_path / "env", tmp_path / "cache"
    made(env, cache, sources.indexes[0].address.bare, projects)  # type: ignore[operator]
    with SimpleIndexes(sources) as index:
        seen, looking = _identified(env, cache, index, tmp_path / "kept")
        listed = {
            entry.distribution.name: {offer.sha256 for offer in index.offers(entry.distribution.name)}
            for entry in seen.entries
            if entry.distribution.wheel.evidence is Evidence.INDEX_RECORD
        }
    wheels = {entry.distribution.name: entry.distribution.wheel for entry in seen.entries}
    bundled = {"pip", "setuptools"}  # of ensurepip: older than what the index's pages may still list
    assert {entry.distribution.name for entry in seen.open} <= bundled
    assert wheels["docopt"].evidence is Evidence.BUILT_FROM_SDIST
    assert "docopt-0.6.2.tar.gz sha256:" in (wheels["docopt"].sdist or "")
    assert len(listed) >= (80 if EXTRA else 25)
    assert all(wheels[name].sha256 in hashes for name, hashes in listed.items())
    assert looking.troubles() == ()
    assert looking.cost.requests <= 1.3 * looking.asked
    assert not looking.cost.downloaded
    assert looking.cost.size < (120_000_000 if EXTRA else 40_000_000)


def _identified(env: Path, cache: Path, index: SimpleIndexes, kept: Path) -> tuple[Identification, IndexRecord]:
    store = KeptWheels(kept)
    local = LocalProvenance(uv_cache=cache / "uv", pip_cache=cache / "pip")
    looking = IndexRecord(
        local, index, Wheels(index, progress=Silence(), kept=store), progress=Silence(), kept=store
    )
    prober = EnvironmentProber(interpreters=Interpreters(), environ=os.environ, working_folder=env)
    target = Target(env / "bin" / "python", "--python")
    return identify(target, prober=prober, provenance=looking, progress=Silence()), looking
