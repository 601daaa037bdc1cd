"""One path, several owners."""

from __future__ import annotations

import pytest

from envguard.checks.shared_files import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, SharedPath
from envguard.model.observed import Value
from tests.builders import facts
from tests.checks.lines import lines

CV = ("opencv-python", "opencv-python-headless")


def having(*paths: SharedPath) -> Facts:
    return facts(shared=Value(paths))


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        pytest.param(
            [],
            [SharedPath("cv2/cv2.so", CV, False)],
            [
                "drift cv2/cv2.so owned by opencv-python and opencv-python-headless, "
                "which disagree: the last one installed wins"
            ],
            id="disagree",
        ),
        pytest.param(
            [],
            [SharedPath("nvidia/__init__.py", ("nvidia-cublas", "nvidia-cufft", "nvidia-nccl-cu13"), True)],
            [
                "note nvidia/__init__.py owned by nvidia-cublas, nvidia-cufft and nvidia-nccl-cu13, which agree",
            ],
            id="agree",
        ),
        pytest.param(
            [],
            [SharedPath(f"cv2/{name}.py", CV, False) for name in "badc"],
            [
                "drift cv2/a.py and 3 other paths owned by opencv-python and opencv-python-headless, "
                "which disagree: the last one installed wins"
            ],
            id="many of the same owners",
        ),
        pytest.param(
            [],
            [SharedPath("b.py", CV, False), SharedPath("a.py", CV, True)],
            [
                "drift b.py owned by opencv-python and opencv-python-headless, "
                "which disagree: the last one installed wins",
                "note a.py owned by opencv-python and opencv-python-headless, which agree",
            ],
            id="both kinds",
        ),
        pytest.param(
            [SharedPath("a.py", CV, True)],
            [SharedPath("a.py", CV, False)],
            [
                "drift a.py owned by opencv-python and opencv-python-headless, "
                "which disagree: the last one installed wins"
            ],
            id="disagree now",
        ),
        pytest.param([SharedPath("a.py", CV, False)], [SharedPath("a.py", CV, False)], [], id="as recorded"),
        pytest.param([SharedPath("a.py", CV, False)], [], [], id="no longer"),
    ],
)
def test_paths(was: list[SharedPath], now: list[SharedPath], expected: list[str]) -> None:
    assert lines(CHECK, having(*was), having(*now)) == expected


def test_key_hint_and_outcome() -> None:
    result = CHECK.run(having(), having(SharedPath("a.py", CV, False)))
    assert result.outcome is Outcome.DRIFT
    assert result.findings[0].key == "distribution[opencv-python]"
    assert (
        result.findings[0].hint == "remove all of opencv-python and opencv-python-headless but one, then restore"
    )
