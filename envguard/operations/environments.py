"""list, rollback, prune: what restores made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envguard.errors import UsageError
from envguard.model.environment import Pruned, Restored, Switched
from envguard.ports import Environments


def list_environments(*, name: str | None, environments: Environments) -> Sequence[Restored]:
    """All restored environments, or those of one lock's name, oldest first."""
    return environments.restored(name)


def rollback(*, target: Path | None, name: str | None, environments: Environments) -> Switched:
    """Make a target, or without one the ``current`` link of a lock's name, lead to what it led to before.

    UsageError when there is nothing to go back to; InUseError while a process runs from what it leads to.
    """
    if target is None and name is None:
        raise UsageError("rollback of what?", hint="name the target, or the lock: envguard rollback --target DIR")
    return environments.rollback(target if target is not None else environments.current(name or ""))


def prune(*, name: str | None, environments: Environments) -> Pruned:
    """Remove every environment that no target leads to, now or after one rollback. InUseError."""
    return environments.prune(name)
