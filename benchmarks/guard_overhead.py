"""What the guard costs on a warm training step: run with the target's Python, prints one JSON line.

    python benchmarks/guard_overhead.py [ROUNDS]

It starts itself again, guarded and not, in turns, and takes the median step of each start. Beside it: what a call
of a compiled function asks of the guard (nanoseconds), since a share of a per cent drowns in a machine's noise.
"""

import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SITE = Path(__file__).parents[1] / "envguard" / "runtime" / "site"


def child() -> None:
    """One start: the median warm step, and what the check of the tracing flag costs."""
    torch: Any = importlib.import_module("torch")
    tracing: Any = importlib.import_module("torch.fx._symbolic_trace")

    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    layers = [
        torch.nn.Sequential(torch.nn.LayerNorm(256), torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(4)
    ]
    model = torch.compile(torch.nn.Sequential(*layers).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(64, 256, device=device)
    times = []
    for number in range(1200):
        started = time.perf_counter()
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        if number >= 200:
            times.append(time.perf_counter() - started)
    asked = []
    for _ in range(20):
        started = time.perf_counter()
        for _ in range(20_000):
            tracing.is_fx_symbolic_tracing()
        asked.append((time.perf_counter() - started) / 20_000)
    sys.stdout.write(
        json.dumps({"step_s": statistics.median(times), "check_s": min(asked), "device": device}) + "\n"
    )


def main() -> None:
    """Starts in turns, and the figures."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seen: dict[str, list[dict[str, float]]] = {"off": [], "on": []}
    for _ in range(rounds):
        for guard, found in seen.items():
            environ = {**os.environ, "PYTHONPATH": str(SITE), "ENVGUARD_GUARD": guard}
            answer = subprocess.run(
                [sys.executable, __file__, "--child"], env=environ, check=True, capture_output=True, text=True
            )
            found.append(json.loads(answer.stdout.splitlines()[-1]))
    step = {guard: min(one["step_s"] for one in found) for guard, found in seen.items()}
    check = {guard: min(one["check_s"] for one in found) for guard, found in seen.items()}
    figures = {
        "device": seen["on"][0]["device"],
        "starts_each": rounds,
        "step_us_off": round(step["off"] * 1e6, 1),
        "step_us_on": round(step["on"] * 1e6, 1),
        "check_ns_off": round(check["off"] * 1e9, 1),
        "check_ns_on": round(check["on"] * 1e9, 1),
        "share_by_check_percent": round((check["on"] - check["off"]) / step["off"] * 100, 4),
        "share_by_step_percent": round((step["on"] / step["off"] - 1) * 100, 2),
    }
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    child() if sys.argv[1:] == ["--child"] else main()
