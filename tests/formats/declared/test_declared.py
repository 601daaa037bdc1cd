"""Declaring files: what each kind says, with its line; what can't be understood is told, never a traceback."""

from __future__ import annotations

from textwrap import dedent

import pytest

from envguard.formats.declared import Include, Kind, kind_of, read
from envguard.formats.declared.requirement import split
from envguard.model.declared import Declared


def lines(kind: Kind, text: str, file: str | None = None, by: Include | None = None) -> list[str]:
    """Each declaration in a line: line, name, specifier, and what else it has."""
    found = read(kind, dedent(text).encode(), file or kind.value, by=by)
    assert found.unreadable == ()
    return [_told(entry) for entry in found.declared]


def _told(entry: Declared) -> str:
    rest = {
        "marker": entry.marker,
        "source": entry.source,
        "commit": entry.commit,
        "group": entry.group,
        "hashes": len(entry.hashes),
        "wheels": len(entry.wheels),
        "wanted": entry.wanted,
        "side": entry.side,
    }
    more = [f"{key}={value}" if value is not True else key for key, value in rest.items() if value]
    return " ".join([f"{entry.line}: {entry.name}{entry.specifier}", *more])


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("pyproject.toml", Kind.PYPROJECT),
        ("a/uv.lock", Kind.UV_LOCK),
        ("pylock.toml", Kind.PYLOCK),
        ("pylock.gpu.toml", Kind.PYLOCK),
        ("requirements.txt", Kind.REQUIREMENTS),
        ("requirements-gpu.txt", Kind.REQUIREMENTS),
        ("dev-requirements.txt", Kind.REQUIREMENTS),
        ("requirements/gpu.txt", Kind.REQUIREMENTS),
        ("constraints.txt", Kind.REQUIREMENTS),
        ("environment.yml", Kind.CONDA),
        ("conda-env.yaml", Kind.CONDA),
        ("Dockerfile", Kind.DOCKERFILE),
        ("docker/Dockerfile.gpu", Kind.DOCKERFILE),
        ("gpu.Dockerfile", Kind.DOCKERFILE),
        ("lockfiles/good.toml", None),
        ("notes.txt", None),
        ("docs/gpu.txt", None),
        ("pyproject.toml.bak", None),
    ],
)
def test_kinds(path: str, kind: Kind | None) -> None:
    assert kind_of(path) is kind


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("torch", ("torch", "", None, None)),
        ("Torch_Vision [extra] >= 0.1, < 2", ("torch-vision", ">=0.1,<2", None, None)),
        ("a (==1.0) ; python_version < '3.9'", ("a", "==1.0", "python_version < '3.9'", None)),
        (
            "a @ https://x.example/a-1.whl ; os_name == 'nt'",
            ("a", "", "os_name == 'nt'", "https://x.example/a-1.whl"),
        ),
        ("a===1.0+odd", ("a", "===1.0+odd", None, None)),
        ("a=1", None),
        ("-e .", None),
        ("", None),
        ("a (==1.0", None),
    ],
)
def test_requirements_taken_apart(text: str, parts: tuple[str, str, str | None, str | None] | None) -> None:
    found = split(text)
    assert (None if found is None else (found.name, found.specifier, found.marker, found.url)) == parts


def test_a_commit_of_a_direct_reference() -> None:
    found = split("a @ git+https://x.example/a.git@" + "0a" * 20 + "#egg=a")
    assert found is not None
    assert found.commit == "0a" * 20


def test_requirements_are_taken_apart_in_linear_time() -> None:
    assert split("a" + "==1," * 50_000 + "!") is None
    assert split("a" + "-" * 100_000 + "!") is None


class TestRequirements:
    TEXT = """\
    # what we train with
    --extra-index-url https://download.example/whl/cu128
    torch==2.11.0 \\
        --hash=sha256:{0} \\
        --hash=sha256:{1}
    numpy>=2 ; python_version >= "3.11"   # why
    -r base.txt
    -c limits.txt
    -e .
    ./wheels/local-1.0-py3-none-any.whl
    requests @ https://x.example/requests.whl
    """.replace("{0}", "a" * 64).replace("{1}", "B" * 64)

    def test_lines_hashes_markers_and_indexes(self) -> None:
        assert lines(Kind.REQUIREMENTS, self.TEXT) == [
            "3: torch==2.11.0 source=https://download.example/whl/cu128 hashes=2 wanted",
            '6: numpy>=2 marker=python_version >= "3.11" wanted',
            "11: requests source=https://x.example/requests.whl wanted",
        ]

    def test_includes(self) -> None:
        found = read(Kind.REQUIREMENTS, dedent(self.TEXT).encode(), "requirements.txt")
        assert found.includes == (Include(7, "base.txt"), Include(8, "limits.txt", True))

    def test_other_names_may_be_of_another_environment(self) -> None:
        assert lines(Kind.REQUIREMENTS, "torch==1\n", "requirements-docs.txt") == ["1: torch==1 side"]
        included = lines(Kind.REQUIREMENTS, "torch==1\n", "base.txt", Include(1, "base.txt"))
        assert included == ["1: torch==1 wanted"]
        assert lines(Kind.REQUIREMENTS, "torch==1\n", "c.txt", Include(1, "c.txt", True)) == ["1: torch==1"]

    def test_several_variants_name_none(self) -> None:
        text = "-i https://x.example/whl/cu128\n--extra-index-url https://x.example/whl/cpu\ntorch\n"
        assert lines(Kind.REQUIREMENTS, text) == ["3: torch wanted"]

    def test_what_is_no_requirement(self) -> None:
        found = read(Kind.REQUIREMENTS, b"torch==1\n<<<<<<< HEAD\n", "requirements.txt")
        assert [(entry.line, entry.problem) for entry in found.unreadable] == [
            (2, "not a requirement: '<<<<<<< HEAD'")
        ]

    def test_a_last_line_that_goes_on(self) -> None:
        assert lines(Kind.REQUIREMENTS, "torch==1 \\") == ["1: torch==1 wanted"]


