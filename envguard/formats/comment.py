"""Two locks → a comment for a pull request: short, what is risky first, equal text for equal locks.

Its first line is a comment in Markdown by which a bot finds it again, to update it in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from envguard.formats.markdown import code, plain, table
from envguard.formats.run_rows import RunRow
from envguard.model.cache import CacheKeys
from envguard.model.distribution import Distribution
from envguard.model.drift import Outcome, Report
from envguard.model.facts import Facts, TorchBuild
from envguard.model.lock import Lock
from envguard.model.observed import Observed, value_or_none

T = TypeVar("T")

_ROWS = 40
"""Rows of a table; the lock has all."""
_LONGEST = 60_000
"""Characters; GitHub takes 65,536."""
_BY_TORCH = (
    "torch",
    "triton",
    "pytorch-triton",
    "torchvision",
    "torchaudio",
    "nvidia-",
    "cuda-",
    "flash-attn",
    "xformers",
)


@dataclass(frozen=True, slots=True)
class _Row:
    """``grave``: it makes the run another one, or the compile cache cold."""

    what: str
    was: str
    now: str
    grave: bool = True


@dataclass(frozen=True, slots=True)
class _Wheel:
    name: str
    was: Distribution | None
    now: Distribution | None

    @property
    def silent(self) -> bool:
        """Another build under one version: the change that nobody sees."""
        return self.was is not None and self.now is not None and self.was.version == self.now.version

    @property
    def risk(self) -> tuple[bool, bool, bool, str]:
        """For sorting: silent ones, then torch's own, then what moved before what is new."""
        return not self.silent, not self.name.startswith(_BY_TORCH), self.was is None, self.name


def comment_text(report: Report, old: Lock, new: Lock, run: Iterable[RunRow] = ()) -> str:
    """The whole comment. ``report`` is their diff."""
    rows = [*_torch(old.facts, new.facts), *_machine(old.facts, new.facts), *_cache(old.facts, new.facts)]
    moved = [row for row in run if row.moved]
    rows += [_Row(row.name, row.was or "–", row.now or "–", grave=False) for row in moved]
    wheels = sorted(_wheels(old.facts, new.facts), key=lambda wheel: wheel.risk)
    lines = [marker(new.name), _title(report, new, rows, wheels), ""]
    if rows:
        cells = [(_icon(row.grave), plain(row.what), code(row.was), code(row.now)) for row in rows[:_ROWS]]
        lines += [*table(("", "", "before", "after"), cells), ""]
    lines += [*_wheel_lines(wheels), *_others(report), *_advice(rows, wheels)]
    return _cut("\n".join(lines).rstrip() + "\n")


def marker(name: str) -> str:
    """The line by which a comment of this lock is found again."""
    return f"<!-- envguard-diff: {re.sub(r'[^A-Za-z0-9._]+', '-', name)} -->"


def _title(report: Report, new: Lock, rows: list[_Row], wheels: list[_Wheel]) -> str:
    if report.outcome is Outcome.MATCH and not rows and not wheels:
        return f"### 🟢 envguard: {code(new.name)} records the same environment"
    if report.outcome is Outcome.UNKNOWN and not rows and not wheels:
        unknown = ", ".join(result.check for result in report.results if result.outcome is Outcome.UNKNOWN)
        return f"### 🟡 envguard: {code(new.name)}: nothing moved, but {plain(unknown)} could not be compared"
    grave = [f"{wheel.name} (other bytes under one version)" for wheel in wheels if wheel.silent]
    grave += [row.what for row in rows if row.grave]
    icon = "🔴" if grave else "🟡"
    what = plain(", ".join(grave[:3])) if grave else f"{len(wheels)} of the wheels" if wheels else "details"
    return f"### {icon} envguard: {code(new.name)} changes: {what}"


def _torch(old: Facts, new: Facts) -> Iterator[_Row]:
    was, now = value_or_none(old.torch), value_or_none(new.torch)
    reads: tuple[tuple[str, Callable[[TorchBuild], str | None]], ...] = (
        ("torch", lambda torch: torch.build),
        ("torch commit", lambda torch: torch.git_commit[:12]),
        ("variant", lambda torch: torch.variant),
        ("CUDA", lambda torch: torch.cuda or torch.hip),
    )
    for what, read in reads:
        before, after = (read(was) if was else None), (read(now) if now else None)
        if before != after:
            yield _Row(what, before or "none", after or "none")


