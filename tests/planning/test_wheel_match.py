from __future__ import annotations

import pytest

from envguard.errors import UsageError
from envguard.model.offer import Offer
from envguard.planning import wheel_match, wheel_names
from envguard.planning.wheel_match import Wanted
from tests.builders import digest


def offer(filename: str, **changes: object) -> Offer:
    return Offer(filename, f"x/{filename}", "default", **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tag", "python", "platform", "fits"),
    [
        ("cp312-cp312-manylinux_2_28_x86_64", "cp312", "linux_x86_64", True),
        ("cp312-cp312-manylinux_2_28_x86_64", "cp312", "linux_aarch64", False),
        ("cp312-cp312-manylinux_2_28_x86_64", "cp311", "linux_x86_64", False),
        ("cp312-cp312-manylinux1_x86_64", "cp312", "manylinux_2_28_x86_64", True),
        ("cp312-cp312-manylinux_2_39_x86_64", "cp312", "manylinux_2_28_x86_64", False),
        ("cp312-cp312-linux_x86_64", "cp312", "manylinux_2_28_x86_64", True),
        ("cp312-cp312-musllinux_1_2_x86_64", "cp312", "linux_x86_64", False),
        ("cp312-cp312-musllinux_1_1_x86_64", "cp312", "musllinux_1_2_x86_64", True),
        ("cp39-abi3-manylinux2014_x86_64", "cp312", "linux_x86_64", True),
        ("cp313-abi3-manylinux2014_x86_64", "cp312", "linux_x86_64", False),
        ("cp39-abi3-manylinux2014_x86_64", "cp313t", "linux_x86_64", False),
        ("cp313-cp313t-manylinux2014_x86_64", "cp313t", "linux_x86_64", True),
        ("cp313-cp313t-manylinux2014_x86_64", "cp313", "linux_x86_64", False),
        ("py3-none-any", "cp312", "linux_x86_64", True),
        ("py2.py3-none-any", "cp312", "win_amd64", True),
        ("py2-none-any", "cp312", "linux_x86_64", False),
        ("cp312-none-win_amd64", "cp312", "win_amd64", True),
        ("cp312-none-win_amd64", "cp312", "linux_x86_64", False),
        ("cp312-none-macosx_11_0_arm64", "cp312", "macosx_14_0_arm64", True),
        ("cp312-cp312-macosx_11_0_universal2", "cp312", "macosx_14_0_arm64", True),
        ("cp312-none-macosx_15_0_arm64", "cp312", "macosx_14_0_arm64", False),
        ("cp312-cp312-win_amd64", None, None, True),
        ("cp312-cp312-win_amd64", None, "win_amd64", True),
        ("cp312-cp312-win_amd64", "cp312", None, True),
    ],
)
def test_fits(tag: str, python: str | None, platform: str | None, fits: bool) -> None:
    wheel = wheel_names.parse(f"x-1-{tag}.whl")
    assert wheel is not None
    assert wheel_match.fits(wheel, Wanted(python, platform)) is fits


@pytest.mark.parametrize("text", ["cp312", "3.12", "312", "CP312", "python3.12", "3.12.4"])
def test_spellings_of_a_python(text: str) -> None:
    assert wheel_match.wanted(text, "linux-x86_64") == Wanted("cp312", "linux_x86_64")


def test_any_is_no_limit() -> None:
    assert wheel_match.wanted("any", "any") == wheel_match.wanted(None, None) == Wanted()
    assert wheel_match.wanted("3.13t", None).python == "cp313t"


@pytest.mark.parametrize("text", ["", "twelve", "/usr/bin/python3.12", "cp"])
def test_what_is_no_python(text: str) -> None:
    with pytest.raises(UsageError):
        wheel_match.wanted(text, None)


@pytest.mark.parametrize(
    ("filename", "version", "platform"),
    [
        ("x-1-cp311-cp311-manylinux_2_28_x86_64.whl", "3.11.0", "linux_x86_64"),
        ("x-1-cp311-cp311-musllinux_1_2_aarch64.whl", "3.11.0", "linux_aarch64"),
        ("x-1-py3-none-any.whl", "3.12.0", "linux_x86_64"),
        ("x-1-cp312-cp312-win_amd64.whl", "3.12.0", "win_amd64"),
        ("x-1-cp312-none-macosx_11_0_arm64.whl", "3.12.0", "macosx_11_0_arm64"),
        ("x-1-cp312-cp312-manylinux2014_x86_64.whl", "3.12.0", "linux_x86_64"),
    ],
)
def test_an_interpreter_for_markers(filename: str, version: str, platform: str) -> None:
    wheel = wheel_names.parse(filename)
    assert wheel is not None
    seen = wheel_match.interpreter_of(wheel.tags)
    assert (seen.version, seen.platform_tag) == (version, platform)


def test_versions_with_and_without_a_label() -> None:
    offers = [
        offer(f"torch-{v}-cp312-cp312-linux_x86_64.whl") for v in ("2.11.0", "2.11.0+cu130", "2.11.1", "2.11")
    ]

    def found(version: str) -> list[str]:
        return [one.filename.split("-")[1] for one in wheel_match.of_version(offers, "torch", version)]

    assert found("2.11.0") == ["2.11.0", "2.11.0+cu130", "2.11"]
    assert found("2.11.0+cu130") == ["2.11.0+cu130"]
    assert found("2.12") == []


def test_one_file_of_every_build_newest_first() -> None:
    tags = (
        "cp311-cp311-manylinux_2_28_x86_64",
        "cp312-cp312-manylinux_2_28_x86_64",
        "cp312-none-macosx_11_0_arm64",
    )
    offers = [
        offer(f"torch-{stem}-{tag}.whl") for stem in ("2.9.0", "2.10.0", "2.10.0-3", "2.10.0+cpu") for tag in tags
    ]
    found = wheel_match.builds(offers, Wanted(None, "linux_x86_64"))
    assert [(one.filename.removesuffix(f"-{tags[1]}.whl"), count) for one, count in found] == [
        ("torch-2.10.0+cpu", 3),
        ("torch-2.10.0-3", 3),
        ("torch-2.10.0", 3),
        ("torch-2.9.0", 3),
    ]
    assert wheel_match.builds(offers, Wanted("cp38", None)) == []


def test_candidates_likeliest_first() -> None:
    names = [
        "x-1-py3-none-any.whl",
        "x-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "x-1-cp311-cp311-manylinux_2_17_x86_64.whl",
        "x-2-py3-none-any.whl",
        "y-1-py3-none-any.whl",
        "x-1-1-cp312-cp312-manylinux_2_17_x86_64.whl",
    ]
    rebuilt = "x-1-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
    found = wheel_match.candidates(
        [offer(name) for name in names],
        "x",
        "1",
        rebuilt,
        ["cp312-cp312-manylinux_2_17_x86_64"],
        Wanted("cp312", "linux_x86_64"),
    )
    assert [one.filename for one in found] == [names[1], names[5], names[0]]


def test_the_same_file_of_two_sources_once() -> None:
    name = "x-1-py3-none-any.whl"
    offers = [offer(name, sha256=digest("a")), offer(name, sha256=digest("a")), offer(name, sha256=digest("b"))]
    assert len(wheel_match.once(offers)) == 2
