"""Report → lines of text: a line a drift, worst first, then one line that sums up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envguard.model.drift import Finding, Outcome, Report, Result, Severity

WIDTH = 25
"""Characters of the first column: severity and check."""
SHOWN = 20
"""Findings of one check that are printed; JSON has all."""

HINTS = 5
"""Hints that are printed."""

_ORDER = {Outcome.DRIFT: 0, Outcome.UNKNOWN: 1, Outcome.MATCH: 2, Outcome.NOT_RECORDED: 3}


def report_lines(report: Report, *, quiet: bool = False) -> Iterator[str]:
    """All lines of a report; with ``quiet`` none when everything matches."""
    if quiet and report.outcome is Outcome.MATCH:
        return
    results = sorted(report.results, key=lambda result: _ORDER[result.outcome])
    for result in results:
        yield from result_lines(result)
    yield from hint_lines(results)
    yield summary(report)


def result_lines(result: Result) -> Iterator[str]:
    """Lines of one check: its findings, or why it is unknown."""
    for severity in Severity:
        found = [finding for finding in result.findings if finding.severity is severity]
        for finding in found[:SHOWN]:
            yield f"{_column(severity.value, result.check)}{finding_text(finding)}"
        if len(found) > SHOWN:
            more = f"… and {len(found) - SHOWN:,} more (--format json lists all)"
            yield f"{_column(severity.value, result.check)}{more}"
    if result.outcome is Outcome.UNKNOWN:
        yield f"{_column('unknown', result.check)}{_printable(result.reason or 'could not be observed')}"


def hint_lines(results: Iterable[Result]) -> Iterator[str]:
    """What to do, each thing once, in the order of the drifts."""
    hints = dict.fromkeys(
        finding.hint
        for result in results
        for finding in result.findings
        if finding.hint and finding.severity is Severity.DRIFT
    )
    for hint in list(hints)[:HINTS]:
        yield f"hint: {_printable(hint)}"


def finding_text(finding: Finding) -> str:
    """``subject recorded → observed: detail``, with what there is of it."""
    text = finding.subject
    if finding.recorded is not None and finding.observed is not None:
        text += f" {finding.recorded} → {finding.observed}"
    elif finding.recorded is not None or finding.observed is not None:
        text += f" {finding.recorded or finding.observed}"
    if finding.detail:
        text += f": {finding.detail}" if finding.recorded or finding.observed else f" {finding.detail}"
    if finding.ignored:
        text += f"   (ignored {finding.ignored})"
    return _printable(text)


def summary(report: Report) -> str:
    """The last line."""
    parts = [f"{report.count(Outcome.DRIFT)} drifted"] if report.count(Outcome.DRIFT) else []
    if report.count(Outcome.UNKNOWN):
        parts.append(f"{report.count(Outcome.UNKNOWN)} unknown")
    parts.append(f"{report.count(Outcome.MATCH)} match")
    if report.count(Outcome.NOT_RECORDED):
        parts.append(f"{report.count(Outcome.NOT_RECORDED)} not recorded")
    seen = [report.recorded]
    if report.distributions:
        seen.append(f"{report.distributions:,} distributions")
    if report.files:
        seen.append(f"{report.files:,} files")
    seen.append(f"{report.seconds:.1f} s")
    return f"{', '.join(parts)}   {', '.join(seen)}"


def _column(word: str, check: str) -> str:
    return f"{f'{word} {check}':<{WIDTH - 1}} "


def _printable(text: str) -> str:
    """Control characters of file names and variables don't reach a terminal, lone surrogates neither."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )
