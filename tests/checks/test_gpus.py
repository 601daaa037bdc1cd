"""The GPUs, by CUDA's index."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.checks.gpus import CHECK, summary
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, Gpu
from envguard.model.observed import Absent, Value
from tests.builders import facts
from tests.checks.lines import lines

H200 = Gpu(0, "NVIDIA H200", "9.0", 143_771)
H100 = Gpu(0, "NVIDIA H100 80GB HBM3", "9.0", 81_559)
A100 = Gpu(0, "NVIDIA A100-SXM4-80GB", "8.0", 81_920)


def having(*gpus: Gpu) -> Facts:
    return facts(gpus=Value(tuple(replace(gpu, index=place) for place, gpu in enumerate(gpus))))


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        pytest.param([H200], [H200], [], id="the same"),
        pytest.param([H200], [H200, H100], [], id="more"),
        pytest.param(
            [H200, H200],
            [H200],
            ["drift cuda:1 NVIDIA H200 → none: 1 of 2 GPUs are here"],
            id="fewer",
        ),
        pytest.param(
            [H200],
            [H100],
            [
                "drift cuda:0 NVIDIA H200 → NVIDIA H100 80GB HBM3: "
                "another GPU of capability 9.0: the compile cache misses"
            ],
            id="another of the same capability",
        ),
        pytest.param(
            [H200],
            [A100],
            ["drift cuda:0 NVIDIA H200 → NVIDIA A100-SXM4-80GB: capability 9.0 → 8.0"],
            id="another capability",
        ),
        pytest.param(
            [H200],
            [replace(H200, capability="9.1")],
            ["drift cuda:0 capability 9.0 → 9.1: NVIDIA H200"],
            id="the capability alone",
        ),
        pytest.param(
            [H200],
            [replace(H200, memory_mib=71_000)],
            ["note cuda:0 143,771 MiB → 71,000 MiB: less memory"],
            id="less memory",
        ),
        pytest.param([H200], [replace(H200, memory_mib=150_000)], [], id="more memory"),
        pytest.param(
            [H200, H100],
            [H100, H200],
            [
                "drift cuda:0 NVIDIA H200 → NVIDIA H100 80GB HBM3: "
                "another GPU of capability 9.0: the compile cache misses",
                "drift cuda:1 NVIDIA H100 80GB HBM3 → NVIDIA H200: "
                "another GPU of capability 9.0: the compile cache misses",
            ],
            id="another order",
        ),
    ],
)
def test_gpus(was: list[Gpu], now: list[Gpu], expected: list[str]) -> None:
    assert lines(CHECK, having(*was), having(*now)) == expected


def test_none_here_is_unknown() -> None:
    result = CHECK.run(having(*[H200] * 8), facts(gpus=Absent()))
    assert result.outcome is Outcome.UNKNOWN
    assert result.reason == "no NVIDIA GPU on this machine; the lock was made with 8 × NVIDIA H200"


def test_new_is_a_note() -> None:
    assert lines(CHECK, facts(gpus=Absent()), having(H200)) == ["note gpus none → 1 × NVIDIA H200"]


def test_summary() -> None:
    assert summary((replace(H200, index=1), H100, replace(H200, index=2))) == (
        "1 × NVIDIA H100 80GB HBM3, 2 × NVIDIA H200"
    )
    assert summary(()) == "no GPUs"


def test_key() -> None:
    (finding,) = CHECK.run(having(H200, H200), having(H200)).findings
    assert finding.key == "machine.gpus[1]"
