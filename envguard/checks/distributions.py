"""A distribution is missing, extra, or another build.

What drifts: what is installed. Each distribution is compared by its version and by its record
fingerprint: a digest of the RECORD file that every wheel brings, without what installers add. Two
wheels with one version but other files have other fingerprints, wherever they were installed.

Why it changes a training: pip and uv compare version numbers only. When a wheel was replaced under
its name, they keep what they have, or take whatever the index gives today, without a word. The
numbers in the log agree and the kernels do not.
Seen in public: https://github.com/pytorch/pytorch/issues/195141 (two files, both called
triton-3.5.0-cp312, on two indexes).

How to read it: "another build of this version" names the files that differ. "same code, other
WHEEL" means only the wheel's own description differs: a repacked or retagged wheel. "its RECORD
differs; the lock's rows are not in this store" means that the store on this machine never saw the
recorded RECORD, so the files can't be named. pip, setuptools, wheel, uv and envguard being extra or
missing is a note; so is a distribution that was recorded without a fingerprint.

How to mend it: envguard restore builds the recorded environment beside this one. Installing over
the top does not help: the installer sees the version it wants and does nothing. If the change is
meant, record it: envguard snapshot --update.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envguard.checks.check import Check
from envguard.checks.origin import compare_origins, is_editable
from envguard.checks.rows import rows_moved
from envguard.checks.words import RECORD_ANEW, RESTORE, count, few
from envguard.model.distribution import BOOTSTRAP, Distribution
from envguard.model.drift import Finding, Severity

Distributions = tuple[Distribution, ...]


def compare(recorded: Distributions, observed: Distributions) -> Iterator[Finding]:
    """A finding a distribution and difference, by name."""
    was, now = _by_name(recorded), _by_name(observed)
    for name in sorted(was.keys() | now.keys()):
        before, here = was.get(name, ()), now.get(name, ())
        if len(here) > 1:
            yield _twice(name, here)
        elif not here:
            yield _missing(before[0])
        elif not before:
            yield _extra(here[0])
        else:
            yield from _compare(before[0], here[0])
    yield from _without_fingerprint(was, now)


def _compare(was: Distribution, now: Distribution) -> Iterator[Finding]:
    same_record = was.record is not None and (was.record, was.record_data) == (now.record, now.record_data)
    if was.version != now.version:
        yield _finding(was, was.version, now.version, _label_only(was.version, now.version))
    elif not (is_editable(was) and is_editable(now)):
        # An editable install's RECORD names a folder of the machine: its origin is compared instead.
        yield from _compare_records(was, now)
    yield from compare_origins(was, now, same_record)


def _compare_records(was: Distribution, now: Distribution) -> Iterator[Finding]:
    if was.record is None:
        return
    if now.record is None:
        yield _finding(was, None, None, now.problem or "has no RECORD that can be read", _severity_of(now.problem))
    elif was.record != now.record:
        yield _finding(
            was,
            f"{was.version} ({was.record.short})",
            f"{now.version} ({now.record.short})",
            rows_moved(was.listing, now.listing),
        )
    elif was.record_data != now.record_data:
        yield _finding(was, None, None, f"its data files differ: {rows_moved(was.listing, now.listing, 'data')}")


def _severity_of(problem: str | None) -> Severity:
    """A RECORD that is gone or damaged has changed; one that may not be read could not be looked at."""
    blind = problem is not None and any(sign in problem.lower() for sign in _BLIND)
    return Severity.UNKNOWN if blind else Severity.DRIFT


_BLIND = ("permission", "can't be read", "input/output", "i/o error", "timed out")


def _label_only(was: str, now: str) -> str:
    if was.partition("+")[0] == now.partition("+")[0]:
        return "only the local label differs: a wheel from another index, or for another CUDA"
    return "another version"


def _missing(was: Distribution) -> Finding:
    return _finding(was, was.version, "missing", None, _gravity(was))


def _extra(now: Distribution) -> Finding:
    return _finding(now, "none", now.version, "not recorded", _gravity(now), hint=RECORD_ANEW)


def _gravity(entry: Distribution) -> Severity:
    return Severity.NOTE if entry.name in BOOTSTRAP else Severity.DRIFT


def _twice(name: str, here: Distributions) -> Finding:
    folders = [entry.folder or f"{name}-{entry.version}.dist-info" for entry in here]
    return Finding(
        name,
        detail=f"is there {len(here)} times: {few(sorted(folders), len(folders))}; nothing says which is meant",
        hint="remove the folder that is left over, or restore; an interrupted upgrade leaves such pairs",
        key=_key(name),
    )


def _without_fingerprint(was: Mapping[str, Distributions], now: Mapping[str, Distributions]) -> Iterator[Finding]:
    """One note for all that only their version could be compared of."""
    names = [
        name
        for name in sorted(was.keys() & now.keys())
        if was[name][0].record is None and not is_editable(was[name][0])
    ]
    if not names:
        return
    subject = names[0] if len(names) == 1 else count(len(names), "distribution")
    which = "" if len(names) == 1 else f" ({few(names)})"
    detail = f"recorded without a fingerprint, compared by version only{which}"
    yield Finding(subject, detail=detail, severity=Severity.NOTE, key=_key(names[0]))


def _finding(
    entry: Distribution,
    was: str | None,
    now: str | None,
    detail: str | None,
    severity: Severity = Severity.DRIFT,
    hint: str = RESTORE,
) -> Finding:
    return Finding(entry.name, was, now, detail, hint, severity, _key(entry.name))


def _key(name: str) -> str:
    return f"distribution[{name}]"


def _by_name(entries: Iterable[Distribution]) -> Mapping[str, Distributions]:
    names: dict[str, Distributions] = {}
    for entry in entries:
        names[entry.name] = (*names.get(entry.name, ()), entry)
    return names


CHECK = Check(
    slug="distributions",
    explanation=__doc__,
    section=lambda facts: facts.distributions,
    compare=compare,
    show=lambda entries: count(len(entries), "distribution"),
)
