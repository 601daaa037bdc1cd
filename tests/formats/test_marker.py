"""The restore marker: round trip, and every way it can be wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from envguard.formats import marker
from envguard.formats.marker import MarkedWheel, Marker
from tests.builders import digest

WHOLE = Marker(
    "good-5t3d-1",
    {
        "torch": MarkedWheel("torch-2.11.0-cp312-cp312-linux_x86_64.whl", digest("t"), 7, digest("tr")),
        "idna": MarkedWheel("idna-3.10-py3-none-any.whl", digest("i"), 5, digest("ir"), rebuilt=True),
    },
)


def test_round_trip() -> None:
    assert marker.load(marker.dump(WHOLE)) == WHOLE


def test_equal_markers_give_equal_bytes() -> None:
    other = Marker(WHOLE.lock, dict(reversed(list(WHOLE.wheels.items()))))
    assert marker.dump(other) == marker.dump(WHOLE)


def _changed(path: tuple[str, ...], value: Any) -> bytes:
    document = json.loads(marker.dump(WHOLE))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe\x00", id="not text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"[" * 200_000, id="nested deeply"),
        pytest.param(b" " * (marker.CAP + 1), id="too large"),
        pytest.param(_changed(("schema",), 2), id="another schema"),
        pytest.param(_changed(("lock",), None), id="no lock"),
        pytest.param(_changed(("distributions",), []), id="distributions a list"),
        pytest.param(_changed(("distributions", "idna"), "x"), id="an entry that is text"),
        pytest.param(_changed(("distributions", "idna", "sha256"), "00"), id="a digest that is none"),
        pytest.param(_changed(("distributions", "idna", "record"), None), id="no record"),
        pytest.param(_changed(("distributions", "idna", "size"), "5"), id="a size that is text"),
    ],
)
def test_what_is_no_marker_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        marker.load(content)
