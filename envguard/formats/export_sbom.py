"""What both kinds of SBOM say of a lock: the same facts, under the same names."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from envguard.errors import MissingExtraError
from envguard.formats.lockfile import lock_id
from envguard.model.distribution import Distribution, Evidence
from envguard.model.facts import FileKind
from envguard.model.lock import Lock
from envguard.model.observed import Value, value_or_none

_NAMESPACE = uuid.UUID("6f1a8a2e-6a0e-5d0f-9c55-0f2f1f0b7c11")
"""Ours: documents of one lock have one number, on every machine."""


def distributions(lock: Lock) -> tuple[Distribution, ...]:
    """All that the lock records, by name."""
    recorded = value_or_none(lock.facts.distributions)
    return tuple(sorted(recorded or (), key=lambda entry: entry.name))


def number(lock: Lock) -> uuid.UUID:
    """The document's own number: it follows from the lock id."""
    return uuid.uuid5(_NAMESPACE, lock_id(lock))


def made(lock: Lock) -> datetime:
    """When the lock was made; the epoch where it doesn't say."""
    return lock.created.astimezone(UTC) if lock.created else datetime.fromtimestamp(0, UTC)


def environment_properties(lock: Lock) -> Iterator[tuple[str, str]]:
    """Name and value of what is known of the environment as a whole; names begin with ``envguard:``."""
    facts = lock.facts
    yield "envguard:lock-id", lock_id(lock)
    if isinstance(facts.interpreter, Value):
        python = facts.interpreter.value
        yield "envguard:python", f"{python.implementation} {python.version}"
        yield "envguard:platform", python.platform_tag
    if isinstance(facts.keys, Value):
        yield "envguard:compile-cache", str(facts.keys.value.fingerprint)
        yield "envguard:compile-cache-source", facts.keys.value.source.value
    changed = sum(fact.kind is FileKind.MODIFIED for fact in value_or_none(facts.files) or ())
    if changed:
        yield "envguard:changed-files", str(changed)


def properties(entry: Distribution, lock: Lock) -> Iterator[tuple[str, str]]:
    """Name and value of what is known of one distribution, beside its version and the sha256 of its wheel."""
    wheel, origin = entry.wheel, entry.origin
    said = {
        "record": entry.record,
        "record-data": entry.record_data,
        "wheel": wheel.filename,
        "evidence": wheel.evidence.value if wheel.evidence is not Evidence.NONE else None,
        "claimed-sha256": wheel.claimed_sha256,
        "index": wheel.index,
        "sdist": wheel.sdist,
        "installer": entry.installer if entry.installer not in (None, "pip", "uv") else None,
        "origin": origin.kind if origin else None,
        "origin-commit": origin.commit if origin else None,
        "origin-changes": origin.changes if origin else None,
    }
    if entry.name == "torch" and isinstance(lock.facts.torch, Value):
        torch = lock.facts.torch.value
        said |= {
            "torch-build": torch.build,
            "torch-git-commit": torch.git_commit,
            "torch-variant": torch.variant,
            "torch-cuda": torch.cuda,
            "torch-hip": torch.hip,
        }
    yield from ((f"envguard:{name}", str(value)) for name, value in said.items() if value is not None)


def missing(name: str) -> MissingExtraError:
    """The library for a kind of SBOM isn't installed."""
    return MissingExtraError(
        f"{name} is not installed: SBOMs need the extra envguard[sbom]",
        hint="install it beside envguard: uv tool install 'envguard[sbom]', or pip install 'envguard[sbom]'",
    )
