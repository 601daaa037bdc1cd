"""``[tool.envguard]`` of pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass, field

from envguard.formats import toml_text
from envguard.formats.decode import Table
from envguard.formats.lock_read import policy_from
from envguard.model.policy import Policy

_KNOWN = frozenset({"lock", "python", "policy", "index", "trust-locks", "lint"})


@dataclass(frozen=True, slots=True)
class Settings:
    """The project's settings. ``lock`` and ``python`` are paths relative to the file's folder."""

    lock: str | None = None
    python: str | None = None
    policy: Policy = field(default_factory=Policy)
    index: object = None
    """``[tool.envguard.index]`` as it stands; ``formats.uv_settings.own`` reads it."""
    declarations: tuple[str, ...] | None = None
    """``[tool.envguard.lint] declarations``: patterns of the files that speak of the lock; None: all known."""
    trust_locks: bool = False
    """Commands that this project's locks name may run."""
    unknown: tuple[str, ...] = ()
    """Keys that mean nothing to this envguard."""


def read_settings(content: bytes) -> Settings:
    """Settings in a pyproject.toml's bytes. TomlError, WrongValueError."""
    top = Table(toml_text.parse(content))
    tool = top.table_or_none("tool")
    ours = tool.table_or_none("envguard") if tool else None
    if ours is None:
        return Settings()
    policy = ours.table_or_none("policy")
    lint = ours.table_or_none("lint")
    return Settings(
        lock=ours.text_or_none("lock"),
        python=ours.text_or_none("python"),
        policy=policy_from(policy) if policy else Policy(),
        index=ours.content.get("index"),
        declarations=lint.texts("declarations") if lint and lint.has("declarations") else None,
        trust_locks=ours.flag("trust-locks"),
        unknown=tuple(sorted(set(ours.content) - _KNOWN)),
    )
