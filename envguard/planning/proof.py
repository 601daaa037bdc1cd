"""What a restored environment must be held against: what restore built counts, the machine is only told."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from envguard.model.distribution import Distribution
from envguard.model.drift import Outcome, Result, Severity
from envguard.model.facts import Facts, FileFact, FileKind, SharedPath
from envguard.model.observed import NOT_RECORDED, map_value
from envguard.planning.loose_files import ROOTS, concerned

_MADE_ANEW = frozenset({FileKind.BYTECODE, FileKind.UNREADABLE})


def expected(recorded: Facts, left_out: AbstractSet[str]) -> Facts:
    """Recorded facts without what is left out, and without what a restore makes anew."""

    def distributions(entries: tuple[Distribution, ...]) -> tuple[Distribution, ...]:
        return tuple(entry for entry in entries if entry.name not in left_out)

    def files(facts: tuple[FileFact, ...]) -> tuple[FileFact, ...]:
        return tuple(
            fact
            for fact in facts
            if fact.root not in ROOTS or (fact.kind not in _MADE_ANEW and concerned(fact, left_out))
        )

    def shared(paths: tuple[SharedPath, ...]) -> tuple[SharedPath, ...]:
        return tuple(path for path in paths if not set(path.owners) & left_out)

    return replace(
        recorded,
        torch=NOT_RECORDED if "torch" in left_out else recorded.torch,
        distributions=map_value(recorded.distributions, distributions),
        files=map_value(recorded.files, files),
        shared=map_value(recorded.shared, shared),
    )


def built(facts: Facts) -> Facts:
    """The sections that a restore answers for."""
    return Facts(
        interpreter=facts.interpreter,
        torch=facts.torch,
        distributions=facts.distributions,
        files=inside(facts).files,
        shared=facts.shared,
    )


def inside(facts: Facts) -> Facts:
    """Facts without files that lie outside the environment."""

    def files(seen: tuple[FileFact, ...]) -> tuple[FileFact, ...]:
        return tuple(fact for fact in seen if fact.root in ROOTS)

    return replace(facts, files=map_value(facts.files, files))


def joined(built_results: Sequence[Result], all_results: Sequence[Result]) -> tuple[Result, ...]:
    """Results of one comparison of what was built and one of everything, check by check.

    What only the second one finds is the machine's: its drifts become notes.
    """
    return tuple(
        _as_note(told) if counts.outcome is Outcome.NOT_RECORDED else _with_notes(counts, told)
        for counts, told in zip(built_results, all_results, strict=True)
    )


def only_told(built_results: Sequence[Result]) -> frozenset[str]:
    """Checks that speak of the machine: an unknown among them doesn't count."""
    return frozenset(result.check for result in built_results if result.outcome is Outcome.NOT_RECORDED)


def _with_notes(counts: Result, told: Result) -> Result:
    more = tuple(finding for finding in _as_note(told).findings if finding.subject not in _subjects(counts))
    return replace(counts, findings=(*counts.findings, *more))


def _subjects(result: Result) -> frozenset[str]:
    return frozenset(finding.subject for finding in result.findings)


def _as_note(result: Result) -> Result:
    if result.outcome is not Outcome.DRIFT:
        return result
    findings = tuple(
        replace(finding, severity=Severity.NOTE) if finding.severity is Severity.DRIFT else finding
        for finding in result.findings
    )
    return replace(result, outcome=Outcome.MATCH, findings=findings)