def _machine(old: Facts, new: Facts) -> Iterator[_Row]:
    reads: tuple[tuple[str, Callable[[Facts], str | None], bool], ...] = (
        ("Python", lambda facts: _read(facts.interpreter, lambda python: python.version), False),
        ("driver", lambda facts: _read(facts.driver, lambda driver: driver.version), False),
        ("GPUs", lambda facts: _read(facts.gpus, lambda gpus: ", ".join(gpu.name for gpu in gpus)), True),
    )
    for what, read, grave in reads:
        before, after = read(old), read(new)
        if before != after:
            yield _Row(what, before or "none", after or "none", grave)


def _read(seen: Observed[T], read: Callable[[T], str]) -> str | None:
    value = value_or_none(seen)
    return None if value is None else read(value)


def _cache(old: Facts, new: Facts) -> Iterator[_Row]:
    was, now = value_or_none(old.keys), value_or_none(new.keys)
    if (was and was.fingerprint) == (now and now.fingerprint):
        return
    kept = len(set(was.names) & set(now.names)) if was and now else 0
    after = _keys(now) + (f", {kept:,} of them as before" if was and now else "")
    yield _Row("compile cache", _keys(was), after, kept < len(was.names) if was else False)


def _keys(keys: CacheKeys | None) -> str:
    if keys is None:
        return "none"
    devices = ", ".join(entry.device for entry in keys.devices)
    return f"{len(keys.names):,} keys ({devices})"


def _wheels(old: Facts, new: Facts) -> Iterator[_Wheel]:
    was = {entry.name: entry for entry in value_or_none(old.distributions) or ()}
    now = {entry.name: entry for entry in value_or_none(new.distributions) or ()}
    for name in was.keys() | now.keys():
        before, after = was.get(name), now.get(name)
        if before is None or after is None or _identity(before) != _identity(after):
            yield _Wheel(name, before, after)


def _identity(entry: Distribution) -> tuple[object, ...]:
    return entry.version, entry.record, entry.record_data, entry.origin


def _wheel_lines(wheels: list[_Wheel]) -> Iterator[str]:
    if not wheels:
        return
    moved = sum(wheel.was is not None and wheel.now is not None for wheel in wheels)
    added, gone = sum(wheel.was is None for wheel in wheels), sum(wheel.now is None for wheel in wheels)
    parts = [
        f"{number} {word}" for number, word in ((moved, "changed"), (added, "added"), (gone, "removed")) if number
    ]
    yield f"<details{' open' if len(wheels) <= 8 else ''}><summary>Wheels: {', '.join(parts)}</summary>"
    yield ""
    cells = [
        (_icon(wheel.silent or wheel.name.startswith(_BY_TORCH)), code(wheel.name), *_versions(wheel))
        for wheel in wheels[:_ROWS]
    ]
    yield from table(("", "", "before", "after"), cells)
    if len(wheels) > _ROWS:
        yield f"\n… and {len(wheels) - _ROWS:,} more."
    yield "\n</details>\n"


def _versions(wheel: _Wheel) -> tuple[str, str]:
    if wheel.silent and wheel.was and wheel.now:
        return code(_with_bytes(wheel.was)), f"{code(_with_bytes(wheel.now))} **same version, other bytes**"
    return (code(wheel.was.version) if wheel.was else "–"), (code(wheel.now.version) if wheel.now else "–")


def _with_bytes(entry: Distribution) -> str:
    return f"{entry.version} ({entry.record.short if entry.record else 'no fingerprint'})"


_TOLD = frozenset({"torch-build", "distributions", "compile-cache", "gpus", "driver", "interpreter", "triton-pin"})


def _others(report: Report) -> Iterator[str]:
    """Checks that the tables above do not tell of, by the number of their drifts."""
    told = [
        f"{plain(result.check)} ({len(result.findings)})"
        for result in report.results
        if result.outcome is Outcome.DRIFT and result.check not in _TOLD
    ]
    if told:
        yield f"Also drifted: {', '.join(told)}.\n"


def _advice(rows: list[_Row], wheels: list[_Wheel]) -> Iterator[str]:
    by_torch = any(row.what in ("torch", "torch commit", "variant", "GPUs") for row in rows)
    if by_torch and not any(row.what == "compile cache" for row in rows):
        yield "The compile cache's keys are the old ones, and all change with torch: `envguard warmup`.\n"
    if any(wheel.silent for wheel in wheels):
        yield "Installers compare versions only and keep what they have: `envguard restore` builds it anew.\n"


def _icon(grave: bool) -> str:
    return "🔴" if grave else "⚪"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST].rpartition("\n")[0] + "\n\n… cut.\n"
