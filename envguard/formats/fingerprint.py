"""A name for one finding that stays the same when lines move, for services that compare two runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envguard.model.digest import Digest
from envguard.model.lint import LintFinding


def fingerprints(findings: Iterable[LintFinding]) -> Iterator[tuple[LintFinding, str]]:
    """Each finding with its fingerprint (hex): of rule, file, key and subject; never of line or wording.

    A second finding of the same name in one run is numbered, since services drop doubles.
    """
    seen: dict[str, int] = {}
    for finding in findings:
        place = finding.key or finding.message
        name = "\0".join((finding.rule, finding.file, place, finding.subject))
        number = seen.get(name, 0)
        seen[name] = number + 1
        yield finding, Digest.of(f"{name}\0{number}".encode("utf-8", "surrogatepass")).hex
