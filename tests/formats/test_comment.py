"""The comment for a pull request: short, what is risky first, equal for equal locks."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

from envguard.checks import compare
from envguard.formats.comment import comment_text, marker
from envguard.formats.run_rows import RunRow, run_rows
from envguard.model.cache import CacheKeys, DeviceKeys, KeySource
from envguard.model.drift import Report
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Absent, Value
from envguard.model.policy import Policy
from tests.builders import digest, distribution, facts, torch_build


def comment(old: Facts, new: Facts, run: tuple[RunRow, ...] = (), name: str = "good") -> str:
    report = Report("good", "good", compare(old, new, Policy(), date(2026, 1, 1)), seconds=0.123)
    return comment_text(report, Lock(name, old), Lock(name, new), run)


def keys(*devices: str, letter: str = "b") -> Value[CacheKeys]:
    name = "fxgraph/f" + letter * 51
    return Value(CacheKeys(KeySource.WARMUP, tuple(DeviceKeys(device, (name,)) for device in devices)))


def test_equal_locks() -> None:
    assert comment(facts(), facts()) == (
        "<!-- envguard-diff: good -->\n### 🟢 envguard: `good` records the same environment\n"
    )


def test_the_incident() -> None:
    """One version, another build, and a wheel whose bytes changed under its version."""
    old = facts(keys=keys("cuda:5", "cuda:6"))
    entries = (
        distribution(),
        distribution("torch", "2.11.0"),
        distribution("triton", "3.6.0", record=digest("o")),
    )
    new = facts(
        torch=Value(torch_build(git_commit="f" * 40, variant="cu128", build="2.11.0+cu128", cuda="12.8")),
        distributions=Value((*entries, distribution("numpy", "2.2"))),
        keys=keys("cuda:5", letter="c"),
    )
    text = comment(old, new, (RunRow("tokens-per-second", "12,800", "11,200"), RunRow("processes", "8", "8")))
    assert text.splitlines()[1] == (
        "### 🔴 envguard: `good` changes: triton (other bytes under one version), torch, torch commit"
    )
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1:7] == [
        "| 🔴 | torch | `2.11.0+cu130` | `2.11.0+cu128` |",
        "| 🔴 | torch commit | `70d99e998b49` | `ffffffffffff` |",
        "| 🔴 | variant | `cu130` | `cu128` |",
        "| 🔴 | CUDA | `13.0` | `12.8` |",
        "| 🔴 | compile cache | `1 keys (cuda:5, cuda:6)` | `1 keys (cuda:5), 0 of them as before` |",
        "| ⚪ | tokens-per-second | `12,800` | `11,200` |",
    ]
    assert rows[8].startswith("| 🔴 | `triton` |")
    assert rows[8].endswith("**same version, other bytes** |")
    assert rows[9] == "| ⚪ | `numpy` | – | `2.2` |"
    assert "processes" not in text
    assert text == comment(old, new, (RunRow("tokens-per-second", "12,800", "11,200"),))


def test_a_new_torch_with_the_old_cache_is_told() -> None:
    text = comment(
        facts(keys=keys("cuda:5")), facts(torch=Value(torch_build(git_commit="f" * 40)), keys=keys("cuda:5"))
    )
    assert "The compile cache's keys are the old ones" in text


def test_nothing_there() -> None:
    text = comment(facts(torch=Absent(), keys=Absent()), facts(keys=keys("cuda:0")))
    assert "| 🔴 | torch | `none` | `2.11.0+cu130` |" in text
    assert "| ⚪ | compile cache | `none` | `1 keys (cuda:0)` |" in text


def test_hundreds_of_wheels_stay_short() -> None:
    many = Value(tuple(distribution(f"name-{number}", "1") for number in range(400)))
    text = comment(facts(), facts(distributions=many))
    assert len(text) < 8000
    assert "Wheels: 400 added, 3 removed" in text
    assert "… and 363 more." in text


def test_names_do_no_harm() -> None:
    run = (RunRow("<img src=x>|`a`", "@everyone", None), RunRow("x" * 100_000, "1", "2"))
    text = comment(facts(), facts(), run, name="good --> <b>")
    assert (
        marker("good --> <b>") == "<!-- envguard-diff: good----b- -->".replace("----", "---")
        or "-->" not in text[:20]
    )
    assert text.splitlines()[0].count("-->") == 1
    assert "<img" not in text
    assert len(text) < 65_536


def test_rows_of_the_run() -> None:
    old: dict[str, Any] = {
        "run": {
            "tokens-per-second": 12800,
            "warm": True,
            "ratio": 0.12345,
            "tolerance": {"slower": 10},
            "threads": [
                {"role": "trainer", "device": "cuda:5", "process": 0},
                {"role": "trainer", "device": "cuda:5"},
            ],
            "devices": [{"device": "cuda:5", "peak-mib": 70100}],
        },
        "warmup": {"devices": ["cuda:5", "cuda:6"], "since": date(2026, 1, 2)},
        "other": {"a": 1},
    }
    rows = {row.name: (row.was, row.now) for row in run_rows(old, {"run": {"tokens-per-second": 11200.5}})}
    assert rows == {
        "tokens-per-second": ("12,800", "11,200"),
        "warm": ("yes", None),
        "ratio": ("0.1235", None),
        "tolerance.slower": ("10", None),
        "trainer cuda:5 process": ("0", None),
        "threads trainer cuda:5 (2)": ("yes", None),
        "cuda:5 peak-mib": ("70,100", None),
        "warmup.devices": ("cuda:5, cuda:6", None),
        "warmup.since": ("2026-01-02", None),
    }
    assert not any(row.moved for row in run_rows(old, None))
    assert run_rows({"run": 3, "warmup": []}, None) == ()
    assert replace(RunRow("a", "1", "1"), now="2").moved
