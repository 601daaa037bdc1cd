"""The check compile-cache: the prediction as findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envguard.checks.compile_cache import CHECK
from envguard.formats.report_text import result_lines
from envguard.model.cache import KeySource
from envguard.model.drift import Outcome, Severity
from envguard.model.facts import CacheFound, Driver, Facts
from envguard.model.observed import NOT_RECORDED, Absent, Unobserved, Value
from tests.builders import digest
from tests.model.test_cache_prediction import FACTORS, KEYS, changed, good


def found(facts: Facts) -> Facts:
    """The same keys, as they lay in a folder."""
    return replace(facts, keys=Value(replace(KEYS, source=KeySource.FOUND)))


def test_the_same() -> None:
    result = CHECK.run(good(), good())
    assert (result.outcome, result.findings) == (Outcome.MATCH, ())


def test_another_torch_is_one_line_that_says_so() -> None:
    result = CHECK.run(good(), changed(torch_key=digest("b").hex))
    assert result.outcome is Outcome.DRIFT
    line = next(iter(result_lines(result)))
    short = f"{FACTORS.torch_key or '':.10} → {digest('b').hex[:10]}"
    assert line == (
        "drift compile-cache      cpu, cuda:0 and cuda:1 5 of 5 keys present: "
        f"keyed to another torch: its files differ ({short}); a start would compile"
    )
    assert "envguard warmup" in (result.findings[0].hint or "")


def test_devices_that_miss_for_one_reason_are_one_finding() -> None:
    result = CHECK.run(good(), changed(triton_key=None, threads=1))
    assert [finding.subject for finding in result.findings] == ["cpu", "cuda:0 and cuda:1"]
    assert "CPU threads differs (8 → 1)" in (result.findings[0].detail or "")


@pytest.mark.parametrize("gone", [Absent(), Value(replace(KEYS, devices=()))], ids=["no folder", "no key"])
def test_an_empty_cache(gone: Absent | Value) -> None:  # type: ignore[type-arg]
    result = CHECK.run(good(), good(keys=gone))
    assert result.outcome is Outcome.DRIFT
    (finding,) = result.findings
    assert finding.observed == "0 of 5 keys present"
    assert "5 not in the folder; a start would compile" in (finding.detail or "")


def test_damaged_entries_are_counted() -> None:
    key = KEYS.of("cpu")[0]
    result = CHECK.run(good(), good(keys=Value(replace(KEYS, damaged=(key,)))))
    assert "1 not in the folder, or not whole (1)" in (result.findings[0].detail or "")


@pytest.mark.parametrize(
    "observed", [changed(torch_key=digest("b").hex), good(keys=Absent())], ids=["another torch", "no cache"]
)
def test_keys_as_found_are_never_a_criterion(observed: Facts) -> None:
    result = CHECK.run(found(good()), observed)
    assert result.outcome is Outcome.MATCH
    assert {finding.severity for finding in result.findings} == {Severity.NOTE}
    assert "no criterion" in (result.findings[0].detail or "")


@pytest.mark.parametrize(
    ("recorded", "observed", "outcome"),
    [
        (good(keys=NOT_RECORDED), good(), Outcome.NOT_RECORDED),
        (good(keys=Absent()), good(), Outcome.NOT_RECORDED),
        (good(), good(keys=Unobserved("no permission")), Outcome.UNKNOWN),
        (good(), good(factors=Unobserved("no")), Outcome.UNKNOWN),
        (found(good()), good(factors=Unobserved("no")), Outcome.MATCH),
    ],
    ids=["not recorded", "none when recorded", "folder not seen", "factors not seen", "found, factors not seen"],
)
def test_what_cant_be_told(recorded: Facts, observed: Facts, outcome: Outcome) -> None:
    assert CHECK.run(recorded, observed).outcome is outcome


def test_notes() -> None:
    cache = CacheFound("/c", "default", (), remarks=("others may write in it",))
    recorded = good(keys=Value(replace(KEYS, devices=KEYS.devices[:2])))
    observed = replace(good(driver=Value(Driver("590"))), cache=Value(cache), keys=recorded.keys)
    result = CHECK.run(recorded, observed)
    assert result.outcome is Outcome.MATCH
    told = " ".join(finding.detail or "" for finding in result.findings)
    for words in ("driver 580 → 590", "no recorded key is for cuda:1", "/c: others may write in it"):
        assert words in told
