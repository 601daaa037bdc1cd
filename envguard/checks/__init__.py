"""All checks, in the order they are told, and the one comparison of two sets of facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from envguard.checks import (
    bytecode,
    code,
    compile_cache,
    cuda_mix,
    distributions,
    driver,
    files,
    gpus,
    installer,
    interpreter,
    live_torch,
    run,
    shadowing,
    shared_files,
    startup_code,
    torch_build,
    triton_pin,
    variables,
)
from envguard.checks.check import AnyCheck
from envguard.checks.judge import judge
from envguard.model.drift import Result
from envguard.model.facts import Facts
from envguard.model.policy import Policy

CHECKS: tuple[AnyCheck, ...] = (
    torch_build.CHECK,
    distributions.CHECK,
    files.CHECK,
    startup_code.CHECK,
    shared_files.CHECK,
    bytecode.CHECK,
    cuda_mix.CHECK,
    triton_pin.CHECK,
    shadowing.CHECK,
    installer.CHECK,
    interpreter.CHECK,
    driver.CHECK,
    gpus.CHECK,
    variables.CHECK,
    compile_cache.CHECK,
    code.CHECK,
    live_torch.CHECK,
    run.CHECK,
)


def compare(
    recorded: Facts,
    observed: Facts,
    policy: Policy,
    today: date,
    checks: Sequence[AnyCheck] = CHECKS,
) -> tuple[Result, ...]:
    """Every check's result, judged by the policy."""
    return tuple(judge(check.run(recorded, observed), policy, today) for check in checks)
