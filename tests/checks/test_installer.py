"""Who installed what."""

from __future__ import annotations

import pytest

from envguard.checks.installer import CHECK, family
from envguard.model.distribution import Distribution
from envguard.model.drift import Outcome
from envguard.model.facts import Facts
from envguard.model.observed import Value
from tests.builders import distribution, facts
from tests.checks.lines import lines


def having(*entries: Distribution) -> Facts:
    return facts(distributions=Value(entries))


def by(installer: str | None, *names: str) -> list[Distribution]:
    return [distribution(name, installer=installer) for name in names]


@pytest.mark.parametrize(
    ("installer", "expected"),
    [
        (None, "pip or uv"),
        ("pip", "pip or uv"),
        ("uv", "pip or uv"),
        ("poetry 2.1.3", "pip or uv"),
        ("pdm", "pip or uv"),
        ("conda", "conda"),
        ("Conda", "conda"),
        ("micromamba", "conda"),
        ("dpkg", "the system"),
        ("system", "the system"),
    ],
)
def test_family(installer: str | None, expected: str) -> None:
    assert family(distribution(installer=installer)) == expected


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        pytest.param(by("conda", "numpy"), by("conda", "numpy"), [], id="the same"),
        pytest.param(by("pip", "numpy"), by("uv", "numpy"), [], id="one family"),
        pytest.param(by(None, "numpy"), by("pip", "numpy"), [], id="a lock writes none for pip and uv"),
        pytest.param(
            by("conda", "numpy"),
            by("pip", "numpy"),
            ["drift numpy conda → pip or uv: another kind of installer"],
            id="conda, pip",
        ),
        pytest.param(
            by("conda", "torch", "numpy"),
            [*by("pip", "torch"), *by("conda", "numpy")],
            ["drift torch conda → pip or uv: another kind of installer"],
            id="conda's torch replaced by pip's",
        ),
        pytest.param(
            by("conda", "a", "b", "c", "d", "e", "f"),
            by("uv", "a", "b", "c", "d", "e", "f"),
            ["drift 6 distributions conda → pip or uv: a, b, c and 3 more"],
            id="many",
        ),
        pytest.param([], by("conda", "numpy"), [], id="extra ones are told elsewhere"),
        pytest.param(
            by("uv", "torch"),
            [*by("uv", "torch"), *by("conda", "triton")],
            ["drift torch is installed by pip or uv, triton by conda"],
            id="a mixed stack",
        ),
        pytest.param(
            [*by("conda", "torch"), *by("uv", "nvidia-cublas-cu12")],
            [*by("conda", "torch"), *by("uv", "nvidia-cublas-cu12", "nvidia-nccl-cu12")],
            [
                "note torch is installed by conda, nvidia-cublas-cu12 and nvidia-nccl-cu12 by pip or uv, "
                "as when it was recorded"
            ],
            id="mixed as recorded",
        ),
        pytest.param(
            [*by("conda", "torch"), *by("uv", "triton")],
            [*by("uv", "torch"), *by("conda", "triton")],
            [
                "drift torch conda → pip or uv: another kind of installer",
                "drift triton pip or uv → conda: another kind of installer",
                "drift torch is installed by pip or uv, triton by conda",
            ],
            id="mixed the other way round",
        ),
        pytest.param(
            by("uv", "torch"),
            [*by("uv", "torch"), *by("conda", "numpy", "nvidia-ml-py")],
            [],
            id="what is not of the stack",
        ),
        pytest.param([], [*by("conda", "torchvision"), *by("uv", "triton")], [], id="a stack without torch"),
    ],
)
def test_families(was: list[Distribution], now: list[Distribution], expected: list[str]) -> None:
    assert lines(CHECK, having(*was), having(*now)) == expected


def test_key_and_outcome() -> None:
    result = CHECK.run(having(*by("conda", "numpy")), having(*by("pip", "numpy")))
    assert result.outcome is Outcome.DRIFT
    assert result.findings[0].key == "distribution[numpy]"
