from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from envguard.errors import IndexAnswerError, IndexUnreachableError
from envguard.formats.record import dump_rows, read_wheel
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Origin, Wheel
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.operations.challenge import Challenge, Challenged, Verdict, challenge
from envguard.ports import Offer
from tests import builders
from tests.fakes.index import FakeIndex, Silence
from tests.fakes.memory_store import MemoryStore
from tests.fakes.reader import FileReader

MADE = datetime(2026, 6, 1, tzinfo=UTC)


class Scene:
    """A lock of one wheel, sources that have it, and what they do to it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.index, self.store = folder, FakeIndex(), MemoryStore()
        self.reader = FileReader({})
        self.wheel = self.made("x = 1\n")
        self.entry = self.locked(self.wheel)
        self.sources = {"default", "mirror"}

    def made(self, code: str, folder: str = "first", **details: Any) -> Path:
        place = self.folder / folder
        place.mkdir(exist_ok=True)
        return builders.wheel(place, "idna", "3.10", {"idna/__init__.py": code, "idna/core.py": "y"}, **details)

    def locked(self, wheel: Path) -> Distribution:
        info = "idna-3.10.dist-info"
        with zipfile.ZipFile(wheel) as archive:
            listing = read_wheel(archive.read(f"{info}/RECORD"), info, archive.namelist())[0]
        return Distribution(
            "idna",
            "3.10",
            listing.record,
            None,
            self.store.put(dump_rows(listing.rows)),
            Wheel(
                wheel.name, Digest.of(wheel.read_bytes()), None, wheel.stat().st_size, "default", Evidence.UV_CACHE
            ),
        )

    def serve(self, wheel: Path, source: str = "default", **details: Any) -> Offer:
        self.reader.files[source, wheel.name] = wheel
        return self.index.add(wheel, source=source, **details)

    def hear(self) -> Challenge:
        lock = Lock("good", builders.facts(distributions=Value((self.entry,))), created=MADE)
        return challenge(
            lock, sources=self.sources, index=self.index, reader=self.reader, store=self.store, progress=Silence()
        )

    @property
    def one(self) -> Challenged:
        return self.hear().entries[0]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def texts(entry: Challenged) -> str:
    return "; ".join([*(f"{one.source}: {one.text}" for one in entry.witnesses), *entry.remarks])


def test_still_the_same(scene: Scene) -> None:
    scene.serve(scene.wheel)
    result = scene.hear()
    assert (result.exit_code, result.entries[0].verdict) == (0, Verdict.SAME)
    assert scene.reader.asked == []


def test_replaced_in_place_names_what_changed(scene: Scene) -> None:
    scene.serve(scene.made("x = 2\n", "second"))
    assert scene.hear().exit_code == 1
    assert "1 file differs: idna/__init__.py" in texts(scene.one)


def test_repacked(scene: Scene) -> None:
    other = scene.folder / "repacked"
    other.mkdir()
    path = other / scene.wheel.name
    with zipfile.ZipFile(scene.wheel) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    scene.serve(path)
    assert "same 4 files, zip repacked" in texts(scene.one)
    assert scene.hear().exit_code == 1


def test_without_the_lock_s_rows_no_file_is_named(scene: Scene) -> None:
    scene.serve(scene.made("x = 2\n", "second"))
    scene.entry = replace(scene.entry, rows=None)
    assert "can't be named" in texts(scene.one)


def test_no_hash_is_listed_and_the_record_tells(scene: Scene) -> None:
    scene.serve(scene.wheel, hashed=False)
    assert scene.one.verdict is Verdict.SAME
    assert "record fingerprint" in texts(scene.one)


def test_no_hash_is_listed_and_the_record_differs(scene: Scene) -> None:
    scene.serve(scene.made("x = 2\n", "second"), hashed=False)
    assert scene.one.verdict is Verdict.DIFFERS
    assert "idna/__init__.py" in texts(scene.one)


def test_gone(scene: Scene) -> None:
    assert scene.hear().exit_code == 1
    assert "no source lists it any more" in texts(scene.one)


def test_gone_from_its_index_and_not_from_another(scene: Scene) -> None:
    scene.serve(scene.wheel, "mirror")
    assert scene.hear().exit_code == 1
    assert "index default doesn't list it any more" in texts(scene.one)


def test_gone_and_in_the_archive(scene: Scene) -> None:
    scene.store.put(scene.wheel.read_bytes())
    assert {one.source: one.same for one in scene.one.witnesses} == {"archive": True, "default": False}


def test_an_archive_that_is_damaged(scene: Scene) -> None:
    scene.serve(scene.wheel)
    digest = scene.store.put(scene.wheel.read_bytes())
    scene.store.damage(digest, b"other")
    assert scene.one.verdict is Verdict.DIFFERS
    assert "the odd one is archive" in texts(scene.one)


def test_the_odd_source_is_named(scene: Scene) -> None:
    scene.serve(scene.wheel)
    scene.serve(scene.made("x = 2\n", "second"), "mirror")
    scene.store.put(scene.wheel.read_bytes())
    assert "the odd one is mirror: 2 of 3 sources" in texts(scene.one)


@pytest.mark.parametrize(("second", "words"), [("x = 2\n", "agree with"), ("x = 3\n", "differ from each other")])
def test_all_sources_against_the_lock(scene: Scene, second: str, words: str) -> None:
    scene.serve(scene.made("x = 2\n", "second"))
    scene.serve(scene.made(second, "third"), "mirror")
    assert words in texts(scene.one)


def test_a_source_that_cannot_be_asked(scene: Scene) -> None:
    scene.index.fail("idna", IndexUnreachableError("index default can't be asked", where="x"))
    assert scene.hear().exit_code == 3
    assert scene.index.fired > 0
    assert scene.one.verdict is Verdict.UNREACHED


def test_a_file_that_cannot_be_read(scene: Scene) -> None:
    scene.serve(scene.wheel, hashed=False)
    scene.reader.fail[scene.wheel.name] = IndexUnreachableError("no answer")
    assert scene.hear().exit_code == 3
    scene.reader.fail[scene.wheel.name] = IndexAnswerError("no zip")
    assert scene.hear().exit_code == 1


def test_an_index_that_is_not_configured_here(scene: Scene) -> None:
    scene.sources = {"mirror"}
    assert scene.hear().exit_code == 3
    assert "index default is not configured here" in texts(scene.one)


def test_another_size_with_the_same_hash(scene: Scene) -> None:
    scene.serve(scene.wheel)
    scene.entry = replace(scene.entry, wheel=replace(scene.entry.wheel, size=7))
    assert "the lock has 7" in texts(scene.one)
    assert scene.one.verdict is Verdict.DIFFERS


def test_yanked_is_told_and_is_no_difference(scene: Scene) -> None:
    scene.serve(scene.wheel, yanked="a bad day")
    assert scene.hear().exit_code == 0
    assert "yanked by default: a bad day" in texts(scene.one)


def test_other_files_of_the_version_since(scene: Scene) -> None:
    scene.serve(scene.wheel)
    again = scene.serve(scene.made("x = 2\n", "second", build="3"))
    assert "another file of this version: idna-3.10-3-py3-none-any.whl" in texts(scene.one)
    offers = scene.index._offers["idna"]
    offers[offers.index(again)] = replace(again, uploaded=datetime(2026, 7, 1, tzinfo=UTC))
    assert "another file of this version since, of 2026-07-01" in texts(scene.one)
    offers[-1] = replace(again, uploaded=datetime(2026, 5, 1, tzinfo=UTC))
    assert "another file of this version, of 2026-05-01" in texts(scene.one)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"origin": Origin("vcs", commit="a" * 40)}, "repository"),
        ({"origin": Origin("folder", editable=True)}, "folder"),
        (
            {"wheel": Wheel(evidence=Evidence.BUILT_FROM_SDIST, sdist="idna-3.10.tar.gz")},
            "built from idna-3.10.tar.gz",
        ),
        ({"wheel": Wheel()}, "doesn't say which"),
    ],
    ids=["repository", "folder", "built", "unknown"],
)
def test_what_no_index_ever_had_is_left_out(scene: Scene, changes: dict[str, Any], words: str) -> None:
    scene.entry = replace(scene.entry, **changes)
    assert scene.hear().exit_code == 0
    assert (scene.one.verdict, scene.index.asked) == (Verdict.LEFT_OUT, [])
    assert words in texts(scene.one)


def test_torch_s_values_come_with_it(scene: Scene, tmp_path: Path) -> None:
    def torch(folder: str, commit: str) -> Path:
        (tmp_path / folder).mkdir()
        text = f"__version__ = '2.11.0'\ngit_version = '{commit * 40}'\n"
        return builders.wheel(tmp_path / folder, "torch", "2.11.0", {"torch/version.py": text, "torch/a.py": ""})

    old, new = torch("old", "a"), torch("new", "b")
    content, info = zipfile.ZipFile(io.BytesIO(old.read_bytes())), "torch-2.11.0.dist-info"
    listing = read_wheel(content.read(f"{info}/RECORD"), info, content.namelist())[0]
    scene.entry = Distribution(
        "torch",
        "2.11.0",
        listing.record,
        None,
        scene.store.put(dump_rows(listing.rows)),
        Wheel(old.name, Digest.of(old.read_bytes()), index="default"),
    )
    scene.serve(new)
    assert "1 file differs: torch/version.py; 3 files equal; torch is 2.11.0, commit bbbbbbbbbb now" in texts(
        scene.one
    )
