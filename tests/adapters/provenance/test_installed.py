"""Where an installed distribution lies, and when a listing is its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envguard.adapters.provenance.installed import Installed, locate
from envguard.model.digest import Digest
from envguard.model.record import Listing
from tests.adapters.provenance.world import World
from tests.builders import digest, distribution


def _listing(record: Digest, data: Digest | None) -> Listing:
    return Listing({}, (), (), record, data)


@pytest.mark.parametrize(
    ("record", "data", "expected"),
    [
        pytest.param(digest("a"), None, True, id="equal"),
        pytest.param(digest("b"), None, False, id="another library part"),
        pytest.param(digest("a"), digest("d"), False, id="another data part"),
    ],
)
def test_agreement_needs_both_parts(record: Digest, data: Digest | None, expected: bool) -> None:
    installed = Installed(distribution(record=digest("a"), record_data=None), None)
    assert installed.agrees([_listing(record, data)]) is expected


def test_either_listing_will_do() -> None:
    installed = Installed(distribution(record=digest("a")), None)
    assert installed.agrees([_listing(digest("b"), None), _listing(digest("a"), None)])


def test_without_a_record_nothing_agrees() -> None:
    assert not Installed(distribution(record=None), None).agrees([_listing(digest("a"), None)])


def test_located_in_the_library_that_has_it(world: World, tmp_path: Path) -> None:
    other = tmp_path / "lib64" / "site-packages"
    folder = other / "idna-3.10.dist-info"
    folder.mkdir(parents=True)
    layout = replace(world.layout, libraries=(world.site, other))
    assert locate(layout, distribution(folder="idna-3.10.dist-info")).folder == folder


def test_located_by_its_parent_where_it_is_told(world: World, tmp_path: Path) -> None:
    first, second = tmp_path / "site-packages", tmp_path / "dist-packages"
    for library in (first, second):
        (library / "idna-3.10.dist-info").mkdir(parents=True)
    layout = replace(world.layout, libraries=(first, second))
    found = locate(layout, distribution(folder="dist-packages/idna-3.10.dist-info"))
    assert found.folder == second / "idna-3.10.dist-info"


@pytest.mark.parametrize("folder", [None, "gone-1.dist-info"])
def test_not_located(world: World, folder: str | None) -> None:
    assert locate(world.layout, distribution(folder=folder)).folder is None
