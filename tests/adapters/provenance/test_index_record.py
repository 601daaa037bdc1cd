"""Installed distributions held against a loopback index's RECORDs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.index import SimpleIndexes
from envguard.adapters.provenance.index_record import IndexRecord
from envguard.adapters.remote.kept import KeptWheels
from envguard.adapters.remote.reader import Wheels
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Origin, Wheel
from envguard.model.target import Layout
from tests.adapters.provenance.world import World, distribution_of
from tests.fakes.fault_server import FaultServer, Reply
from tests.fakes.index import Silence
from tests.fakes.ranges import indexes, page, serve


@dataclass
class Known:
    """``ports.Provenance`` that knows what it is told."""

    found: Mapping[str, Wheel]

    def wheels(self, layout: Layout, distributions: Sequence[Distribution]) -> Mapping[str, Wheel]:
        return self.found


class Place:
    """An environment, a loopback index, and what is looked for."""

    def __init__(self, server: FaultServer, tmp_path: Path) -> None:
        self.server, self.world, self.kept = server, World(tmp_path), KeptWheels(tmp_path / "kept")
        self.index: SimpleIndexes = indexes(server)
        self.local: dict[str, Wheel] = {}

    def list(
        self, *wheels: Path, name: str = "idna", more: Sequence[Mapping[str, Any]] = (), **details: Any
    ) -> None:
        entries = [serve(self.server, wheel, **details) for wheel in wheels]
        self.server.on(f"/default/{name}/", page(*entries, *more))

    def look(self, *wheels: Path, **changes: Any) -> tuple[IndexRecord, Mapping[str, Wheel]]:
        installed = [self.world.install(wheel).distribution for wheel in wheels]
        distributions = [replace(one, **changes) for one in installed]
        looking = IndexRecord(
            Known(self.local),
            self.index,
            Wheels(self.index, progress=Silence(), kept=self.kept),
            progress=Silence(),
            kept=self.kept,
        )
        return looking, looking.wheels(self.world.layout, distributions)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with FaultServer() as server:
        yield Place(server, tmp_path)


def test_equal_records_prove_the_listed_hash(place: Place) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    looking, found = place.look(wheel)
    content = wheel.read_bytes()
    assert found == {
        "idna": Wheel(wheel.name, Digest.of(content), None, len(content), "default", Evidence.INDEX_RECORD)
    }
    assert looking.cost.requests == looking.asked == 1
    assert looking.troubles() == ()


def test_a_second_run_asks_nothing(place: Place) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    first = place.look(wheel)[1]
    asked = len(place.server.asked)
    place.index = indexes(place.server)
    assert place.look(wheel)[1] == first
    assert len(place.server.asked) == asked


def test_a_kept_proof_of_another_version_is_not_taken(place: Place) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    place.look(wheel)
    assert place.look(wheel, version="3.11")[1] == {}


def test_what_this_machine_knows_is_not_asked_for(place: Place) -> None:
    wheel = place.world.wheel()
    known = Wheel(wheel.name, Digest.of(b"known"), evidence=Evidence.UV_CACHE)
    place.local["idna"] = known
    looking, found = place.look(wheel)
    assert (found, looking.asked, place.server.asked) == ({"idna": known}, 0, [])


@pytest.mark.parametrize("kind", ["vcs", "folder"])
def test_repositories_and_folders_are_not_asked_for(place: Place, kind: str) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    assert place.look(wheel, origin=Origin(kind))[1] == {}
    assert place.server.asked == []


def test_built_ones_are_not_asked_for(place: Place) -> None:
    place.local["idna"] = Wheel(evidence=Evidence.BUILT_FROM_SDIST, sdist="idna-3.10.tar.gz sha256:…")
    looking, found = place.look(place.world.wheel())
    assert (found, looking.asked) == (place.local, 0)


def test_the_rebuilt_name_is_read_first(place: Place) -> None:
    right = place.world.wheel(tag="cp312-cp312-linux_x86_64")
    other = place.world.wheel()
    place.list(other, right)
    looking, found = place.look(right)
    assert found["idna"].filename == right.name
    assert looking.cost.requests == 1


def test_two_files_of_one_version(place: Place) -> None:
    plain, again = place.world.wheel(), place.world.wheel(build="3")
    place.list(plain, again)
    assert place.look(again)[1]["idna"].filename == again.name
    place.index = indexes(place.server)
    assert place.look(plain)[1]["idna"].filename == plain.name


def test_another_record_proves_nothing_and_is_told(place: Place) -> None:
    wheel = place.world.wheel()
    other = place.world.wheel(code="x = 2\n")
    place.list(other)
    looking, found = place.look(wheel)
    assert found == {}
    assert "no file of an index has this RECORD" in (looking.remark("idna") or "")


def test_a_retagged_wheel_is_told_as_such(place: Place) -> None:
    wheel, listed = place.world.wheel(tag="py2.py3-none-any"), place.world.wheel()
    place.list(listed)
    installed = distribution_of(wheel)
    import zipfile

    from envguard.formats.record import read_wheel  # rows as a prober brings them

    with zipfile.ZipFile(wheel) as archive:
        info = "idna-3.10.dist-info"
        rows = read_wheel(archive.read(f"{info}/RECORD"), info, archive.namelist())[0].rows
    looking, found = place.look(wheel, listing=rows)
    assert (found, installed.name) == ({}, "idna")
    assert "same code, another WHEEL" in (looking.remark("idna") or "")


def test_no_wheel_and_an_sdist_is_built_from_it(place: Place) -> None:
    place.list(
        more=[{"filename": "idna-3.10.tar.gz", "url": "x/idna-3.10.tar.gz", "hashes": {"sha256": "a" * 64}}]
    )
    looking, found = place.look(place.world.wheel())
    assert found == {}
    assert "built from its sdist, it seems: no index has a wheel" in (looking.remark("idna") or "")
    assert f"idna-3.10.tar.gz sha256:{'a' * 64}" in (looking.remark("idna") or "")


def test_a_version_that_no_index_lists(place: Place) -> None:
    place.list(place.world.wheel(version="3.11"))
    looking, _ = place.look(place.world.wheel())
    assert looking.remark("idna") == "no index lists a wheel of idna 3.10 for this Python and platform"


def test_without_hash_the_file_is_named_and_no_hash_invented(place: Place) -> None:
    wheel = place.world.wheel()
    place.list(wheel, hashed=False)
    found = place.look(wheel)[1]["idna"]
    assert (found.filename, found.sha256, found.evidence) == (wheel.name, None, Evidence.INDEX_RECORD)


def test_a_hash_stays_a_claim_when_no_record_was_read(place: Place) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    place.server.on(f"/files/{wheel.name}", Reply(500))
    looking, found = place.look(wheel)
    assert found["idna"] == Wheel(
        wheel.name, None, Digest.of(wheel.read_bytes()), wheel.stat().st_size, "default", Evidence.NONE
    )
    assert looking.troubles()[0].slug == "index-unreachable"
    assert place.server.times(f"/files/{wheel.name}") == 3


def test_an_index_that_cannot_be_asked_is_a_trouble(place: Place) -> None:
    place.server.on("/default/idna/", Reply(503))
    looking, found = place.look(place.world.wheel())
    assert found == {}
    assert [trouble.slug for trouble in looking.troubles()] == ["index-unreachable"]
    assert "no index could be asked" in (looking.remark("idna") or "")


def test_a_claim_of_the_installation_is_not_replaced_by_a_page_s(place: Place) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    place.server.on(f"/files/{wheel.name}", Reply(404))
    place.local["idna"] = Wheel(wheel.name, claimed_sha256=Digest.of(b"asked for"))
    assert place.look(wheel)[1] == place.local


def test_a_record_that_cannot_be_read(place: Place) -> None:
    looking, found = place.look(place.world.wheel(), record=None, problem="RECORD is missing")
    assert (found, looking.remark("idna")) == ({}, "its RECORD can't be used (RECORD is missing)")
    assert place.server.asked == []


def test_offline_only_this_machine_is_asked(place: Place) -> None:
    looking = IndexRecord(Known({}), None, None, progress=Silence())
    assert looking.wheels(place.world.layout, [distribution_of(place.world.wheel())]) == {}
    assert place.server.asked == []


def test_many_side_by_side_with_progress(place: Place) -> None:
    wheels = [place.world.wheel(f"name{number}", "1") for number in range(30)]
    for number, wheel in enumerate(wheels):
        place.list(wheel, name=f"name{number}")
    looking, found = place.look(*wheels)
    assert len(found) == 30
    assert looking.cost.requests == 30


def test_indexes_that_never_answer_are_given_up(place: Place) -> None:
    wheels = [place.world.wheel(f"name{number}", "1") for number in range(40)]
    for number in range(40):
        place.server.on(f"/default/name{number}/", Reply(503))
    looking, found = place.look(*wheels)
    assert found == {}
    assert 3 * 3 <= len(place.server.asked) < 3 * 20
    assert "no index was asked, since none answered" in (looking.remark("name39") or "")


def test_one_page_that_fails_gives_up_no_other(place: Place) -> None:
    wheels = [place.world.wheel(f"name{number}", "1") for number in range(30)]
    for number, wheel in enumerate(wheels):
        place.list(wheel, name=f"name{number}")
        if number % 4 == 3:
            place.server.on(f"/default/name{number}/", Reply(503))
    assert len(place.look(*wheels)[1]) == 23


def test_a_folder_s_file_is_named_by_the_index_that_lists_it(place: Place, tmp_path: Path) -> None:
    wheel = place.world.wheel()
    place.list(wheel)
    place.index = indexes(place.server, find_links=(wheel.parent,))
    assert place.look(wheel)[1]["idna"].index == "default"
