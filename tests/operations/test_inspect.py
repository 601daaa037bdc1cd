from __future__ import annotations

from pathlib import Path

import pytest

from envguard.errors import IndexAnswerError, NotObtainableError, UsageError
from envguard.model.wheel_facts import Part
from envguard.operations.find import find
from envguard.operations.inspect import Spec, inspect_version, read_spec
from envguard.planning.wheel_match import Wanted
from tests import builders
from tests.fakes.index import FakeIndex, Silence
from tests.fakes.reader import FileReader

HERE = Wanted("cp312", "linux_x86_64")
TAG = "cp312-cp312-manylinux_2_28_x86_64"


class Shelf:
    """An index of torch wheels."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.index, self.reader = folder, FakeIndex(), FileReader({})

    def add(
        self, version: str, commit: str = "a", *, tag: str = TAG, build: str | None = None, label: str = "+cu130"
    ) -> str:
        text = f"__version__ = '{version.partition('+')[0]}{label}'\ngit_version = '{commit * 40}'\n"
        files = {"torch/version.py": text, "torch/x.py": build or ""}
        wheel = builders.wheel(self.folder, "torch", version, files, tag=tag, build=build)
        self.reader.files["default", wheel.name] = wheel
        self.index.add(wheel)
        return wheel.name


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("torch==2.11.0", Spec("torch", "2.11.0")),
        (" Typing_Extensions == 4.16.0 ", Spec("typing-extensions", "4.16.0")),
        ("torch==2.11.0+cu130", Spec("torch", "2.11.0+cu130")),
        ("torch===2.11.0", Spec("torch", "2.11.0")),
        ("torch", None),
        ("torch>=2", None),
        ("a/b-1-py3-none-any.whl", None),
        ("https://example.invalid/x==1.whl", None),
    ],
)
def test_specs(text: str, spec: Spec | None) -> None:
    assert read_spec(text) == spec


def test_a_version_that_is_none() -> None:
    with pytest.raises(UsageError, match="not a version"):
        read_spec("torch==newest")


def test_two_files_of_one_version_and_commit(shelf: Shelf) -> None:
    first, second = shelf.add("2.10.0"), shelf.add("2.10.0", build="3")
    shelf.add("2.10.0", tag="cp311-cp311-manylinux_2_28_x86_64")
    seen = inspect_version(
        Spec("torch", "2.10.0"), HERE, index=shelf.index, reader=shelf.reader, progress=Silence()
    )
    assert {facts.filename for facts in seen.wheels} == {first, second}
    assert seen.others == 1
    (compared,) = seen.compared
    assert f"agree in version 2.10.0, build 2.10.0+cu130, commit {'a' * 12} and variant cu130" in compared.text
    assert "differ in build tag none and 3, sha256" in compared.text
    assert "torch/x.py" in compared.text
    assert "torch/version.py" not in compared.text


def test_no_file_fits(shelf: Shelf) -> None:
    name = shelf.add("2.10.0", tag="cp311-cp311-win_amd64")
    with pytest.raises(NotObtainableError, match=name):
        inspect_version(Spec("torch", "2.10.0"), HERE, index=shelf.index, reader=shelf.reader, progress=Silence())


def test_no_such_version_names_the_newest(shelf: Shelf) -> None:
    for version in ("2.9.0", "2.10.0"):
        shelf.add(version)
    with pytest.raises(NotObtainableError, match=r"newest there are: 2\.10\.0, 2\.9\.0"):
        inspect_version(Spec("torch", "3"), HERE, index=shelf.index, reader=shelf.reader, progress=Silence())
    with pytest.raises(NotObtainableError, match="no index or folder has a wheel of nothing"):
        inspect_version(Spec("nothing", "3"), HERE, index=shelf.index, reader=shelf.reader, progress=Silence())


def test_one_that_cannot_be_read_spoils_no_other(shelf: Shelf) -> None:
    first, second = shelf.add("2.10.0"), shelf.add("2.10.0", build="3")
    shelf.reader.fail[second] = IndexAnswerError("broken")
    seen = inspect_version(
        Spec("torch", "2.10.0"), HERE, index=shelf.index, reader=shelf.reader, progress=Silence()
    )
    assert ([facts.filename for facts in seen.wheels], len(seen.failures)) == ([first], 1)
    shelf.reader.fail[first] = IndexAnswerError("broken too")
    with pytest.raises(IndexAnswerError, match="broken too"):
        inspect_version(Spec("torch", "2.10.0"), HERE, index=shelf.index, reader=shelf.reader, progress=Silence())


def found(shelf: Shelf, commit: str, *, first: bool = False, variant: str | None = None) -> tuple[list[str], int]:
    search = find(
        "torch",
        commit,
        variant=variant,
        want=Wanted(None, "linux_x86_64"),
        first=first,
        index=shelf.index,
        reader=shelf.reader,
        progress=Silence(),
    )
    return [one.wheel.version for one in search.found], search.searched


def test_builds_of_a_commit_newest_first(shelf: Shelf) -> None:
    for version, commit in (("2.9.0", "b"), ("2.10.0", "c"), ("2.11.0", "b")):
        shelf.add(version, commit)
    assert found(shelf, "b" * 10) == (["2.11.0", "2.9.0"], 3)
    assert found(shelf, "B" * 40)[0] == ["2.11.0", "2.9.0"]
    assert found(shelf, "d" * 7)[0] == []


def test_one_file_of_a_version_is_read_and_only_its_version_file(shelf: Shelf) -> None:
    for python in ("cp311", "cp312", "cp313"):
        shelf.add("2.11.0", tag=f"{python}-{python}-manylinux_2_28_x86_64")
    found(shelf, "a" * 7)
    assert [parts for _, parts in shelf.reader.asked] == [frozenset({Part.TORCH})]


def test_variants(shelf: Shelf) -> None:
    shelf.add("2.11.0+cu128", "b", label="+cu128")
    shelf.add("2.11.0+cu130", "b")
    assert found(shelf, "b" * 7, variant="cu130")[0] == ["2.11.0+cu130"]
    assert found(shelf, "b" * 7, variant="cpu")[0] == []


def test_the_first_ends_the_search(shelf: Shelf) -> None:
    for minor in range(1, 12):
        shelf.add(f"2.{minor}.0", "b")
    assert found(shelf, "b" * 7, first=True) == (["2.11.0"], 4)


def test_builds_that_cannot_be_read_are_told(shelf: Shelf) -> None:
    name = shelf.add("2.11.0", "b")
    shelf.add("2.10.0", "b")
    shelf.reader.fail[name] = IndexAnswerError("broken")
    search = find(
        "torch",
        "b" * 7,
        variant=None,
        want=Wanted(),
        first=False,
        index=shelf.index,
        reader=shelf.reader,
        progress=Silence(),
    )
    assert ([one.wheel.version for one in search.found], len(search.failures)) == (["2.10.0"], 1)


@pytest.mark.parametrize(("name", "commit"), [("torch", "70d9"), ("torch", "z" * 10), ("numpy", "a" * 10)])
def test_what_cannot_be_searched_for(shelf: Shelf, name: str, commit: str) -> None:
    with pytest.raises(UsageError):
        find(
            name,
            commit,
            variant=None,
            want=Wanted(),
            first=False,
            index=shelf.index,
            reader=shelf.reader,
            progress=Silence(),
        )
