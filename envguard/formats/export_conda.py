"""A lock as a conda environment.yml: versions, and nothing finer, which is said in its head."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from envguard.errors import EnvguardError
from envguard.model.distribution import Distribution
from envguard.model.lock import Lock
from envguard.model.observed import Value, value_or_none

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]*")
_WHEELS = frozenset({None, "pip", "uv"})
_TOOLS = frozenset({"pip", "setuptools", "wheel"})
"""conda brings these itself."""


@dataclass(frozen=True, slots=True)
class CondaEnvironment:
    """The file, and what the lock says that it can't."""

    content: bytes
    unsaid: tuple[str, ...]


def dump(lock: Lock) -> CondaEnvironment:
    """The environment; equal locks give equal bytes. EnvguardError when the lock names no Python."""
    python = lock.facts.interpreter
    if not isinstance(python, Value):
        raise EnvguardError("the lock doesn't say which Python it is for", where=lock.name)
    recorded = value_or_none(lock.facts.distributions)
    entries = sorted(recorded or (), key=lambda entry: entry.name)
    by_conda = [entry for entry in entries if entry.installer == "conda" and entry.name not in _TOOLS]
    by_pip = [entry for entry in entries if entry.installer in _WHEELS and entry.name not in _TOOLS]
    unsaid = tuple(_unsaid(lock, entries))
    wanted = [line for entry in by_pip if (line := _requirement(entry)) is not None]
    indexes = [f"--extra-index-url {address}" for _, address in sorted(lock.indexes.items())] if wanted else []
    lines = [
        f"# From the envguard lock {_comment(lock.name)}: versions only. What conda can't be told:",
        *(f"#   {_comment(line)}" for line in unsaid),
        f"name: {_scalar(lock.name)}",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - {_scalar(f'python={python.value.version}')}",
        *(f"  - {_scalar(f'{entry.name}={entry.version}')}" for entry in by_conda),
        "  - pip",
        *(["  - pip:"] if wanted else []),
        *(f"      - {_scalar(line)}" for line in (*indexes, *wanted)),
    ]
    return CondaEnvironment(("\n".join(lines) + "\n").encode(), unsaid)


def _requirement(entry: Distribution) -> str | None:
    origin = entry.origin
    if origin is None:
        return f"{entry.name}=={entry.version}"
    if origin.kind == "vcs" and origin.url and origin.commit and not origin.editable and origin.changes is None:
        folder = f"#subdirectory={origin.subdirectory}" if origin.subdirectory else ""
        return f"{entry.name} @ git+{origin.url}@{origin.commit}{folder}"
    if origin.kind == "archive" and origin.url and entry.wheel.sha256:
        return f"{entry.name} @ {origin.url}#sha256={entry.wheel.sha256.hex}"
    return None


def _unsaid(lock: Lock, entries: list[Distribution]) -> Iterator[str]:
    yield "which wheel of each version (sha256, record fingerprint), changed files, compile cache, machine"
    if isinstance(lock.facts.torch, Value):
        torch = lock.facts.torch.value
        yield f"torch's build: {torch.build}, commit {torch.git_commit}, {torch.variant}"
    for entry in entries:
        if entry.installer in _WHEELS and _requirement(entry) is None:
            yield f"{entry.name} {entry.version}: installed from a folder of a machine; left out"
        elif entry.installer not in (*_WHEELS, "conda"):
            yield f"{entry.name} {entry.version}: installed by {entry.installer}; left out"
    if any(entry.installer == "conda" for entry in entries):
        yield "conda's builds and channels: the lock knows names and versions by Python's metadata"
    locals_ = [entry.name for entry in entries if "+" in entry.version and entry.wheel.index not in lock.indexes]
    if locals_:
        yield f"the index that has {', '.join(locals_)}: add it as --extra-index-url in the pip section"


def _scalar(text: str) -> str:
    """A YAML scalar: plain where that can't be misread, else in double quotes as JSON writes it."""
    return text if _PLAIN.fullmatch(text) and not _is_number(text) else json.dumps(text)


def _is_number(text: str) -> bool:
    """Or another word that YAML takes for something else than text."""
    return not re.search(r"[A-Za-z]", text) or text.lower() in ("true", "false", "yes", "no", "on", "off", "null")


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