def test_pyproject() -> None:
    text = """\
    [project]
    name = "x"
    requires-python = ">= 3.11"
    dependencies = [
      "torch==2.11.0",  # the one
      'numpy',
      "old==1",
    ]
    [project.optional-dependencies]
    gpu = ["triton==3.6.0"]
    [dependency-groups]
    dev = ["pytest", { include-group = "other" }]
    [tool.uv]
    override-dependencies = ["old==2"]
    constraint-dependencies = ["numpy<3"]
    [[tool.uv.index]]
    name = "gpu-index"
    url = "https://download.example/whl/cu130"
    [tool.uv.sources]
    torch = [
      { index = "gpu-index", marker = "sys_platform == 'linux'" },
      { index = "pytorch-cpu", extra = "cpu" },
    ]
    mine = { git = "https://x.example/mine", rev = "COMMIT" }
    here = { workspace = true }
    """.replace("COMMIT", "0a" * 20)
    assert lines(Kind.PYPROJECT, text) == [
        "3: python>=3.11",
        "5: torch==2.11.0 wanted",
        "6: numpy wanted",
        "10: triton==3.6.0 group=extra gpu",
        "12: pytest group=group dev",
        "15: numpy<3 group=constraint-dependencies",
        "14: old==2",
        "20: torch marker=sys_platform == 'linux' source=https://download.example/whl/cu130",
        "20: torch source=pytorch-cpu group=source for cpu",
        f"24: mine commit={'0a' * 20}",
        "25: here",
    ]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[project\n", 1, "not TOML"),
        ('[project]\ndependencies = [\n  "a",\n  "!b",\n]\n', 4, "not a requirement: '!b'"),
    ],
)
def test_pyproject_that_cant_be_understood(text: str, line: int, words: str) -> None:
    (unreadable,) = read(Kind.PYPROJECT, text.encode(), "pyproject.toml").unreadable
    assert unreadable.line == line
    assert words in unreadable.problem


@pytest.mark.parametrize(
    "text",
    ["project = 1", "[project]\ndependencies = 'x'", "[tool]\nuv = 3", "[dependency-groups]\na = [1]", ""],
)
def test_pyproject_of_odd_types(text: str) -> None:
    found = read(Kind.PYPROJECT, text.encode(), "pyproject.toml")
    assert (found.declared, found.unreadable) == ((), ())


UV_LOCK = """\
version = 1
revision = 3
requires-python = ">=3.12"

[[package]]
name = "demo"
version = "0.1"
source = { editable = "." }
dependencies = [
    { name = "torch" },
]

[[package]]
name = "torch"
version = "2.11.0+cu130"
source = { registry = "https://download.example/whl/cu130" }
resolution-markers = [
    "sys_platform == 'linux'",
]
wheels = [
    { url = "https://x.example/a/torch-2.11.0%2Bcu130-cp312-cp312-linux_x86_64.whl", hash = "sha256:HASH" },
    { path = "torch-2.11.0-cp313-cp313-linux_x86_64.whl", hash = "sha256:HASH" },
]

[[package]]
name = "mine"
version = "1"
source = { git = "https://x.example/mine?rev=main#COMMIT" }
""".replace("HASH", "c" * 64).replace("COMMIT", "0a" * 20)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_uv_lock(newline: str) -> None:
    assert lines(Kind.UV_LOCK, UV_LOCK.replace("\n", newline)) == [
        "15: torch==2.11.0+cu130 source=https://download.example/whl/cu130 wheels=2",
        f"27: mine==1 source=https://x.example/mine?rev=main#{'0a' * 20} commit={'0a' * 20}",
    ]


def test_what_is_no_uv_lock() -> None:
    (unreadable,) = read(Kind.UV_LOCK, b"<<<<<<< HEAD\n", "uv.lock").unreadable
    assert unreadable.line == 1


