"""Frozen targets read text, drafters learn to draft it (DFlash, arXiv 2602.06036), each worker on its device.

python train.py [--config 5t3d] [--devices 0,1] [--processes] [--no-guard] [--size tiny|small] [--steps N]
"""

from __future__ import annotations

import argparse
import dataclasses
import faulthandler
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config import Sizes
    from data import Text
    from torch import Tensor
    from workers import Outcome


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="1t1d", help="targets and drafters: 5t3d, 2t1d, 1t1d")
    parser.add_argument("--devices", help="CUDA indexes, or cpu; roles take them in turn (default: all there are)")
    parser.add_argument(
        "--processes", action="store_true", help="one process a role, each with one visible device"
    )
    parser.add_argument("--no-guard", action="store_true", help="leave envguard's guard off")
    parser.add_argument("--size", choices=("tiny", "small"), help="default: tiny on a CPU, small on GPUs")
    parser.add_argument("--steps", type=int, help="steps of each drafter")
    parser.add_argument("--pretraining", type=int, help="steps of the target before")
    parser.add_argument("--deadline", type=float, help="seconds after which all stacks are printed and it ends")
    parser.add_argument("--json", type=Path, help="write what came out here, too")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """0 when every worker came to its end."""
    options = _options(arguments)
    if options.no_guard:
        os.environ["ENVGUARD_GUARD"] = "off"
    if options.deadline:
        faulthandler.dump_traceback_later(options.deadline, exit=True)
    import guarding

    guarding.install()
    import config
    import data
    import team
    from pretrain import pretrained

    started = time.perf_counter()
    devices = _devices(options.devices)
    try:
        roles = config.roles(options.config, devices)
    except ValueError as problem:
        sys.stderr.write(f"{problem}\n")
        return 2
    sizes = _sizes(config.SIZES[options.size or ("tiny" if devices[0] == "cpu" else "small")], options)
    _say(", ".join(f"{role.name} on {role.device}" for role in roles))
    text, held_out = data.read(sizes.vocabulary, sizes.length)
    weights = pretrained(sizes, text, devices[0])
    start = team.processes if options.processes else team.threads
    outcomes = sorted(start(roles, sizes, text, weights), key=lambda outcome: outcome.name)
    failed = [outcome for outcome in outcomes if outcome.error]
    accepted = {} if failed else _accepted(outcomes, weights, held_out, sizes, devices[0])
    _tell(outcomes, accepted, time.perf_counter() - started)
    if options.json:
        options.json.write_text(json.dumps(_document(options.config, outcomes, accepted), indent=1) + "\n")
    return 1 if failed else 0


def _devices(named: str | None) -> list[str]:
    import torch

    if named is None:
        return [f"cuda:{index}" for index in range(torch.cuda.device_count())] or ["cpu"]
    return [part if part == "cpu" else f"cuda:{int(part)}" for part in named.split(",")]


def _sizes(sizes: Sizes, options: argparse.Namespace) -> Sizes:
    steps, before = options.steps or sizes.steps, options.pretraining or sizes.pretraining
    return dataclasses.replace(sizes, steps=steps, pretraining=before)


def _accepted(
    outcomes: list[Outcome], weights: dict[str, Tensor], held_out: Text, sizes: Sizes, device: str
) -> dict[str, float]:
    """Acceptance length of each drafter, and of one that learned nothing."""
    from acceptance import measure
    from model import Drafter, Target

    target = Target(sizes)
    target.load_state_dict(weights)
    target = target.to(device)
    prompts = held_out.tokens[:8, : sizes.length - 5 * sizes.block].to(device)
    accepted = {"untrained": measure(target, Drafter(sizes).to(device), prompts, sizes)}
    for outcome in outcomes:
        if outcome.weights:
            drafter = Drafter(sizes)
            drafter.load_state_dict(outcome.weights)
            accepted[outcome.name] = measure(target, drafter.to(device), prompts, sizes)
    return accepted


def _tell(outcomes: list[Outcome], accepted: dict[str, float], seconds: float) -> None:
    for outcome in outcomes:
        if outcome.error:
            _say(f"{outcome.name} ({outcome.device}) failed: {outcome.error}")
            continue
        speed = outcome.tokens / outcome.seconds if outcome.seconds else 0.0
        line = f"{outcome.name} ({outcome.device}): {speed:,.0f} tok/s"
        if outcome.losses:
            few = max(1, len(outcome.losses) // 10)
            line += f", loss {_mean(outcome.losses[:few]):.3f} to {_mean(outcome.losses[-few:]):.3f}"
        if outcome.name in accepted:
            line += f", acceptance length {accepted[outcome.name]:.2f} (untrained {accepted['untrained']:.2f})"
        _say(line + (f", peak {outcome.peak_mib} MiB" if outcome.peak_mib else ""))
    _say(f"{seconds:.0f} s")


def _document(configuration: str, outcomes: list[Outcome], accepted: dict[str, float]) -> dict[str, object]:
    workers = []
    for outcome in outcomes:
        worker = {**vars(outcome), "acceptance": accepted.get(outcome.name)}
        del worker["weights"]
        workers.append(worker)
    return {"config": configuration, "workers": workers, "untrained": accepted.get("untrained")}


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
