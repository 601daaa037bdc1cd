"""Two CUDA majors in one environment."""

from __future__ import annotations

import pytest

from envguard.checks.cuda_mix import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts
from envguard.model.observed import Absent, Unobserved, Value
from tests.builders import distribution, facts, torch_build
from tests.checks.lines import lines

CU12 = {"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cuda-runtime-cu12": "12.8.90", "nvidia-nccl-cu12": "2.27.3"}
CU13 = {"nvidia-cublas": "13.1.2.11", "nvidia-cuda-runtime": "13.2.86", "nvidia-cufft": "12.4.0.43"}


def having(distributions: dict[str, str], *needs: str) -> Facts:
    entries = tuple(distribution(name, version) for name, version in distributions.items())
    return facts(distributions=Value(entries), torch=Value(torch_build(needs=needs)))


@pytest.mark.parametrize(
    ("now", "words"),
    [
        pytest.param(
            having(CU13 | {"nvidia-cublas-cu12": "12.8.4.1"}, "libcublas.so.13", "libcudart.so.13"),
            "nvidia-cublas-cu12 belongs to CUDA 12, beside nvidia-cublas, nvidia-cuda-runtime and 1 more "
            "of CUDA 13; torch needs libcublas.so.13",
            id="one odd",
        ),
        pytest.param(
            having(CU12 | CU13, "libcudart.so.13"),
            "nvidia-cublas-cu12 and 2 more belong to CUDA 12, "
            "beside nvidia-cublas, nvidia-cuda-runtime and 1 more of CUDA 13; torch needs libcudart.so.13",
            id="a whole second set",
        ),
        pytest.param(
            having(CU12 | {"nvidia-cublas": "13.1.2.11"}, "libcudart.so.12"),
            "nvidia-cublas belongs to CUDA 13, beside nvidia-cublas-cu12, nvidia-cuda-runtime-cu12 and 1 more "
            "of CUDA 12; torch needs libcudart.so.12",
            id="the newer is odd to torch",
        ),
        pytest.param(
            having(CU12, "libcudart.so.13"),
            "nvidia-cublas-cu12 and 2 more belong to CUDA 12; torch needs libcudart.so.13",
            id="torch needs another",
        ),
        pytest.param(
            having({"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cublas": "13.1.2.11"}),
            "nvidia-cublas-cu12 belongs to CUDA 12, beside nvidia-cublas of CUDA 13",
            id="torch needs none",
        ),
        pytest.param(
            having({"cupy-cuda11x": "13", "nvidia-cublas-cu12": "12", "nvidia-cublas": "13.1"}, "libcudart.so.13"),
            "cupy-cuda11x and 1 more belong to CUDA 11 and 12, beside nvidia-cublas of CUDA 13; "
            "torch needs libcudart.so.13",
            id="three majors",
        ),
    ],
)
def test_a_new_mixture(now: Facts, words: str) -> None:
    assert lines(CHECK, facts(), now) == [f"drift {words}"]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(having(CU12, "libcudart.so.12"), id="CUDA 12"),
        pytest.param(having(CU13, "libcudart.so.13", "libcufft.so.12", "libcudnn.so.9"), id="CUDA 13"),
        pytest.param(having({}, "libcudart.so.13"), id="torch brings its own, or the machine's"),
        pytest.param(having({"nvidia-ml-py": "13.580.82"}, "libcudart.so.12"), id="a binding of the driver"),
        pytest.param(having({}), id="none at all"),
    ],
)
def test_no_mixture(now: Facts) -> None:
    assert CHECK.run(facts(), now).outcome is Outcome.MATCH


def test_a_recorded_mixture_is_a_note() -> None:
    mixed = having({"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cublas": "13.1.2.11"}, "libcudart.so.13")
    assert lines(CHECK, mixed, mixed) == [
        "note nvidia-cublas-cu12 belongs to CUDA 12, beside nvidia-cublas of CUDA 13; "
        "torch needs libcudart.so.13, as when it was recorded"
    ]


def test_another_mixture_than_the_recorded_is_a_drift() -> None:
    was = having({"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cublas": "13.1.2.11"}, "libcudart.so.12")
    now = having({"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cublas": "13.1.2.11"}, "libcudart.so.13")
    assert CHECK.run(was, now).outcome is Outcome.DRIFT


def test_a_mixture_that_went_is_fine() -> None:
    was = having({"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cublas": "13.1.2.11"}, "libcudart.so.13")
    assert CHECK.run(was, having(CU13, "libcudart.so.13")).outcome is Outcome.MATCH


@pytest.mark.parametrize("torch", [Absent(), Unobserved("no permission")])
def test_without_torch_the_distributions_speak(torch: Absent | Unobserved) -> None:
    from dataclasses import replace

    now = replace(having({"nvidia-cublas-cu12": "12", "nvidia-cublas": "13.1"}), torch=torch)
    assert CHECK.run(facts(), now).outcome is Outcome.DRIFT


def test_key() -> None:
    (finding,) = CHECK.run(facts(), having(CU12, "libcudart.so.13")).findings
    assert finding.key == "distribution[nvidia-cublas-cu12]"
