from __future__ import annotations

from datetime import date

from envguard.checks import compare
from envguard.model.drift import Finding, Outcome, Result, Severity
from envguard.model.facts import Cpu, Driver, Facts, FileFact, FileKind, SharedPath
from envguard.model.observed import NOT_RECORDED, Absent, Value
from envguard.model.policy import Policy
from envguard.planning.proof import built, expected, inside, joined, only_told
from tests.builders import digest, distribution, facts

TODAY = date(2026, 11, 29)


def outcomes(recorded: Facts, observed: Facts) -> dict[str, Outcome]:
    first = compare(built(recorded), inside(observed), Policy(), TODAY)
    results = joined(first, compare(recorded, observed, Policy(), TODAY))
    told = only_told(first)
    return {result.check: result.outcome for result in results if result.check not in told or result.findings}


def test_what_is_left_out_is_not_expected() -> None:
    recorded = facts(
        files=Value(
            (
                FileFact("demo/x.py", FileKind.MODIFIED, owners=("requests",)),
                FileFact("stray.py", FileKind.UNOWNED),
                FileFact("kept.py", FileKind.UNOWNED),
                FileFact("x.pyc", FileKind.BYTECODE, owners=("torch",)),
                FileFact("y.py", FileKind.UNREADABLE, owners=("torch",)),
            )
        ),
        shared=Value((SharedPath("a", ("requests", "torch"), True), SharedPath("b", ("torch", "triton"), True))),
    )
    left = expected(recorded, {"requests", "stray.py"})
    assert isinstance(left.distributions, Value)
    assert [entry.name for entry in left.distributions.value] == ["torch", "triton"]
    assert left.files == Value((FileFact("kept.py", FileKind.UNOWNED),))
    assert left.shared == Value((SharedPath("b", ("torch", "triton"), True),))
    assert left.torch == recorded.torch


def test_leaving_torch_out_leaves_its_build_out() -> None:
    assert expected(facts(), {"torch"}).torch == NOT_RECORDED


def test_the_machine_is_told_and_the_environment_counts() -> None:
    recorded = facts(driver=Value(Driver("580.159")), cpu=Value(Cpu("x86_64", "one", ("avx512f",))))
    moved = facts(
        driver=Absent(),
        variables=Absent(),
        code=Absent(),
        distributions=Value((distribution("requests", record=digest("another")),)),
    )
    found = outcomes(recorded, moved)
    assert found["distributions"] is Outcome.DRIFT
    assert "driver" not in found
    assert {check for check, outcome in found.items() if outcome is Outcome.DRIFT} <= {
        "distributions",
        "cuda-mix",
        "triton-pin",
        "installer",
    }


def test_a_drift_of_the_machine_becomes_a_note() -> None:
    counts = Result("gpus", Outcome.NOT_RECORDED)
    told = Result(
        "gpus", Outcome.DRIFT, (Finding("cuda:0", "H200", "H100"), Finding("cuda:1", severity=Severity.IGNORED))
    )
    (result,) = joined([counts], [told])
    assert result.outcome is Outcome.MATCH
    assert [finding.severity for finding in result.findings] == [Severity.NOTE, Severity.IGNORED]


def test_an_unknown_of_the_machine_stays_unknown_and_is_allowed() -> None:
    counts, told = Result("driver", Outcome.NOT_RECORDED), Result("driver", Outcome.UNKNOWN, reason="no driver")
    assert joined([counts], [told]) == (told,)
    assert only_told([counts]) == {"driver"}


def test_what_was_built_is_never_softened() -> None:
    counts = Result("files", Outcome.DRIFT, (Finding("x.py"),))
    assert joined([counts], [counts]) == (counts,)
    assert only_told([counts]) == frozenset()


def test_startup_code_outside_the_environment_is_told_and_does_not_count() -> None:
    def customized(seed: str) -> Facts:
        place = "standard library/sitecustomize.py"
        return facts(files=Value((FileFact(place, FileKind.STARTUP, root="path", sha256=digest(seed)),)))

    for recorded, observed in ((customized("a"), customized("b")), (facts(), customized("b"))):
        left = expected(recorded, set())
        counts = compare(built(left), inside(observed), Policy(), TODAY)
        results = joined(counts, compare(left, observed, Policy(), TODAY))
        (result,) = (result for result in results if result.check == "startup-code")
        assert result.outcome is Outcome.MATCH
        assert [finding.severity for finding in result.findings] == [Severity.NOTE]
    same = customized("a")
    results = joined(
        compare(built(same), inside(same), Policy(), TODAY), compare(expected(same, set()), same, Policy(), TODAY)
    )
    assert all(result.findings == () for result in results)


def test_the_same_place_is_not_told_twice() -> None:
    counts = Result("files", Outcome.DRIFT, (Finding("x.py"),))
    told = Result("files", Outcome.DRIFT, (Finding("x.py"), Finding("away.py")))
    (result,) = joined([counts], [told])
    assert result.outcome is Outcome.DRIFT
    assert [(finding.subject, finding.severity) for finding in result.findings] == [
        ("x.py", Severity.DRIFT),
        ("away.py", Severity.NOTE),
    ]
