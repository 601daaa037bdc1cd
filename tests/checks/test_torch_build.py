"""Which torch, and what moved."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.checks.torch_build import CHECK
from envguard.model.drift import Outcome
from envguard.model.observed import Absent, Value
from tests.builders import facts, torch_build
from tests.checks.lines import lines

OTHER = "1234567890" + "a" * 30


@pytest.mark.parametrize(
    ("recorded", "observed", "line"),
    [
        pytest.param(
            {"build": "2.11.0+cu128", "variant": "cu128", "cuda": "12.8"},
            {},
            "torch 2.11.0+cu128 → 2.11.0+cu130: variant moved, commit 70d99e998b equal",
            id="variant",
        ),
        pytest.param(
            {},
            {"git_commit": OTHER},
            "torch commit 70d99e998b → 1234567890: build 2.11.0+cu130 equal",
            id="commit alone",
        ),
        pytest.param(
            {},
            {"version": "2.12.0", "build": "2.12.0+cu130", "git_commit": OTHER},
            "torch 2.11.0+cu130 → 2.12.0+cu130: version moved, commit 70d99e998b → 1234567890",
            id="version and commit",
        ),
        pytest.param(
            {},
            {
                "version": "2.12.0+cpu",
                "build": "2.12.0+cpu",
                "git_commit": OTHER,
                "variant": "cpu",
                "cuda": None,
            },
            "torch 2.11.0+cu130 → 2.12.0+cpu: version and variant moved, commit 70d99e998b → 1234567890",
            id="version, variant and commit",
        ),
        pytest.param(
            {},
            {"git_commit": "Unknown"},
            "torch commit 70d99e998b → unknown: build 2.11.0+cu130 equal",
            id="commit unknown now",
        ),
        pytest.param(
            {"git_commit": "Unknown"},
            {"git_commit": "Unknown", "build": "2.11.0a0", "variant": "cpu", "cuda": None},
            "torch 2.11.0+cu130 → 2.11.0a0: variant moved, commit unknown equal",
            id="commit unknown on both sides",
        ),
        pytest.param(
            {},
            {"version": "2.11.0+cu130"},
            "torch version 2.11.0 → 2.11.0+cu130: build 2.11.0+cu130 and commit 70d99e998b equal",
            id="the distribution's version alone, from another index",
        ),
        pytest.param(
            {},
            {"version": "2.11.0+cu130", "git_commit": OTHER},
            "torch commit 70d99e998b → 1234567890: version moved, build 2.11.0+cu130 equal",
            id="version and commit under one build",
        ),
        pytest.param(
            {},
            {"cuda": "13.2"},
            "torch CUDA 13.0 → 13.2: build 2.11.0+cu130 and commit 70d99e998b equal",
            id="CUDA alone",
        ),
        pytest.param(
            {"cuda": None, "hip": "6.4", "variant": "rocm6.4"},
            {"cuda": None, "hip": None, "variant": "rocm6.4"},
            "torch HIP 6.4 → none: build 2.11.0+cu130 and commit 70d99e998b equal",
            id="HIP gone",
        ),
        pytest.param(
            {},
            {"build": "2.11.0+gitabc"},
            "torch 2.11.0+cu130 → 2.11.0+gitabc: build string moved, commit 70d99e998b equal",
            id="the build string alone",
        ),
    ],
)
def test_one_line_says_what_moved(recorded: dict[str, Any], observed: dict[str, Any], line: str) -> None:
    was, now = (facts(torch=Value(torch_build(**changes))) for changes in (recorded, observed))
    assert lines(CHECK, was, now) == [f"drift {line}"]


def test_what_torch_asks_for_is_told_elsewhere() -> None:
    now = facts(torch=Value(torch_build(requires=("triton==3.7.0",), needs=("libcudart.so.12",))))
    assert CHECK.run(facts(), now).outcome is Outcome.MATCH


def test_torch_is_gone() -> None:
    assert lines(CHECK, facts(), facts(torch=Absent())) == ["drift torch 2.11.0+cu130 → none here"]


def test_torch_is_new() -> None:
    assert lines(CHECK, facts(torch=Absent()), facts()) == ["drift torch none → 2.11.0+cu130"]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"build": "x"}, "torch.build"),
        ({"git_commit": OTHER}, "torch.git-commit"),
        ({"version": "2.11.0+cu130"}, "torch.version"),
        ({"cuda": "13.2"}, "torch.cuda"),
    ],
)
def test_key_and_hint(changes: dict[str, Any], key: str) -> None:
    (finding,) = CHECK.run(facts(), facts(torch=Value(torch_build(**changes)))).findings
    assert finding.key == key
    assert finding.hint == "envguard restore builds the recorded environment beside this one"
