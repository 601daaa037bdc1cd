"""Wheel filenames: what fits, what is the same, what is rebuilt."""

from __future__ import annotations

import pytest

from envguard.planning import wheel_names


@pytest.mark.parametrize(
    ("filename", "name", "version", "expected"),
    [
        pytest.param("idna-3.10-py3-none-any.whl", "idna", "3.10", True, id="plain"),
        pytest.param("PyYAML-6.0.2-cp312-cp312-win32.whl", "pyyaml", "6.0.2", True, id="case"),
        pytest.param("ruamel.yaml-0.18-py3-none-any.whl", "ruamel-yaml", "0.18", True, id="a dot in the name"),
        pytest.param("a-1.0.0-py3-none-any.whl", "a", "1.0", True, id="trailing zeros"),
        pytest.param("torch-2.10.0-3-cp312-cp312-linux_x86_64.whl", "torch", "2.10.0", True, id="build number"),
        pytest.param(
            "torch-2.11.0+cu130-cp312-cp312-linux_x86_64.whl", "torch", "2.11.0", False, id="local label"
        ),
        pytest.param(
            "torch-2.11.0+cu130-cp312-cp312-linux_x86_64.whl", "torch", "2.11.0+cu130", True, id="same local label"
        ),
        pytest.param(
            "torch-2.11.0%2Bcu130-cp312-cp312-linux_x86_64.whl", "torch", "2.11.0+cu130", False, id="coded"
        ),
        pytest.param("idna-3.1-py3-none-any.whl", "idna", "3.10", False, id="another version"),
        pytest.param("idna_ssl-3.10-py3-none-any.whl", "idna", "3.10", False, id="another name"),
        pytest.param("idna-3.10.tar.gz", "idna", "3.10", False, id="an sdist"),
        pytest.param("idna-3.10-py3-none-any.whl.part", "idna", "3.10", False, id="a part of a download"),
        pytest.param("idna-not_a_version-py3-none-any.whl", "idna", "not_a_version", False, id="no version"),
        pytest.param("a-1-py3-none-any.whl", "a", "not a version", False, id="no version installed"),
        pytest.param("", "idna", "3.10", False, id="empty"),
        pytest.param("a-1-" + "p." * 2000 + "p-none-any.whl", "a", "1", False, id="endless"),
        pytest.param(
            "a-1-" + "-".join([".".join("abcdefghij")] * 3) + ".whl", "a", "1", False, id="tags multiply"
        ),
    ],
)
def test_fits(filename: str, name: str, version: str, expected: bool) -> None:
    assert wheel_names.fits(filename, name, version) is expected


@pytest.mark.parametrize(
    ("filename", "name", "version", "expected"),
    [
        pytest.param("docopt-0.6.2.tar.gz", "docopt", "0.6.2", True, id="plain"),
        pytest.param("Ruamel.yaml-0.18.zip", "ruamel-yaml", "0.18.0", True, id="spelling"),
        pytest.param("docopt-0.6.2.tar.gz", "docopt", "0.6.3", False, id="another version"),
        pytest.param("docopt-0.6.2.tar.gz", "docopts", "0.6.2", False, id="another name"),
        pytest.param("docopt-0.6.2.tgz", "docopt", "0.6.2", False, id="another ending"),
        pytest.param("docopt-x.tar.gz", "docopt", "x", False, id="no version"),
        pytest.param("", "docopt", "0.6.2", False, id="empty"),
    ],
)
def test_fits_sdist(filename: str, name: str, version: str, expected: bool) -> None:
    assert wheel_names.fits_sdist(filename, name, version) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(
            "a-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "a-1-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            True,
            id="order of tags",
        ),
        pytest.param("A_B-1.0-py3-none-any.whl", "a.b-1.0-py3-none-any.whl", True, id="spelling"),
        pytest.param("a-1-py3-none-any.whl", "a-1-2-py3-none-any.whl", False, id="build number"),
        pytest.param("a-1-py3-none-any.whl", "a-1-py2.py3-none-any.whl", False, id="tags"),
        pytest.param("a-1+x-py3-none-any.whl", "a-1+y-py3-none-any.whl", False, id="local label"),
        pytest.param("a.zip", "a.zip", False, id="no wheels"),
    ],
)
def test_same(one: str, other: str, expected: bool) -> None:
    assert wheel_names.same(one, other) is expected


@pytest.mark.parametrize(
    ("folder", "wheel", "expected"),
    [
        pytest.param("idna-3.10.dist-info", "Tag: py3-none-any\n", "idna-3.10-py3-none-any.whl", id="plain"),
        pytest.param(
            "docopt-0.6.2.dist-info",
            "Wheel-Version: 1.0\nTag: py2-none-any\nTag: py3-none-any\n\n",
            "docopt-0.6.2-py2.py3-none-any.whl",
            id="two pythons",
        ),
        pytest.param(
            "PyYAML-6.0.2.dist-info",
            "Tag: cp312-cp312-manylinux_2_17_x86_64\r\nTag: cp312-cp312-manylinux2014_x86_64\r\n",
            "PyYAML-6.0.2-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            id="two platforms, CRLF",
        ),
        pytest.param(
            "torch-2.10.0.dist-info",
            "Build: 3\nTag: cp312-cp312-linux_x86_64\n",
            "torch-2.10.0-3-cp312-cp312-linux_x86_64.whl",
            id="build number",
        ),
        pytest.param("a-1.dist-info", "Tag: py2.py3-none-any", "a-1-py2.py3-none-any.whl", id="compressed tag"),
        pytest.param("a-1.dist-info", "Wheel-Version: 1.0\n", None, id="no tag"),
        pytest.param(
            "a-1.dist-info",
            f"Tag: {'py3.' * 9000}py3-{'none.' * 9000}none-{'any.' * 9000}any\n",
            "a-1-py3-none-any.whl",
            id="endless repetition",
        ),
        pytest.param("a-1.dist-info", "Tag: py3\n", None, id="half a tag"),
        pytest.param("a-1.dist-info", "Tag: py3-none-any\nTag: cp39-abi3-linux_x86_64\n", None, id="no product"),
        pytest.param("a.egg-info", "Tag: py3-none-any\n", None, id="no dist-info"),
        pytest.param("a-b-1.dist-info", "Tag: py3-none-any\n", None, id="an unescaped name"),
        pytest.param("a-x.dist-info", "Tag: py3-none-any\n", None, id="no version"),
    ],
)
def test_rebuilt(folder: str, wheel: str, expected: str | None) -> None:
    assert wheel_names.rebuilt(folder, wheel) == expected
