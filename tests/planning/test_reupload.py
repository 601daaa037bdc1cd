from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.model.distribution import Row
from envguard.planning.reupload import Rows, compare, explained
from tests.builders import torch_build


def rows(**files: str) -> Rows:
    paths = {path.replace("__", "/").replace("_py", ".py"): content for path, content in files.items()}
    return {("library", path): Row("library", path, f"sha256:{content}", "1") for path, content in paths.items()}


def test_the_same() -> None:
    comparison = compare(rows(a_py="1", b_py="2"), rows(a_py="1", b_py="2"))
    assert comparison.same
    assert explained(comparison) == "same 2 files, zip repacked"


def test_version_files_first_with_their_values() -> None:
    first = rows(torch__a_py="1", torch__version_py="1", torch__c_py="1", x_py="1")
    second = rows(torch__a_py="2", torch__version_py="2", torch__c_py="2", x_py="1")
    one, other = torch_build(), torch_build(git_commit="b" * 40, build="2.11.0+cu128")
    assert explained(compare(first, second), (one, other)) == (
        "3 files differ: torch/version.py (version 2.11.0+cu130 → 2.11.0+cu128, git 70d99e998b → bbbbbbbbbb), "
        "torch/a.py, torch/c.py; 1 file equal"
    )


def test_files_on_one_side() -> None:
    text = explained(compare(rows(a_py="1", b_py="1"), rows(a_py="1", c_py="1")))
    assert text == "1 file only in the first: b.py; 1 file only in the second: c.py; 1 file equal"


def test_only_wheel_differs() -> None:
    first = {**rows(a_py="1"), **_info("x-1.dist-info/WHEEL", "1")}
    second = {**rows(a_py="1"), **_info("x-1.dist-info/WHEEL", "2")}
    comparison = compare(first, second)
    assert comparison.same_code
    assert not comparison.same
    assert "same code, another WHEEL" in explained(comparison)


def test_the_version_in_a_dist_info_name_does_not_count() -> None:
    comparison = compare(_info("x-1.dist-info/METADATA", "1"), _info("x-1+cu130.dist-info/METADATA", "1"))
    assert comparison.same


def test_data_files_are_no_library_files() -> None:
    first = {("data", "share/x"): Row("data", "share/x", "sha256:1", "1")}
    second = {("library", "share/x"): Row("library", "share/x", "sha256:1", "1")}
    assert compare(first, second).only_first == ("data:share/x",)


def test_a_long_list_is_cut() -> None:
    many = {("library", f"f{n:03}"): Row("library", f"f{n:03}", "sha256:1", "1") for n in range(100)}
    other = {key: replace(row, digest="sha256:2") for key, row in many.items()}
    text = explained(compare(many, other))
    assert text.startswith("100 files differ: f000, ")
    assert "and 94 more" in text


@pytest.mark.parametrize("size", ["1", "2"])
def test_size_counts(size: str) -> None:
    other = {key: replace(row, size=size) for key, row in rows(a_py="1").items()}
    assert compare(rows(a_py="1"), other).same is (size == "1")


def _info(path: str, content: str) -> Rows:
    return {("library", path): Row("library", path, f"sha256:{content}", "1")}
