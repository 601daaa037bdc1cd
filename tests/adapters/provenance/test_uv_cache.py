"""Evidence from uv's cache of downloaded wheels."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest

from envguard.adapters.provenance.uv_cache import UvCache
from envguard.model.distribution import Evidence, Wheel
from tests.adapters.provenance.world import World, sha256_of
from tests.builders import digest


def test_by_equal_record(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel)
    assert UvCache(world.uv).find(world.install(wheel)) == Wheel(
        filename=wheel.name,
        sha256=sha256_of(wheel),
        size=wheel.stat().st_size,
        index="default",
        evidence=Evidence.UV_CACHE,
    )


@pytest.mark.parametrize("place", ["index/34962345ac6cebbc", "url/092b06dd4ea22542"])
def test_an_index_that_has_no_name_here(world: World, place: str) -> None:
    wheel = world.wheel()
    world.cached(wheel, place=place)
    found = UvCache(world.uv).find(world.install(wheel))
    assert found is not None
    assert (found.index, found.sha256) == (None, sha256_of(wheel))


def test_buckets_of_another_number(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel, buckets=("wheels-v12", "archive-v3"))
    assert UvCache(world.uv).find(world.install(wheel)) is not None


def test_by_shared_files_where_there_is_no_record(world: World) -> None:
    wheel = world.wheel()
    unpacked = world.cached(wheel)
    assert UvCache(world.uv).find(world.install(wheel, linked_to=unpacked, record=None)) is not None


def test_neither_record_nor_shared_files(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel)
    assert UvCache(world.uv).find(world.install(wheel, record=None)) is None


def test_shared_files_do_not_prove_another_record(world: World) -> None:
    """A lock must not put a sha256 beside a record fingerprint that isn't that wheel's."""
    wheel = world.wheel()
    unpacked = world.cached(wheel)
    assert UvCache(world.uv).find(world.install(wheel, linked_to=unpacked, record=digest("edited"))) is None


def test_two_builds_of_one_version_are_told_apart(world: World) -> None:
    one = world.wheel("torch", "2.10.0", "build = 1\n", tag="cp312-cp312-linux_x86_64")
    three = world.wheel("torch", "2.10.0", "build = 3\n", tag="cp312-cp312-linux_x86_64", build="3")
    world.cached(one, archive="one")
    world.cached(three, archive="three")
    found = UvCache(world.uv).find(world.install(three))
    assert found is not None
    assert (found.filename, found.sha256) == (three.name, sha256_of(three))


def test_linked_folder_first_among_equals(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel, place="index/a", archive="a", hashes=[{"Sha256": digest("a").hex}])
    linked = world.cached(wheel, place="index/b", archive="b", hashes=[{"Sha256": digest("b").hex}])
    found = UvCache(world.uv).find(world.install(wheel, linked_to=linked))
    assert found is not None
    assert found.sha256 == digest("b")


def test_a_record_that_uv_healed(world: World) -> None:
    """uv drops rows of files that the wheel doesn't hold; the unpacked RECORD still has them."""
    from envguard.formats.record import read_wheel

    wheel = world.wheel()
    unpacked = world.cached(wheel)
    record = unpacked / "idna-3.10.dist-info" / "RECORD"
    sound = record.read_bytes()
    record.write_bytes(b"idna/phantom.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n" + sound)
    installed = world.install(wheel)
    listed, _ = read_wheel(record.read_bytes(), "idna-3.10.dist-info", ())
    assert listed.record != installed.distribution.record
    assert UvCache(world.uv).find(installed) is not None


@pytest.mark.parametrize(
    "details",
    [
        pytest.param({"filename": "idna-3.11-py3-none-any.whl"}, id="another version"),
        pytest.param({"filename": "other-3.10-py3-none-any.whl"}, id="another name"),
        pytest.param({"filename": "no wheel"}, id="no filename"),
        pytest.param({"hashes": []}, id="no sha256"),
    ],
)
def test_pointers_that_do_not_fit(world: World, details: dict[str, Any]) -> None:
    wheel = world.wheel()
    world.cached(wheel, **details)
    assert UvCache(world.uv).find(world.install(wheel)) is None


@pytest.mark.parametrize("harm", ["pointer", "archive", "record", "pointer a folder"])
def test_a_broken_cache_proves_nothing(world: World, harm: str) -> None:
    wheel = world.wheel()
    unpacked = world.cached(wheel)
    pointer = next(world.uv.glob("wheels-v8/pypi/idna/*.http"))
    if harm == "pointer":
        pointer.write_bytes(b"\xff" * 300)
    elif harm == "pointer a folder":
        pointer.unlink()
        pointer.mkdir()
    elif harm == "archive":
        shutil.rmtree(unpacked)
    else:
        (unpacked / "idna-3.10.dist-info" / "RECORD").write_bytes(b"")
    assert UvCache(world.uv).find(world.install(wheel)) is None


def test_path_wheels_have_no_sha256(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel)
    pointer = next(world.uv.glob("wheels-v8/pypi/idna/*.http"))
    pointer.rename(pointer.with_suffix(".rev"))
    assert UvCache(world.uv).find(world.install(wheel)) is None


def test_an_empty_or_missing_cache(world: World) -> None:
    installed = world.install(world.wheel())
    assert UvCache(world.uv).find(installed) is None
    world.uv.mkdir()
    assert UvCache(world.uv).find(installed) is None


def test_a_distribution_without_a_folder(world: World) -> None:
    wheel = world.wheel()
    world.cached(wheel)
    assert UvCache(world.uv).find(replace(world.install(wheel), folder=None)) is None
