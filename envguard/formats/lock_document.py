"""Lock → plain document: the one order and form in which facts are written, and the lock id."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from typing import Any, TypeVar

from envguard.formats.cache_lock import cache_document
from envguard.formats.run_lock import run_document
from envguard.formats.warmup_lock import warmup_document
from envguard.model.cuda import driver_floor
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Origin
from envguard.model.facts import (
    Code,
    Cpu,
    Facts,
    FileFact,
    Gpu,
    Interpreter,
    Live,
    Shadow,
    SharedPath,
    TorchBuild,
    VariableKind,
    Variables,
)
from envguard.model.lock import SCHEMA, Lock
from envguard.model.observed import NOT_ASKED, NOT_RECORDED, Absent, Observed, Unobserved, Value
from envguard.model.policy import Policy

T = TypeVar("T")
Document = dict[str, Any]

SCALARS = (
    "interpreter",
    "torch",
    "driver",
    "gpus",
    "cpu",
    "variables",
    "code",
    "live",
    "cache",
    "factors",
    "keys",
    "run",
)
LISTS = ("distributions", "files", "shared", "shadows")

_EVERYWHERE = frozenset({"pip", "uv"})
# The lock id names an environment: which wheels, files, interpreter. What a compile cache held, and what its keys
# depended on, follows from that and from the workload, and grows with every run: it is no part of the id.
_OF_CACHE = ("cache", "factors", "keys")
_NOT_IDENTITY = ("created", "note", "policy", "indexes", "archive", "cache", "warmup", "run")


def document_of(lock: Lock) -> Document:
    """The lock as plain values, keys in the order of writing, nothing empty."""
    facts = lock.facts
    document: Document = {"schema": SCHEMA, "name": lock.name}
    if lock.created is not None:
        document["created"] = lock.created.astimezone(UTC)
    document |= _kept(
        note=lock.note,
        absent=[section for section in SCALARS if isinstance(getattr(facts, section), Absent)],
        unobserved=_unobserved(facts),
        torch=_section(facts.torch, _torch),
        interpreter=_section(facts.interpreter, _interpreter),
        machine=_machine(facts),
        variables=_section(facts.variables, _variables),
        code=_section(facts.code, _code),
        live=_section(facts.live, _live),
        cache=cache_document(facts, lock.cache_manifest),
        warmup=warmup_document(lock.warmup),
        run=_section(facts.run, run_document),
        indexes=dict(sorted(lock.indexes.items())),
        policy=_policy(lock.policy),
        archive={"objects": sorted(map(str, lock.archive))} if lock.archive else {},
        distribution=_entries(facts.distributions, _distribution, lambda entry: entry.name),
        file=_entries(facts.files, _file, lambda entry: (entry.root, entry.path, entry.kind.value)),
        shared=_entries(facts.shared, _shared, lambda entry: entry.path),
        shadow=_entries(facts.shadows, _shadow, lambda entry: (entry.module, entry.place)),
    )
    return document


def lock_id(lock: Lock) -> str:
    """Hex digest of the canonical facts: without created, notes, evidence, policy and what is no criterion."""
    # also where they are told to be absent
    without: dict[str, Any] = dict.fromkeys(_OF_CACHE, NOT_RECORDED)
    facts = replace(lock.facts, **without)
    whole = document_of(replace(lock, facts=facts))
    document = {key: value for key, value in whole.items() if key not in _NOT_IDENTITY}
    document["distribution"] = [_identity(entry) for entry in document.get("distribution", [])]
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return Digest.of(canonical.encode()).hex


def _identity(entry: Document) -> Document:
    """A distribution's entry without what only says how it is known, and where it is kept."""
    identity = {key: value for key, value in entry.items() if key not in ("note", "evidence", "rebuilt")}
    if "origin" in identity:
        identity["origin"] = {key: value for key, value in identity["origin"].items() if key != "archive"}
    return identity


def _kept(**entries: Any) -> Document:
    return {key.replace("_", "-"): value for key, value in entries.items() if value not in (None, (), [], {}, "")}


def _section(seen: Observed[T], write: Callable[[T], Document]) -> Document:
    return write(seen.value) if isinstance(seen, Value) else {}


def _entries(
    seen: Observed[tuple[T, ...]], write: Callable[[T], Document], order: Callable[[T], Any]
) -> list[Document]:
    return [write(entry) for entry in sorted(seen.value, key=order)] if isinstance(seen, Value) else []


