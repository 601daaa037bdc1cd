"""Evidence from the restore marker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.adapters.provenance.installed import Installed
from envguard.adapters.provenance.restored import Restored
from envguard.formats import marker
from envguard.formats.marker import MarkedWheel, Marker
from envguard.model.distribution import Evidence, Wheel
from tests.adapters.provenance.world import World
from tests.builders import digest, distribution

IDNA = distribution("idna", "3.10")
MARKED = MarkedWheel("idna-3.10-py3-none-any.whl", digest("wheel"), 7, digest("idna-3.10"))


def _restored(world: World, content: bytes) -> Restored:
    prefix = world.layout.prefix
    prefix.mkdir()
    (prefix / marker.FILENAME).write_bytes(content)
    return Restored(prefix)


def test_marked_wheel_is_found(world: World) -> None:
    clue = _restored(world, marker.dump(Marker("lock", {"idna": MARKED})))
    assert clue.find(Installed(IDNA, None)) == Wheel(
        filename="idna-3.10-py3-none-any.whl", sha256=digest("wheel"), size=7, evidence=Evidence.RESTORED
    )


@pytest.mark.parametrize(
    ("marked", "installed"),
    [
        pytest.param(MARKED, replace(IDNA, record=digest("reinstalled")), id="another RECORD now"),
        pytest.param(MARKED, replace(IDNA, record=None), id="no RECORD now"),
        pytest.param(MARKED, replace(IDNA, version="3.11"), id="another version"),
        pytest.param(MARKED, replace(IDNA, name="other"), id="another distribution"),
        pytest.param(replace(MARKED, filename="../x.whl"), IDNA, id="a filename that doesn't fit"),
    ],
)
def test_what_the_marker_does_not_prove(world: World, marked: MarkedWheel, installed: object) -> None:
    clue = _restored(world, marker.dump(Marker("lock", {"idna": marked})))
    assert clue.find(Installed(installed, None)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"{}"], ids=["empty", "cut", "binary", "other"])
def test_a_bad_marker_proves_nothing(world: World, content: bytes) -> None:
    assert _restored(world, content).find(Installed(IDNA, None)) is None


def test_no_marker_proves_nothing(world: World) -> None:
    assert Restored(world.root).find(Installed(IDNA, None)) is None