def test_pylock() -> None:
    text = """\
    lock-version = "1.0"
    requires-python = ">=3.12"
    [[packages]]
    name = "torch"
    version = "2.11.0"
    marker = "sys_platform == 'linux'"
    index = "https://pypi.example/simple"
    [[packages.wheels]]
    url = "https://x.example/torch-2.11.0-cp312-cp312-linux_x86_64.whl"
    hashes = {sha256 = "HASH"}
    [[packages]]
    name = "mine"
    marker = "'gpu' in extras"
    vcs = {type = "git", url = "https://x.example/mine", commit-id = "COMMIT"}
    [[packages]]
    name = "odd"
    wheels = [{path = "odd.whl"}, {hashes = 3}]
    """.replace("HASH", "c" * 64).replace("COMMIT", "0a" * 20)
    torch = "5: torch==2.11.0 marker=sys_platform == 'linux' source=https://pypi.example/simple wheels=1"
    mine = f"11: mine commit={'0a' * 20} group='gpu' in extras"
    assert lines(Kind.PYLOCK, text) == [torch, mine, "15: odd", "2: python>=3.12"]
    assert lines(Kind.PYLOCK, text, "pylock.gpu.toml")[0] == f"{torch} side"
    assert read(Kind.PYLOCK, b"packages = 3", "pylock.toml").declared == ()
    assert read(Kind.PYLOCK, b"= 3", "pylock.toml").unreadable[0].line == 1


class TestConda:
    def test_packages_and_the_list_for_pip(self) -> None:
        text = """\
        name: train
        channels: [conda-forge]
        dependencies:
          - python=3.12
          - pytorch::pytorch=2.5.1=py3.12_cuda12.4_cudnn9.1.0_0
          - pytorch-cuda=12.4
          - numpy>=2,<3
          - "scipy ==1.14.*"
          - pandas
          - a=1|2
          - pip
          - pip:
            - --extra-index-url https://download.example/whl/cu124
            - torchvision==0.20.1
            - -r more.txt
        """
        assert lines(Kind.CONDA, text) == [
            "4: python==3.12.* side",
            "5: torch==2.5.1",
            "6: torch source=cu124",
            "7: numpy>=2,<3 side",
            "8: scipy==1.14.* side",
            "9: pandas side",
            "10: a side",
            "11: pip side",
            "14: torchvision==0.20.1 source=https://download.example/whl/cu124",
        ]
        found = read(Kind.CONDA, dedent(text).encode(), "environment.yml")
        assert found.includes == (Include(15, "more.txt"),)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "dependencies: 3",
            "dependencies: [{pip: 3}, [1], {other: [a]}]",
            "? [a]\n: b\ndependencies: []",
        ],
    )
    def test_odd_types(self, text: str) -> None:
        assert lines(Kind.CONDA, text) == []

    @pytest.mark.parametrize(
        "text", ["a: [", "- " * 5000 + "a", "&a [*b]", "\x00"], ids=["open", "deep", "alias", "NUL"]
    )
    def test_what_is_no_yaml(self, text: str) -> None:
        found = read(Kind.CONDA, text.encode(), "environment.yml")
        assert found.declared == ()

    def test_aliases_are_not_expanded(self) -> None:
        text = "a: &a [x]\n" + "\n".join(
            f"b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}{', *a' * 9}]" for n in range(50)
        )
        assert lines(Kind.CONDA, text) == []


class TestDockerfile:
    def test_lines_that_install_torch(self) -> None:
        text = """\
        # syntax=docker/dockerfile:1
        ARG TORCH=2.11.0
        ENV INDEX="https://download.example/whl/cu128"
        FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime
        RUN --mount=type=cache,target=/root/.cache \\
            apt-get update && \\
            # why
            pip install --no-cache-dir \\
              numpy \\
              "torch==${TORCH}" torchvision~=0.26 --index-url $INDEX \\
            && echo torch==9
        RUN uv pip install torchaudio==${UNKNOWN}
        RUN python -m pip install 'torch>=2.8,<3'
        """
        assert lines(Kind.DOCKERFILE, text) == [
            "10: torch==2.11.0 source=https://download.example/whl/cu128",
            "10: torchvision~=0.26 source=https://download.example/whl/cu128",
            "13: torch>=2.8,<3",
        ]

    def test_a_base_image_that_brings_it(self) -> None:
        text = (
            "FROM --platform=linux/amd64 docker.io/pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel AS base\nRUN true\n"
        )
        assert lines(Kind.DOCKERFILE, text) == ["1: torch==2.5.1 source=cu124"]

    def test_nothing_of_torch(self) -> None:
        assert lines(Kind.DOCKERFILE, "FROM python:3.12\nRUN pip install numpy==1 torch-geometric==2\n") == []


def test_bytes_that_are_no_text() -> None:
    (unreadable,) = read(Kind.REQUIREMENTS, b"a\nb \xff", "requirements.txt").unreadable
    assert (unreadable.line, unreadable.problem) == (2, "not UTF-8 (byte 4)")
