"""Evidence that today's uv and pip leave: their private formats, read from real installations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from email.parser import HeaderParser
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from envguard.adapters.provenance import LocalProvenance
from envguard.formats.record import read_installed
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.target import Layout
from tests.adapters.provenance.world import sha256_of
from tests.installs import Installs, python_of, site_of

pytestmark = [pytest.mark.online, pytest.mark.slow]

SDIST = "docopt-0.6.2.tar.gz sha256:49b3a825280bd66b3aa83585ef59c4a8c82f2c8a522dbe754a8bc8d08c85c491"
IDNA = "946d195a0d259cbba61165e88e65941f16e9b36ea6ddb97f00452bae8b1287d3"


@pytest.fixture(scope="module")
def installs(tmp_path_factory: pytest.TempPathFactory) -> Installs:
    return Installs(tmp_path_factory.mktemp("installs"))


def _wheels(installs: Installs, environment: Path, *find_links: Path) -> Mapping[str, Wheel]:
    site = site_of(environment)
    layout = Layout(
        python=python_of(environment),
        prefix=environment,
        base_prefix=Path("/usr"),
        libraries=(site,),
        scripts=environment / "bin",
        headers=environment / "include",
        path=(),
        is_venv=True,
        system_site=False,
    )
    provenance = LocalProvenance(find_links=find_links, uv_cache=installs.uv_cache, pip_cache=installs.pip_cache)
    return provenance.wheels(layout, [_distribution(layout, folder) for folder in site.glob("*.dist-info")])


def _distribution(layout: Layout, folder: Path) -> Distribution:
    headers = HeaderParser().parsestr((folder / "METADATA").read_text())
    listing = read_installed(
        (folder / "RECORD").read_bytes(),
        folder.name,
        site=str(folder.parent),
        prefix=str(layout.prefix),
        scripts=str(layout.scripts),
        headers=str(layout.headers),
    )
    return Distribution(
        name=canonicalize_name(headers["Name"]),
        version=headers["Version"],
        record=listing.record,
        record_data=listing.record_data,
        folder=folder.name,
    )


@pytest.mark.parametrize("mode", ["hardlink", "copy", "symlink"])
def test_uv_from_the_index(installs: Installs, mode: str) -> None:
    environment = installs.venv(f"uv-{mode}")
    installs.uv_install(environment, "--link-mode", mode, "idna==3.10", "markdown-it-py==3.0.0")
    wheels = _wheels(installs, environment)
    assert set(wheels) == {"idna", "markdown-it-py", "mdurl"}
    assert {(wheel.evidence, wheel.index) for wheel in wheels.values()} == {(Evidence.UV_CACHE, "default")}
    assert wheels["idna"].sha256 is not None
    assert (wheels["idna"].sha256.hex, wheels["idna"].size) == (IDNA, 70442)


def test_pip_by_uvs_cache(installs: Installs) -> None:
    one, other = installs.venv("known"), installs.venv("pip")
    installs.uv_install(one, "idna==3.10")
    installs.pip_install(other, "idna==3.10")
    wheel = _wheels(installs, other)["idna"]
    assert wheel.sha256 is not None
    assert (wheel.evidence, wheel.sha256.hex) == (Evidence.UV_CACHE, IDNA)


def test_uv_builds_an_sdist(installs: Installs) -> None:
    environment = installs.venv("uv-sdist")
    installs.uv_install(environment, "--no-binary", "docopt", "docopt==0.6.2")
    wheel = _wheels(installs, environment)["docopt"]
    (kept,) = installs.uv_cache.glob("sdists-v*/pypi/docopt/0.6.2/*/docopt-0.6.2-*.whl")
    assert wheel == Wheel(
        filename=kept.name,
        sha256=sha256_of(kept),
        size=kept.stat().st_size,
        evidence=Evidence.BUILT_FROM_SDIST,
        sdist=SDIST,
    )


def test_pip_builds_an_sdist(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    environment = installs.venv("pip-sdist")
    installs.pip_install(environment, "--no-binary", "docopt", "docopt==0.6.2")
    wheel = _wheels(installs, environment)["docopt"]
    (kept,) = installs.pip_cache.glob("wheels/*/*/*/*/docopt-0.6.2-*.whl")
    assert (wheel.evidence, wheel.sha256, wheel.sdist) == (Evidence.BUILT_FROM_SDIST, sha256_of(kept), SDIST)


def test_a_file_by_its_path(installs: Installs, tmp_path: Path) -> None:
    installs.uv_install(installs.venv("first"), "idna==3.10")
    installs.pip_download(tmp_path, "--no-deps", "idna==3.10")
    (file,) = tmp_path.glob("idna-*.whl")
    by_uv, by_pip, by_folder = installs.venv("path-uv"), installs.venv("path-pip"), installs.venv("folder-uv")
    installs.uv_install(by_uv, file)
    installs.pip_install(by_pip, file)
    installs.uv_install(by_folder, "--no-index", "--find-links", tmp_path, "idna")
    expected = Wheel(filename=file.name, sha256=sha256_of(file), size=70442, evidence=Evidence.FIND_LINKS)
    alone = replace(installs, root=tmp_path / "no caches")
    assert _wheels(alone, by_uv)["idna"] == expected
    assert _wheels(alone, by_folder, tmp_path)["idna"] == expected
    assert _wheels(alone, by_pip)["idna"] == replace(expected, size=None, evidence=Evidence.DIRECT_URL)
