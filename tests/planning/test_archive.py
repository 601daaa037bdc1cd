from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.model.cache import CacheKeys, KeySource
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Origin, Row, Wheel
from envguard.model.facts import FileFact, FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.planning.archive import Extent, Kind, Need, is_nightly, needs_of, size_of, takes_source, takes_wheel
from tests.builders import digest, distribution, facts

KNOWN = Wheel("x-1-py3-none-any.whl", digest("w"), size=7)
REBUILT = Wheel("x-1-py3-none-any.whl", digest("r"), size=7, rebuilt=digest("r"))
EDITABLE = Origin("folder", editable=True)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2.12.0.dev20261101+cu130", True),
        ("3.5.0+git0ce1a2b3", True),
        ("1.0.dev3", True),
        ("2.11.0+cu130", False),
        ("2.32.0.20240712", False),
        ("1.0.post1", False),
    ],
)
def test_nightlies(version: str, expected: bool) -> None:
    assert is_nightly(version) is expected


@pytest.mark.parametrize(
    ("entry", "taken"),
    [
        pytest.param(distribution(wheel=KNOWN), {Extent.ALL}, id="known"),
        pytest.param(distribution(), {Extent.ALL, Extent.DEFAULT, Extent.UNIDENTIFIED}, id="unknown"),
        pytest.param(
            distribution(wheel=REBUILT), {Extent.ALL, Extent.DEFAULT, Extent.UNIDENTIFIED}, id="rebuilt before"
        ),
        pytest.param(
            distribution(version="1.dev1", wheel=KNOWN), {Extent.ALL, Extent.DEFAULT, Extent.NIGHTLY}, id="nightly"
        ),
        pytest.param(distribution(origin=EDITABLE), set(), id="editable"),
    ],
)
def test_which_wheels(entry: Distribution, taken: set[Extent]) -> None:
    assert {extent for extent in Extent if takes_wheel(entry, extent)} == taken


def test_which_sources() -> None:
    sources = {extent for extent in Extent if takes_source(distribution(origin=EDITABLE), extent)}
    assert sources == {Extent.ALL, Extent.DEFAULT, Extent.UNIDENTIFIED}
    assert not takes_source(distribution(), Extent.ALL)
    assert not takes_source(distribution(origin=Origin("archive")), Extent.ALL)


def test_the_size() -> None:
    rows = {("library", "a"): Row("library", "a", "sha256:00", "30"), ("data", "b"): Row("data", "b", "x:00", "")}
    assert size_of(distribution(wheel=KNOWN, listing=rows)) == 7
    assert size_of(distribution(listing=rows)) == 30
    assert size_of(distribution()) == 0


def test_everything_that_a_lock_names() -> None:
    one = distribution("a", "1", wheel=replace(KNOWN, rebuilt=digest("r")), rows=digest("rows"))
    two = distribution("b", "2", wheel=REBUILT, origin=replace(EDITABLE, archive=digest("tree")))
    files = (
        FileFact("kept.py", FileKind.UNOWNED, sha256=digest("kept")),
        FileFact("x", FileKind.SCRIPT, "scripts", sha256=digest("script")),
        FileFact("gone.py", FileKind.MISSING),
    )
    keys = CacheKeys(KeySource.FOUND, (), components=digest("graphs"))
    lock = Lock(
        "good",
        facts(distributions=Value((one, two)), files=Value(files), keys=Value(keys)),
        archive=(digest("kept"), digest("stray")),
    )
    assert set(needs_of(lock)) == {
        Need(digest("w"), Kind.WHEEL, "a 1", required=False),
        Need(digest("r"), Kind.REBUILT, "a 1"),
        Need(digest("rows"), Kind.ROWS, "a 1"),
        Need(digest("tree"), Kind.SOURCE, "b 2"),
        Need(digest("kept"), Kind.FILE, "kept.py"),
        Need(digest("script"), Kind.FILE, "bin/x", required=False),
        Need(digest("graphs"), Kind.KEYS, "what graphs were made of"),
        Need(digest("stray"), Kind.OTHER, ""),
    }
    assert all(isinstance(need.digest, Digest) for need in needs_of(Lock("empty", facts())))
