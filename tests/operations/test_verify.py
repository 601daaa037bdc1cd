"""verify and diff: two sets of facts, one comparison."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from envguard.cli.output import NoProgress
from envguard.formats.record import dump_rows
from envguard.model.distribution import Row
from envguard.model.drift import Outcome, Report
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Unobserved, Value
from envguard.model.policy import Policy
from envguard.model.target import Level, Target
from envguard.operations.verify import diff, verify
from envguard.ports import Store
from tests.builders import digest, distribution, facts, torch_build
from tests.fakes.memory_store import MemoryStore
from tests.fakes.prober import SaidProber

TODAY = date(2026, 11, 29)


def held(recorded: Facts, observed: Facts, *, policy: Policy | None = None, store: Store | None = None) -> Report:
    return verify(
        Lock("good", recorded),
        Target(Path("/env/bin/python"), "--python"),
        level=Level.FAST,
        policy=policy or Policy(),
        today=TODAY,
        prober=SaidProber(observed),
        store=store or MemoryStore(),
        progress=NoProgress(),
    )


def rows(**digests: str) -> dict[tuple[str, str], Row]:
    return {
        ("library", name.replace("__", "/") + ".py"): Row(
            "library", name.replace("__", "/") + ".py", f"sha256:{digest(seed).hex}", "1"
        )
        for name, seed in digests.items()
    }


def test_an_environment_matches_its_own_lock() -> None:
    report = held(facts(), facts())
    assert report.outcome is Outcome.MATCH
    assert report.distributions == 3


def test_the_files_of_another_build_are_named_from_the_stored_rows() -> None:
    store = MemoryStore()
    before, after = rows(torch__version="a", torch__x="x"), rows(torch__version="b", torch__x="x")
    kept = store.put(dump_rows(before))
    recorded = facts(distributions=Value((distribution("torch", record=digest("1"), rows=kept),)))
    observed = facts(distributions=Value((distribution("torch", record=digest("2"), listing=after),)))
    (finding,) = next(
        r for r in held(recorded, observed, store=store).results if r.check == "distributions"
    ).findings
    assert "torch/version.py" in (finding.detail or "")
    (finding,) = next(r for r in held(recorded, observed).results if r.check == "distributions").findings
    assert "not in this store" in (finding.detail or "")


def test_the_prober_gets_the_rows_of_the_lock() -> None:
    store = MemoryStore()
    content = dump_rows(rows(a="a"))
    recorded = facts(distributions=Value((distribution(rows=store.put(content)),)))
    prober = SaidProber(facts(), wanted="requests")
    verify(
        Lock("good", recorded),
        Target(Path("/env/bin/python"), "--python"),
        level=Level.FULL,
        policy=Policy(),
        today=TODAY,
        prober=prober,
        store=store,
        progress=NoProgress(),
    )
    assert prober.baselines == [content]
    assert prober.asked == [Level.FULL]


def test_what_could_not_be_observed_is_never_a_match() -> None:
    for section in ("torch", "distributions", "files", "interpreter", "variables"):
        report = held(facts(), facts(**{section: Unobserved("Input/output error")}))
        assert report.exit_code == 4, section


def test_policies_of_project_and_lock_are_joined() -> None:
    unknown = facts(variables=Unobserved("no"))
    assert held(facts(), unknown, policy=Policy(allow_unknown=frozenset({"variables"}))).exit_code == 0
    lock = Lock("good", facts(), policy=Policy(strict=True))
    assert replace(lock).policy.strict


def test_diff_of_two_locks() -> None:
    other = facts(torch=Value(torch_build(git_commit="1" * 40)))
    report = diff(Lock("a", facts()), Lock("b", other), policy=Policy(), today=TODAY, store=MemoryStore())
    assert (report.recorded, report.observed) == ("a", "b")
    assert [result.check for result in report.results if result.outcome is Outcome.DRIFT] == ["torch-build"]
