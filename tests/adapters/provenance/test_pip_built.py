"""Evidence from the wheels that pip built, and from sdists that it was told to install."""

from __future__ import annotations

import json

import pytest

from envguard.adapters.provenance.pip_built import DirectSdist, PipBuilt
from envguard.model.distribution import Evidence, Wheel
from tests.adapters.provenance.world import World, sha256_of
from tests.builders import digest

ORIGIN = {
    "archive_info": {"hashes": {"sha256": digest("sdist").hex}},
    "url": "https://example.org/packages/a2/docopt-0.6.2.tar.gz",
}


def test_the_kept_wheel_and_its_sdist(world: World) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    world.built_by_pip(wheel, ORIGIN)
    assert PipBuilt(world.pip).find(world.install(wheel)) == Wheel(
        filename=wheel.name,
        sha256=sha256_of(wheel),
        size=wheel.stat().st_size,
        evidence=Evidence.BUILT_FROM_SDIST,
        sdist=f"docopt-0.6.2.tar.gz {digest('sdist')}",
    )


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param(None, id="an older pip: no origin.json"),
        pytest.param([], id="no origin"),
        pytest.param({**ORIGIN, "archive_info": {}}, id="no sha256"),
        pytest.param({**ORIGIN, "url": "https://example.org/other-1.tar.gz"}, id="another sdist"),
    ],
)
def test_nothing_told_of_the_sdist(world: World, origin: object) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    world.built_by_pip(wheel, origin)
    found = PipBuilt(world.pip).find(world.install(wheel))
    assert found is not None
    assert found.sdist is None


def test_another_build(world: World) -> None:
    world.built_by_pip(world.wheel("docopt", "0.6.2", "x = 1\n"))
    assert PipBuilt(world.pip).find(world.install(world.wheel("docopt", "0.6.2", "x = 2\n"))) is None


def test_no_cache(world: World) -> None:
    assert PipBuilt(world.pip).find(world.install(world.wheel())) is None


def test_only_the_sdist_is_known(world: World) -> None:
    installed = world.install(world.wheel("docopt", "0.6.2"))
    assert installed.folder is not None
    (installed.folder / "direct_url.json").write_text(json.dumps(ORIGIN))
    assert DirectSdist().find(installed) == Wheel(
        evidence=Evidence.BUILT_FROM_SDIST, sdist=f"docopt-0.6.2.tar.gz {digest('sdist')}"
    )


def test_not_even_an_sdist(world: World) -> None:
    assert DirectSdist().find(world.install(world.wheel())) is None
