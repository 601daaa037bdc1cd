"""Torch's own word about itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from envguard.checks.live_torch import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, Live
from envguard.model.observed import NOT_ASKED, NOT_RECORDED, Absent, Unobserved, Value
from tests.builders import COMMIT, facts
from tests.checks.lines import lines

LIVE = Live("2.11.0+cu130", COMMIT, "13.0", "9.12.0", "2.27.7", ("sm_90",), "float32", ())
FILES = facts()
"""A lock that was made without --live."""


def having(**changes: Any) -> Facts:
    return facts(live=Value(replace(LIVE, **changes)))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"build": "2.10.0+cu130"}, "torch imported build 2.11.0+cu130 → 2.10.0+cu130"),
        ({"git_commit": "1234567890abc"}, "torch imported commit 70d99e998b → 1234567890"),
        ({"cuda": None}, "torch imported CUDA 13.0 → none"),
    ],
    ids=["build", "commit", "CUDA"],
)
@pytest.mark.parametrize("was", [FILES, having()], ids=["from files", "from live"])
def test_another_torch(was: Facts, changes: dict[str, Any], line: str) -> None:
    assert lines(CHECK, was, having(**changes)) == [f"drift {line}: as torch says it of itself"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"cudnn": "9.1.0"}, "torch cuDNN 9.12.0 → 9.1.0"),
        ({"nccl": None}, "torch NCCL 2.27.7 → none"),
        ({"default_dtype": "float64"}, "torch default dtype float32 → float64"),
    ],
    ids=["cudnn", "nccl", "dtype"],
)
def test_what_files_do_not_tell(changes: dict[str, Any], line: str) -> None:
    assert lines(CHECK, having(), having(**changes)) == [f"drift {line}: as torch says it of itself"]
    assert lines(CHECK, FILES, having(**changes)) == []


def test_outside_libraries() -> None:
    now = having(outside=("libnccl.so.2", "libcuda.so.1", "libnvidia-ml.so.1"))
    assert lines(CHECK, having(), now) == ["drift libnccl.so.2 loaded from outside the environment"]
    assert lines(CHECK, now, now) == []
    assert lines(CHECK, now, having()) == ["note libnccl.so.2 no longer loaded from outside the environment"]


def test_outside_libraries_of_a_lock_that_does_not_know_them() -> None:
    assert lines(CHECK, FILES, having(outside=("libnccl.so.2",))) == [
        "note libnccl.so.2 loaded from outside the environment "
        "(the lock was made without --live: it doesn't say whether it was then)"
    ]


@pytest.mark.parametrize(
    ("was", "now", "outcome", "reason"),
    [
        pytest.param(FILES, having(), Outcome.MATCH, None, id="held against the files"),
        pytest.param(FILES, FILES, Outcome.NOT_RECORDED, "looked at with --live only", id="not asked for"),
        pytest.param(
            having(),
            FILES,
            Outcome.UNKNOWN,
            "recorded with --live, looked at with --live only",
            id="recorded, and not asked for",
        ),
        pytest.param(
            having(), facts(live=NOT_ASKED), Outcome.NOT_RECORDED, "not asked for", id="recorded, and not asked"
        ),
        pytest.param(
            FILES, facts(live=NOT_ASKED), Outcome.NOT_RECORDED, "looked at with --live only", id="not asked"
        ),
        pytest.param(
            FILES,
            facts(live=Unobserved("torch can't be imported: no module named x")),
            Outcome.UNKNOWN,
            "torch can't be imported: no module named x",
            id="could not be imported",
        ),
        pytest.param(
            facts(torch=NOT_RECORDED), having(), Outcome.NOT_RECORDED, "not recorded", id="no torch recorded"
        ),
    ],
)
def test_what_there_is_to_compare(was: Facts, now: Facts, outcome: Outcome, reason: str | None) -> None:
    result = CHECK.run(was, now)
    assert (result.outcome, result.reason) == (outcome, reason)


def test_no_torch_to_import() -> None:
    assert lines(CHECK, FILES, facts(live=Absent())) == ["drift torch 2.11.0+cu130 → can't be imported"]


@pytest.mark.parametrize(("was", "key"), [(FILES, "torch.git-commit"), (having(), "live.git-commit")])
def test_key(was: Facts, key: str) -> None:
    (finding,) = CHECK.run(was, having(git_commit="x")).findings
    assert finding.key == key
