"""Evidence from the wheels that uv built."""

from __future__ import annotations

import zipfile

import pytest

from envguard.adapters.provenance.uv_built import UvBuilt
from envguard.model.distribution import Evidence, Wheel
from tests.adapters.provenance.world import World, sha256_of
from tests.builders import digest

ADDRESS = "https://example.org/packages/a2/docopt-0.6.2.tar.gz"


def test_the_kept_wheel_and_its_sdist(world: World) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    world.built_by_uv(wheel, told=ADDRESS)
    assert UvBuilt(world.uv).find(world.install(wheel)) == Wheel(
        filename=wheel.name,
        sha256=sha256_of(wheel),
        size=wheel.stat().st_size,
        evidence=Evidence.BUILT_FROM_SDIST,
        sdist=f"docopt-0.6.2.tar.gz {digest('sdist')}",
    )


@pytest.mark.parametrize(
    ("address", "sdist"),
    [
        pytest.param(None, None, id="from a path: nothing told"),
        pytest.param("https://example.org/archive", str(digest("sdist")), id="no filename in the address"),
        pytest.param("https://example.org/x-1.tar.gz", str(digest("sdist")), id="another sdist's filename"),
    ],
)
def test_what_is_told_of_the_sdist(world: World, address: str | None, sdist: str | None) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    world.built_by_uv(wheel, told=address)
    found = UvBuilt(world.uv).find(world.install(wheel))
    assert found is not None
    assert found.sdist == sdist


def test_a_wheel_of_an_older_revision_has_another_sdist(world: World) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    kept = world.built_by_uv(wheel, told=ADDRESS)
    kept.parent.rename(kept.parent.with_name("older"))
    found = UvBuilt(world.uv).find(world.install(wheel))
    assert found is not None
    assert found.sdist is None


@pytest.mark.parametrize("record", [True, False], ids=["RECORD", "no RECORD"])
def test_the_linked_one_of_two_equal_builds(world: World, record: bool) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    world.built_by_uv(wheel, revision="a")
    kept = world.built_by_uv(wheel, revision="b")
    with zipfile.ZipFile(kept, "a") as archive:
        archive.comment = b"other bytes, equal RECORD"
    installed = world.install(wheel, linked_to=kept.with_suffix(""), **({} if record else {"record": None}))
    found = UvBuilt(world.uv).find(installed)
    assert found is not None
    assert found.sha256 == sha256_of(kept) != sha256_of(wheel)


def test_unpacked_folder_pruned(world: World) -> None:
    """``uv cache prune --ci`` leaves the built wheels alone."""
    wheel = world.wheel("docopt", "0.6.2")
    kept = world.built_by_uv(wheel)
    kept.with_suffix("").unlink()
    assert UvBuilt(world.uv).find(world.install(wheel)) is not None


def test_another_build(world: World) -> None:
    world.built_by_uv(world.wheel("docopt", "0.6.2", "x = 1\n"))
    assert UvBuilt(world.uv).find(world.install(world.wheel("docopt", "0.6.2", "x = 2\n"))) is None


def test_editable_wheels_are_no_wheels(world: World) -> None:
    wheel = world.wheel("docopt", "0.6.2")
    world.built_by_uv(wheel)
    (world.uv / "sdists-v11" / "pypi").rename(world.uv / "sdists-v11" / "editable")
    assert UvBuilt(world.uv).find(world.install(wheel)) is None