def _unobserved(facts: Facts) -> Document:
    return {
        section: seen.reason.removeprefix("not recorded: ")
        for section in (*SCALARS, *LISTS)
        if isinstance(seen := getattr(facts, section), Unobserved)
        and (seen not in (NOT_RECORDED, NOT_ASKED) or section in LISTS)
    }


def _torch(build: TorchBuild) -> Document:
    return _kept(
        version=build.version,
        build=build.build,
        git_commit=build.git_commit,
        variant=build.variant,
        cuda=build.cuda,
        hip=build.hip,
        requires=list(build.requires),
        needs=list(build.needs),
    )


def _interpreter(python: Interpreter) -> Document:
    return {
        "implementation": python.implementation,
        "version": python.version,
        "build": python.build,
        "soabi": python.soabi,
        "platform-tag": python.platform_tag,
        "libc": python.libc,
    }


def _machine(facts: Facts) -> Document:
    driver = facts.driver.value.version if isinstance(facts.driver, Value) else None
    floor = driver_floor(facts.torch.value.variant) if isinstance(facts.torch, Value) else None
    return _kept(
        driver=driver,
        driver_floor=floor if driver else None,
        gpus=_entries(facts.gpus, _gpu, lambda gpu: gpu.index),
        cpu=_section(facts.cpu, _cpu),
    )


def _gpu(gpu: Gpu) -> Document:
    return {"index": gpu.index, "name": gpu.name, "capability": gpu.capability, "memory-mib": gpu.memory_mib}


def _cpu(cpu: Cpu) -> Document:
    return {"architecture": cpu.architecture, "model": cpu.model, "flags": list(cpu.flags)}


def _variables(variables: Variables) -> Document:
    document: Document = {"source": variables.source}
    for kind in VariableKind:
        values = {entry.name: entry.value for entry in variables.values if entry.kind is kind}
        if values:
            document[kind.value] = dict(sorted(values.items()))
    return document


def _code(code: Code) -> Document:
    return _kept(commit=code.commit, changes=_text(code.changes))


def _live(live: Live) -> Document:
    return _kept(
        build=live.build,
        git_commit=live.git_commit,
        cuda=live.cuda,
        cudnn=live.cudnn,
        nccl=live.nccl,
        architectures=list(live.architectures),
        default_dtype=live.default_dtype,
        outside=list(live.outside),
    )


def _policy(policy: Policy) -> Document:
    return _kept(
        strict=policy.strict or None,
        allow_unknown=sorted(policy.allow_unknown),
        ignore=[
            _kept(check=entry.check, subject=entry.subject, by=entry.by, reason=entry.reason, until=entry.until)
            for entry in policy.ignore
        ],
    )


def _distribution(entry: Distribution) -> Document:
    wheel = entry.wheel
    return _kept(
        name=entry.name,
        version=entry.version,
        wheel=wheel.filename,
        sha256=_text(wheel.sha256),
        claimed_sha256=_text(wheel.claimed_sha256),
        size=wheel.size,
        record=_text(entry.record),
        record_data=_text(entry.record_data),
        rows=_text(entry.rows),
        index=wheel.index,
        evidence=wheel.evidence.value if wheel.evidence is not Evidence.NONE or entry.origin is None else None,
        sdist=wheel.sdist,
        rebuilt=_text(wheel.rebuilt),
        installer=entry.installer if entry.installer not in _EVERYWHERE else None,
        origin=_origin(entry.origin) if entry.origin else {},
        note=entry.note,
    )


def _origin(origin: Origin) -> Document:
    return _kept(
        kind=origin.kind,
        editable=origin.editable or None,
        url=origin.url,
        commit=origin.commit,
        changes=_text(origin.changes),
        subdirectory=origin.subdirectory,
        archive=_text(origin.archive),
    )


def _file(entry: FileFact) -> Document:
    return _kept(
        path=entry.path,
        kind=entry.kind.value,
        root=entry.root if entry.root != "library" else None,
        sha256=_text(entry.sha256),
        mode=entry.mode,
        owners=list(entry.owners),
        expected=_text(entry.expected),
    )


def _shared(entry: SharedPath) -> Document:
    return _kept(path=entry.path, owners=list(entry.owners), agree=entry.agree or None)


def _shadow(entry: Shadow) -> Document:
    return {"module": entry.module, "distribution": entry.distribution, "place": entry.place}


def _text(digest: Digest | None) -> str | None:
    return str(digest) if digest else None
