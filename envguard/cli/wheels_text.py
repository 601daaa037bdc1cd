"""Lines of ``inspect``, ``find``, ``identify`` and ``challenge``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envguard.model.wheel_facts import Says, WheelFacts

if TYPE_CHECKING:
    from envguard.model.distribution import Distribution
    from envguard.operations.challenge import Challenge, Challenged
    from envguard.operations.find import Search
    from envguard.operations.identify import Identification, Identified
    from envguard.operations.inspect import Inspection

_WORD = {Says.INDEX: "the source's word", Says.BYTES: "its bytes, hashed", None: ""}
_SHOWN = 12


def inspect_lines(seen: Inspection) -> Iterator[str]:
    """A block for every file, then what sets them apart."""
    for facts in seen.wheels:
        yield facts.filename
        for key, value in _rows(facts):
            if value:
                yield f"  {key:<18} {value}"
    for one in seen.compared:
        yield f"{one.first} and {one.second}:"
        yield f"  {one.text}"
    if seen.others:
        yield f"{seen.others} more files of this version are for others (--python any --platform any)"


def _rows(facts: WheelFacts) -> Iterator[tuple[str, str | None]]:
    content, torch = facts.content, facts.content.torch
    yield "version", facts.version + (f", build tag {facts.build_tag}" if facts.build_tag else "")
    if torch is not None:
        yield "torch build", torch.build
        yield "git commit", torch.git_commit
        yield "cuda", torch.cuda
        yield "hip", torch.hip
    yield "variant", facts.variant
    yield "driver", f"at least {facts.driver_floor}" if facts.driver_floor else None
    yield "gpu architectures", ", ".join(content.architectures)
    yield "triton", ", ".join(one for one in content.requires if "triton" in one)
    yield "nvidia", _some(tuple(one for one in content.requires if "triton" not in one))
    yield "requires python", facts.requires_python
    yield "size", f"{facts.size:,} bytes, {content.files:,} files" if facts.size is not None else None
    yield "sha256", f"{facts.sha256.hex} ({_WORD[facts.says]})" if facts.sha256 else "not told by the source"
    yield "record", " or ".join(dict.fromkeys(one.record.hex for one in content.fingerprints))
    yield "uploaded", facts.uploaded.strftime("%Y-%m-%d %H:%M:%SZ") if facts.uploaded else None
    yield "yanked", None if facts.yanked is None else facts.yanked or "yes, no reason given"
    yield "source", f"{facts.source}: {facts.location}"
    yield "read by", _cost(facts)
    yield from (("note", remark) for remark in facts.remarks)


def _cost(facts: WheelFacts) -> str | None:
    if facts.cost.kept:
        return "what was read before (cache)"
    if facts.cost.downloaded:
        return f"a download of {facts.cost.size:,} bytes"
    return f"{facts.cost.requests} requests, {facts.cost.size:,} bytes" if facts.cost.requests else None


def _some(texts: tuple[str, ...]) -> str:
    return ", ".join(texts[:_SHOWN]) + (f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else "")


def find_lines(search: Search, commit: str) -> Iterator[str]:
    """A line a build, newest first, then how much was searched."""
    for found in search.found:
        facts = found.wheel
        torch = facts.content.torch
        build = f"{torch.build}  {torch.git_commit}" if torch else facts.version
        size = f"  {facts.size:,} bytes" if facts.size is not None else ""
        day = f"  {facts.uploaded.date().isoformat()}" if facts.uploaded else ""
        yield f"torch {build}  {facts.variant}  {facts.filename}{size}{day}  ({facts.source})"
        if facts.sha256:
            yield f"  {facts.sha256} ({_WORD[facts.says]})"
        if found.files > 1:
            yield f"  {found.files - 1} more files of this version were not read"
    yield (
        f"{len(search.found)} of {search.searched} builds searched are of commit {commit.lower()}"
        + (f", {search.builds - search.searched} were not searched" if search.searched < search.builds else "")
        + (f"; {len(search.failures)} could not be read" if search.failures else "")
    )


def identify_lines(seen: Identification, *, quiet: bool) -> Iterator[str]:
    """A line a distribution, those that are open last, then a sum."""
    for entry in seen.entries:
        if entry.settled and not quiet:
            yield f"{_name(entry.distribution)}  {_evidence(entry)}"
    for entry in seen.open:
        yield f"{_name(entry.distribution)}  unknown         {entry.remark or 'nothing is known of its wheel'}"
    if not quiet or seen.open:
        yield f"{len(seen.entries) - len(seen.open)} of {len(seen.entries)} distributions identified"


def _name(one: Distribution) -> str:
    return f"{f'{one.name} {one.version}':<36}"


def _evidence(entry: Identified) -> str:
    wheel, origin = entry.distribution.wheel, entry.distribution.origin
    if origin is not None and wheel.sha256 is None:
        kind = "editable" if origin.editable else origin.kind
        return f"{kind:<15} {origin.url or ''}{'@' + origin.commit[:12] if origin.commit else ''}".rstrip()
    parts = [f"{wheel.evidence.value:<15}", wheel.filename or ""]
    if wheel.sha256 is not None:
        parts.append(f"sha256:{wheel.sha256.short}…")
    if wheel.sdist is not None:
        parts.append(f"from {wheel.sdist}")
    if wheel.index is not None:
        parts.append(f"({wheel.index})")
    return " ".join(part for part in parts if part)


def challenge_lines(result: Challenge, *, quiet: bool) -> Iterator[str]:
    """What differs first, then what could not be asked, then what is worth knowing, then a sum."""
    from envguard.operations.challenge import Verdict

    for verdict in (Verdict.DIFFERS, Verdict.UNREACHED):
        for entry in result.entries:
            if entry.verdict is verdict:
                yield from _challenged(entry)
    if not quiet:
        for entry in result.entries:
            if entry.verdict is Verdict.SAME:
                yield from (f"note {entry.name} {entry.version}: {remark}" for remark in entry.remarks)
    if not quiet or result.exit_code:
        words = {
            Verdict.SAME: "as locked",
            Verdict.DIFFERS: "differ",
            Verdict.UNREACHED: "could not be asked for",
            Verdict.LEFT_OUT: "left out",
        }
        counts = [f"{result.count(verdict)} {text}" for verdict, text in words.items() if result.count(verdict)]
        yield f"{', '.join(counts) or 'no wheels'}   {result.lock}"


def _challenged(entry: Challenged) -> Iterator[str]:
    yield f"{entry.verdict.value} {entry.name} {entry.version} {entry.filename}"
    for one in entry.witnesses:
        word = {True: "same", False: "differs", None: "unknown"}[one.same]
        digest = f" sha256:{one.sha256.short}…" if one.sha256 else ""
        yield f"  {one.source or 'sources':<16} {word:<8}{digest} {one.text}".rstrip()
    yield from (f"  note: {remark}" for remark in entry.remarks)
