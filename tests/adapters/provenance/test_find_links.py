"""Evidence from wheel files at hand."""

from __future__ import annotations

import json
import os

import pytest

from envguard.adapters.provenance.find_links import FindLinks
from envguard.model.distribution import Evidence, Wheel
from tests.adapters.provenance.world import World, sha256_of


def test_a_file_with_the_same_record(world: World) -> None:
    wheel = world.wheel()
    assert FindLinks([wheel.parent]).find(world.install(wheel)) == Wheel(
        filename=wheel.name,
        sha256=sha256_of(wheel),
        size=wheel.stat().st_size,
        evidence=Evidence.FIND_LINKS,
    )


def test_the_right_one_of_two_builds(world: World) -> None:
    one = world.wheel("torch", "2.10.0", "build = 1\n")
    three = world.wheel("torch", "2.10.0", "build = 3\n", build="3")
    found = FindLinks([one.parent, three.parent]).find(world.install(three))
    assert found is not None
    assert found.filename == three.name


def test_the_path_that_was_installed(world: World) -> None:
    """uv writes no hash to ``direct_url.json``, but the file may still be there."""
    wheel = world.wheel()
    installed = world.install(wheel)
    assert installed.folder is not None
    (installed.folder / "direct_url.json").write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))
    found = FindLinks([]).find(installed)
    assert found is not None
    assert found.sha256 == sha256_of(wheel)


def test_that_path_holds_another_wheel_now(world: World) -> None:
    wheel, other = world.wheel(), world.wheel(code="x = 2\n")
    installed = world.install(wheel)
    assert installed.folder is not None
    (installed.folder / "direct_url.json").write_text(json.dumps({"url": other.as_uri(), "archive_info": {}}))
    assert FindLinks([]).find(installed) is None


def test_no_record_to_compare(world: World) -> None:
    wheel = world.wheel()
    assert FindLinks([wheel.parent]).find(world.install(wheel, record=None)) is None


@pytest.mark.parametrize("harm", ["missing", "a folder", "a pipe", "empty", "cut"])
def test_what_is_no_wheel_file(world: World, harm: str) -> None:
    wheel = world.wheel()
    installed = world.install(wheel)
    content = wheel.read_bytes()
    clue = FindLinks([wheel.parent, wheel.parent / "none"])
    wheel.unlink()
    if harm == "a folder":
        wheel.mkdir()
    elif harm == "a pipe":
        os.mkfifo(wheel)
    elif harm != "missing":
        wheel.write_bytes(content[:-40] if harm == "cut" else b"")
    assert clue.find(installed) is None
