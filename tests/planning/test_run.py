"""What a run is started with, and what refuses it."""

from __future__ import annotations

from typing import Any

import pytest

from envguard.model.drift import Finding, Outcome, Report, Result, Severity
from envguard.model.facts import Variable, VariableKind, Variables
from envguard.model.hazards import HAZARDS, Diagnosis, Found, Topology, Verdict
from envguard.model.observed import Absent, Value
from envguard.model.preflight import Memory, Space
from envguard.model.run import Run, RunDevice, RunThread
from envguard.model.variables import KNOWN
from envguard.planning.run import LOADS_CODE, decide, topology_of, variables_to_set
from tests.builders import digest, facts

MIB = 1 << 20


def recorded(**values: str) -> Any:
    entries = tuple(
        Variable(name, KNOWN[name].kind if name in KNOWN else VariableKind.KEY, value)
        for name, value in values.items()
    )
    return facts(variables=Value(Variables("shell", entries)))


class TestVariables:
    def test_key_and_numerics_ones_are_set(self) -> None:
        given = variables_to_set(recorded(OMP_NUM_THREADS="8", CUBLAS_WORKSPACE_CONFIG=":4096:8"), {})
        assert given == {"OMP_NUM_THREADS": "8", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}

    def test_those_that_are_so_already_are_not(self) -> None:
        assert variables_to_set(recorded(OMP_NUM_THREADS="8"), {"OMP_NUM_THREADS": "8"}) == {}
        assert variables_to_set(recorded(OMP_NUM_THREADS="8"), {"OMP_NUM_THREADS": "2"}) == {
            "OMP_NUM_THREADS": "8"
        }

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("LD_PRELOAD", "libevil.so"),
            ("PYTHONPATH", "x"),
            ("NCCL_DEBUG", "INFO"),
            ("PATH", "x"),
            ("TORCHINDUCTOR_CPP_MARCH", str(digest("a path"))),
            ("TORCHINDUCTOR_CPP_MARCH", "/tmp/x"),
            ("TORCHINDUCTOR_CPP_MARCH", "a\\b"),
            ("TORCHINDUCTOR_CPP_MARCH", "user@host"),
            ("TORCHINDUCTOR_CPP_MARCH", "a\nb"),
            *((name, "evil") for name in sorted(LOADS_CODE)),
        ],
    )
    def test_nothing_that_leads_to_code_or_is_not_known(self, name: str, value: str) -> None:
        assert variables_to_set(recorded(**{name: value}), {}) == {}

    def test_names_of_code_are_names_of_the_table(self) -> None:
        assert set(KNOWN) >= LOADS_CODE

    def test_a_lock_without_variables(self) -> None:
        assert variables_to_set(facts(variables=Absent()), {}) == {}


class TestTopology:
    def test_is_that_of_the_fullest_process(self) -> None:
        threads = (RunThread("a", "cuda:0", 0), RunThread("b", "cuda:0", 0), RunThread("c", "cuda:1", 1))
        run = Run("2", "c", threads, (RunDevice("cuda:0", reserved_mib=7),))
        assert topology_of(facts(run=Value(run))) == Topology(("cuda:0", "cuda:0"), 7)

    def test_is_not_told_without_a_run(self) -> None:
        assert topology_of(facts()) == Topology()
        assert topology_of(facts(run=Value(Run("2", "c", (), ())))) == Topology()


def report(*results: Result, allowed: frozenset[str] = frozenset()) -> Report:
    return Report("good", "/env", results, allowed_unknown=allowed)


DRIFTED = Result(
    "files",
    Outcome.DRIFT,
    (
        Finding("a.py", "1", "2", "changed", "restore it"),
        Finding("b.py", severity=Severity.NOTE),
        Finding("c.py", severity=Severity.IGNORED),
    ),
)
UNKNOWN = Result("gpus", Outcome.UNKNOWN, (), "no driver here")


def diagnosis(*slugs: str, verdict: Verdict = Verdict.CERTAIN) -> Diagnosis:
    by_slug = {hazard.slug: hazard for hazard in HAZARDS}
    return Diagnosis(tuple(Found(by_slug[slug], verdict, "so it is") for slug in slugs))


