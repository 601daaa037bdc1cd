"""What a run is started with, and what refuses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from envguard.model.drift import Finding, Outcome, Report, Severity
from envguard.model.facts import Facts, VariableKind
from envguard.model.hazards import Diagnosis, Topology, Verdict
from envguard.model.observed import value_or_none
from envguard.model.preflight import Decision, Memory, Remark, Space
from envguard.model.run import Run
from envguard.model.variables import KNOWN

_MIB = 1 << 20

LOADS_CODE = frozenset(
    {"CXX", "TRITON_CACHE_MANAGER", "TRITON_REMOTE_CACHE_BACKEND", "TORCH_COMPILE_OVERRIDE_BACKENDS"}
)
"""Variables whose value names code: a lock is data, so they are never set from one."""


def variables_to_set(recorded: Facts, environ: Mapping[str, str]) -> dict[str, str]:
    """The recorded key and numerics variables that are not so already.

    Only names of the table, by the table's kinds: never paths, digests of paths, or names of code.
    """
    told = value_or_none(recorded.variables)
    if told is None:
        return {}
    return {
        entry.name: entry.value
        for entry in told.values
        if _may_be_set(entry.name, entry.value) and environ.get(entry.name) != entry.value
    }


def _may_be_set(name: str, value: str) -> bool:
    known = KNOWN.get(name)
    if known is None or known.kind not in (VariableKind.KEY, VariableKind.NUMERICS) or name in LOADS_CODE:
        return False
    return not value.startswith("sha256:") and not any(mark in value for mark in "/\\@\0\n")


def topology_of(recorded: Facts) -> Topology:
    """Who computes where, as the lock's run did."""
    run = value_or_none(recorded.run)
    if run is None or not run.threads:
        return Topology()
    return Topology(run.together, run.budget_mib)


DISK, GPU_MEMORY, HAZARDS = "disk", "gpu-memory", "hazards"
OWN_CHECKS = (DISK, GPU_MEMORY, HAZARDS)
"""What a preflight looks at beside the checks of verify."""

_FULL, _LOW = 128 * _MIB, 2048 * _MIB
_FEW_INODES = 1_000
_FATAL = frozenset({"driver-floor", "compiling-off"})
"""Hazards with which the run can't be what was recorded, nor be guarded."""


def decide(
    report: Report,
    diagnosis: Diagnosis,
    *,
    space: Sequence[Space] = (),
    memory: Sequence[Memory] = (),
    recorded: Run | None = None,
    forced: AbstractSet[str] = frozenset(),
) -> Decision:
    """Drift and fatal hazards refuse, unless their check is forced by name; the unknown and other hazards warn."""
    against = [*_drifts(report), *_disk_full(space), *_too_little(memory, recorded), *_fatal(diagnosis)]
    return Decision(
        refused=tuple(remark for remark in against if remark.check not in forced),
        forced=tuple(remark for remark in against if remark.check in forced),
        warned=(*_unknown(report), *_disk_low(space), *_may_apply(diagnosis)),
    )


def _drifts(report: Report) -> Iterator[Remark]:
    for result in report.results:
        for finding in result.findings:
            if finding.severity is Severity.DRIFT:
                yield Remark(result.check, told(finding), finding.hint)


def told(finding: Finding) -> str:
    """A finding in one line."""
    arrow = " → ".join(side for side in (finding.recorded, finding.observed) if side is not None)
    return ": ".join(part for part in (f"{finding.subject} {arrow}".rstrip(), finding.detail) if part)


def _unknown(report: Report) -> Iterator[Remark]:
    for result in report.results:
        if result.outcome is Outcome.UNKNOWN and result.check not in report.allowed_unknown:
            yield Remark(result.check, f"unknown: {result.reason or 'could not be observed'}")


def _disk_full(space: Sequence[Space]) -> Iterator[Remark]:
    for one in space:
        if one.free < _FULL:
            yield Remark(DISK, f"{one.what}: {one.free // _MIB:,} MiB free")
        elif one.inodes is not None and one.inodes < _FEW_INODES:
            yield Remark(DISK, f"{one.what}: room for {one.inodes:,} files")


def _disk_low(space: Sequence[Space]) -> Iterator[Remark]:
    return (
        Remark(DISK, f"{one.what}: {one.free // _MIB:,} MiB free") for one in space if _FULL <= one.free < _LOW
    )


def _too_little(memory: Sequence[Memory], recorded: Run | None) -> Iterator[Remark]:
    needs = {device.device: device.needs_mib for device in recorded.devices} if recorded is not None else {}
    for one in memory:
        need = needs.get(one.device)
        if need is not None and need > one.free:
            text = f"{one.device}: the recorded run needs {need:,} MiB, {one.free:,} of {one.total:,} MiB are free"
            yield Remark(GPU_MEMORY, text, "nvidia-smi names the processes that hold memory")


def _fatal(diagnosis: Diagnosis) -> Iterator[Remark]:
    for found in diagnosis.found:
        if found.verdict is Verdict.CERTAIN and found.hazard.slug in _FATAL:
            yield Remark(HAZARDS, f"{found.hazard.slug}: {found.hazard.what} ({found.detail})", found.hazard.do)


def _may_apply(diagnosis: Diagnosis) -> Iterator[Remark]:
    for found in diagnosis.found:
        if found.verdict is not Verdict.CERTAIN or found.hazard.slug in _FATAL:
            continue
        sees_to_it = " (the guard sees to it)" if found.hazard.guarded else ""
        text = f"{found.hazard.slug}: {found.hazard.what} ({found.detail}){sees_to_it}"
        yield Remark(HAZARDS, text, None if found.hazard.guarded else found.hazard.do)
