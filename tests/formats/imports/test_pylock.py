"""pylock.toml → claims."""

from __future__ import annotations

from typing import Any

import pytest
from packaging import markers, tags

from envguard.errors import LockInvalidError
from envguard.formats.imports import pylock
from envguard.formats.imports.claims import Claim, Claims
from envguard.model.distribution import Origin
from tests.builders import digest

HEAD = 'lock-version = "1.0"\ncreated-by = "tests"\n'
TAGS = [tags.Tag("cp312", "cp312", "manylinux_2_28_x86_64"), tags.Tag("py3", "none", "any")]


def environment(**changes: str) -> Any:
    whole: dict[str, Any] = {
        **markers.default_environment(),
        "python_full_version": "3.12.3",
        "python_version": "3.12",
    }
    return {**whole, "sys_platform": "linux", **changes}


def read(text: str, **changes: str) -> Claims:
    return pylock.read((HEAD + text).encode(), "pylock.toml", environment=environment(**changes), tags=TAGS)


def wheel(filename: str, size: int = 7) -> str:
    place = f'name = "{filename}", url = "https://e.invalid/{filename}", size = {size}'
    return f'{{ {place}, hashes = {{ sha256 = "{digest(filename).hex}" }} }}'


def package(name: str, *wheels: str, more: str = "") -> str:
    listed = f"wheels = [{', '.join(map(wheel, wheels))}]\n" if wheels else ""
    return f'[[packages]]\nname = "{name}"\nversion = "1.0"\n{more}{listed}'


def test_the_wheel_that_fits_is_taken() -> None:
    names = [
        "a-1.0-cp311-cp311-linux_x86_64.whl",
        "a-1.0-py3-none-any.whl",
        "a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    ]
    text = package("a", *names, more='index = "https://user:secret@e.invalid/simple"\n')
    assert read(text).entries == (
        Claim("a", "1.0", names[2], (digest(names[2]),), 7, "https://user:secret@e.invalid/simple"),
    )


def test_markers_decide() -> None:
    text = package("a", "a-1.0-py3-none-any.whl", more="marker = \"sys_platform == 'win32'\"\n")
    assert read(text).entries == ()
    assert [claim.name for claim in read(text, sys_platform="win32").entries] == ["a"]


def test_without_a_fitting_wheel_the_sdist_is_told() -> None:
    hashes = f'hashes = {{ sha256 = "{digest("s").hex}" }}'
    sdist = f'sdist = {{ name = "a-1.0.tar.gz", url = "https://e.invalid/a-1.0.tar.gz", {hashes} }}\n'
    claim = read(package("a", "a-1.0-cp39-cp39-win32.whl", more=sdist)).entries[0]
    assert claim == Claim("a", "1.0", sdist=f"a-1.0.tar.gz {digest('s')}")


OTHERS = {
    "a repository": (
        f'vcs = {{ type = "git", url = "https://user:pw@e.invalid/x?t=1", commit-id = "{"c" * 40}" }}\n',
        Claim("a", "1.0", origin=Origin("vcs", url="https://e.invalid/x", commit="c" * 40)),
    ),
    "a folder": (
        'directory = { path = "/home/ann/a", editable = true }\n',
        Claim("a", "1.0", origin=Origin("folder", editable=True)),
    ),
    "an archive": (
        f'archive = {{ url = "https://e.invalid/a.zip#x", hashes = {{ sha256 = "{digest("z").hex}" }} }}\n',
        Claim("a", "1.0", hashes=(digest("z"),), origin=Origin("archive", url="https://e.invalid/a.zip")),
    ),
}


@pytest.mark.parametrize(("more", "claim"), OTHERS.values(), ids=OTHERS.keys())
def test_what_is_no_wheel_of_an_index(more: str, claim: Claim) -> None:
    assert read(package("a", more=more)).entries == (claim,)


def test_other_algorithms_say_nothing() -> None:
    text = package("a", "a-1.0-py3-none-any.whl").replace("sha256", "md5")
    assert read(text).entries[0].hashes == ()


BAD = {
    "not TOML": ("x =", "not TOML"),
    "no pylock": ("[[packages]]\nversion = 1\n", "not a pylock"),
    "fits nothing": (package("a", "a-1.0-cp39-cp39-win32.whl"), "No wheel found"),
    "another Python": ('requires-python = ">=3.13"\n' + package("a", "a-1.0-py3-none-any.whl"), "3.13"),
    "twice": (package("a", "a-1.0-py3-none-any.whl") * 2, "Multiple packages"),
    "a folder and a wheel": (
        package("a", "a-1.0-py3-none-any.whl", more='directory = { path = "a" }\n'),
        "not a pylock",
    ),
    "a wheel that is none": (package("a", "a.whl"), "not a pylock"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_bad_files(text: str, words: str) -> None:
    with pytest.raises(LockInvalidError, match=words) as caught:
        read(text)
    assert caught.value.exit_code == 2
    assert (caught.value.where or "").startswith("pylock.toml")