class TestDecision:
    def test_nothing_speaks_against(self) -> None:
        decision = decide(report(Result("files", Outcome.MATCH)), Diagnosis())
        assert decision.starts and (decision.refused, decision.forced, decision.warned) == ((), (), ())

    def test_drift_refuses_and_says_what_to_do(self) -> None:
        decision = decide(report(DRIFTED), Diagnosis())
        assert not decision.starts
        assert [(one.check, one.text, one.hint) for one in decision.refused] == [
            ("files", "a.py 1 → 2: changed", "restore it")
        ]

    def test_by_name_it_is_forced(self) -> None:
        decision = decide(report(DRIFTED), Diagnosis(), forced=frozenset({"files"}))
        assert decision.starts and [one.check for one in decision.forced] == ["files"]

    def test_by_another_name_it_is_not(self) -> None:
        assert not decide(report(DRIFTED), Diagnosis(), forced=frozenset({"gpus"})).starts

    def test_unknown_warns_and_starts(self) -> None:
        decision = decide(report(UNKNOWN), Diagnosis())
        assert decision.starts and [one.text for one in decision.warned] == ["unknown: no driver here"]

    def test_unknown_that_is_allowed_is_not_told(self) -> None:
        assert decide(report(UNKNOWN, allowed=frozenset({"gpus"})), Diagnosis()).warned == ()

    @pytest.mark.parametrize(
        ("free", "inodes", "word"),
        [
            (10 * MIB, None, "refused"),
            (1000 * MIB, None, "warned"),
            (5000 * MIB, None, None),
            (5000 * MIB, 10, "refused"),
            (5000 * MIB, 100_000, None),
        ],
        ids=["full", "low", "room", "no files", "files"],
    )
    def test_disk(self, free: int, inodes: int | None, word: str | None) -> None:
        decision = decide(report(UNKNOWN), Diagnosis(), space=[Space("the cache's disk", free, inodes)])
        told = {
            name for name in ("refused", "warned") if any(one.check == "disk" for one in getattr(decision, name))
        }
        assert told == ({word} if word else set())

    def test_memory_of_a_gpu_below_what_the_recorded_run_needed(self) -> None:
        run = Run("2", "c", (), (RunDevice("cuda:0", reserved_mib=90_000, context_mib=600), RunDevice("cuda:1")))
        free = [Memory("cuda:0", 50_000, 143_771), Memory("cuda:1", 1, 143_771), Memory("cuda:2", 1, 2)]
        decision = decide(report(UNKNOWN), Diagnosis(), memory=free, recorded=run)
        assert [(one.check, one.text) for one in decision.refused] == [
            ("gpu-memory", "cuda:0: the recorded run needs 90,600 MiB, 50,000 of 143,771 MiB are free")
        ]
        assert decide(report(UNKNOWN), Diagnosis(), memory=free, recorded=None).starts
        assert decide(
            report(UNKNOWN), Diagnosis(), memory=[Memory("cuda:0", 90_600, 143_771)], recorded=run
        ).starts

    def test_a_hazard_warns_and_says_who_sees_to_it(self) -> None:
        decision = decide(report(UNKNOWN), diagnosis("tracing-flag", "cache-temporary"))
        guarded, other = (one for one in decision.warned if one.check == "hazards")
        assert decision.starts
        assert guarded.text.endswith("(the guard sees to it)") and guarded.hint is None
        assert other.hint is not None and other.hint.startswith("export")

    def test_a_hazard_that_only_may_apply_is_doctor_s_matter(self) -> None:
        assert all(
            one.check != "hazards"
            for one in decide(report(UNKNOWN), diagnosis("tracing-flag", verdict=Verdict.UNKNOWN)).warned
        )

    @pytest.mark.parametrize("slug", ["driver-floor", "compiling-off"])
    def test_a_fatal_hazard_refuses_unless_forced(self, slug: str) -> None:
        assert [one.check for one in decide(report(UNKNOWN), diagnosis(slug)).refused] == ["hazards"]
        assert decide(report(UNKNOWN), diagnosis(slug), forced=frozenset({"hazards"})).starts
