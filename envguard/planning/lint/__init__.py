"""All rules of ``envguard lint``, in the order they are told."""

from __future__ import annotations

from envguard.planning.lint import (
    archive_objects,
    cache_keys,
    canonical,
    cuda_majors,
    declared_missing,
    declared_unreadable,
    declared_variant,
    declared_version,
    declared_wheel,
    driver_floor,
    duplicates,
    expired_ignores,
    secrets,
    torch_build,
    torch_requires,
    warmup_devices,
    wheel_names,
)
from envguard.planning.lint.rule import Rule

RULES: tuple[Rule, ...] = (
    secrets.RULE,
    torch_build.RULE,
    wheel_names.RULE,
    torch_requires.RULE,
    cuda_majors.RULE,
    driver_floor.RULE,
    cache_keys.RULE,
    warmup_devices.RULE,
    archive_objects.RULE,
    duplicates.RULE,
    declared_version.RULE,
    declared_variant.RULE,
    declared_wheel.RULE,
    declared_missing.RULE,
    declared_unreadable.RULE,
    expired_ignores.RULE,
    canonical.RULE,
)

WELL_FORMED = "well-formed"
"""The rule of a file that can't be read as a lock; it has no module, since there is no lock to look at."""
