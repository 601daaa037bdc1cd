"""Preflight: one look at the environment, everything that hangs on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from envguard.cli.output import NoProgress
from envguard.model.facts import Facts
from envguard.model.hazards import Seen
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.policy import Policy
from envguard.model.preflight import Memory, Space
from envguard.model.run import Run, RunDevice, RunThread
from envguard.model.target import Layout, Level, Target
from envguard.operations.run import Preflight, WithRun, preflight
from tests.builders import facts, torch_build
from tests.fakes.memory_store import MemoryStore
from tests.fakes.prober import SaidProber

TARGET = Target(Path("/env/bin/python"), "--python")
RUN = Run(
    "2.11.0", "c", (RunThread("a", "cuda:0"), RunThread("b", "cuda:0")), (RunDevice("cuda:0", reserved_mib=500),)
)


@dataclass(frozen=True)
class SaidSurroundings:
    """Implements ``ports.Surroundings``."""

    said: Seen

    def seen(self, layout: Layout) -> Seen:
        return self.said


@dataclass(frozen=True)
class SaidHeadroom:
    """Implements ``ports.Headroom``."""

    spaces: Sequence[Space] = ()
    memories: Sequence[Memory] = ()

    def space(self) -> Sequence[Space]:
        return self.spaces

    def memory(self) -> Sequence[Memory]:
        return self.memories


def look(recorded: Facts, observed: Facts, *, prober: SaidProber | None = None, **rest: Any) -> Preflight:
    return preflight(
        Lock("good", recorded),
        TARGET,
        policy=Policy(),
        today=date(2026, 11, 29),
        forced=rest.get("forced", frozenset()),
        prober=prober or SaidProber(observed),
        surroundings=SaidSurroundings(rest.get("seen", Seen())),
        headroom=rest.get("headroom", SaidHeadroom()),
        store=MemoryStore(),
        progress=NoProgress(),
    )


def test_an_environment_that_matches_starts() -> None:
    prober = SaidProber(facts())
    seen = look(facts(), facts(), prober=prober)
    assert seen.decision.starts and seen.report.exit_code == 0
    assert prober.asked == [Level.FAST]  # once, and files too


def test_another_torch_refuses() -> None:
    seen = look(facts(), facts(torch=Value(torch_build(variant="cu128", build="2.11.0+cu128"))))
    assert {one.check for one in seen.decision.refused} >= {"torch-build"}


def test_the_recorded_threads_say_which_hazards_apply() -> None:
    seen = look(facts(run=Value(RUN)), facts())
    assert "shared-device" in {found.hazard.slug for found in seen.diagnosis.found}
    assert any("2 threads on cuda:0" in one.text for one in seen.decision.warned)


def test_memory_and_disk_are_looked_at() -> None:
    headroom = SaidHeadroom([Space("the disk", 0)], [Memory("cuda:0", 100, 1000)])
    seen = look(facts(run=Value(RUN)), facts(), headroom=headroom)
    assert {one.check for one in seen.decision.refused} == {"disk", "gpu-memory"}
    assert look(
        facts(run=Value(RUN)), facts(), headroom=headroom, forced=frozenset({"disk", "gpu-memory"})
    ).decision.starts


def test_a_variable_that_switches_compiling_off_refuses() -> None:
    seen = look(facts(), facts(), seen=Seen(disabling=("TORCHDYNAMO_DISABLE=1",)))
    assert [one.check for one in seen.decision.refused] == ["hazards"]


def test_a_prober_with_a_run() -> None:
    said = SaidProber(facts(), files={"a.py": b"x"})
    prober = WithRun(said, RUN)
    seen = prober.facts(TARGET, Level.METADATA, baseline=lambda _: None, progress=NoProgress())
    assert seen.run == Value(RUN) and seen.torch == facts().torch
    assert prober.layout(TARGET) == said.layout(TARGET)
