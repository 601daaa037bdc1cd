from __future__ import annotations

from pathlib import Path

import pytest

from envguard.adapters.archive.local_files import LocalFiles
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Wheel
from tests.builders import distribution, wheel


def entry(path: Path, **changes: object) -> Distribution:
    content = path.read_bytes()
    known = {"filename": path.name, "sha256": Digest.of(content), "size": len(content), **changes}
    return distribution("demo", "1.0", wheel=Wheel(**known))  # type: ignore[arg-type]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return wheel(tmp_path, "demo", "1.0", {"demo.py": "A = 1\n"})


def moved(path: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True)
    return path.rename(to)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("links/{name}", id="find-links"),
        pytest.param("uv/sdists-v11/pypi/demo/1.0/revision/{name}", id="built by uv"),
        pytest.param("pip/wheels/ab/cd/{name}", id="built by pip"),
        pytest.param("pip/http-v2/a/b/c/d/e/abcde.body", id="downloaded by pip"),
    ],
)
def test_bytes_that_prove_right_are_found(tmp_path: Path, made: Path, place: str) -> None:
    wanted = entry(made)
    there = moved(made, tmp_path / place.format(name=made.name))
    local = LocalFiles(find_links=[tmp_path / "links"], uv_cache=tmp_path / "uv", pip_cache=tmp_path / "pip")
    assert local.find(wanted) == there
    assert local.find(distribution("demo", "1.0")) is None, "without a sha256 nothing can be proven"


def test_other_bytes_of_the_same_name_are_no_find(tmp_path: Path, made: Path) -> None:
    wanted = entry(made, sha256=Digest.of(b"other"))
    same_size = LocalFiles(find_links=[tmp_path], uv_cache=None, pip_cache=None)
    assert same_size.find(wanted) is None
    assert same_size.find(entry(made, size=1)) is None


def test_a_size_is_not_needed_but_for_files_without_a_name(tmp_path: Path, made: Path) -> None:
    wanted = entry(made, size=None)
    assert LocalFiles(find_links=[tmp_path], uv_cache=None, pip_cache=None).find(wanted) == made
    moved(made, tmp_path / "pip" / "http-v2" / "x.body")
    assert LocalFiles(find_links=[], uv_cache=None, pip_cache=tmp_path / "pip").find(wanted) is None
