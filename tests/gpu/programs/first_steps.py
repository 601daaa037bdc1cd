"""Threads that share devices make their first forward and backward at once. Prints a JSON line if they ever end.

python first_steps.py DEVICE,DEVICE,… SECONDS [gate]: one thread an entry; after SECONDS all stacks are printed and
the process ends with 1. With gate each first step is inside guard.first_step.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import sys
import threading
import time
from collections import Counter
from typing import Any

faulthandler.dump_traceback_later(float(sys.argv[2]), exit=True)
torch: Any = importlib.import_module("torch")
source: Any = importlib.import_module("torch.nn.attention.flex_attention")

DEVICES = sys.argv[1].split(",")
ROUNDS = 3
LENGTH = 1024
guard: Any = importlib.import_module("envguard.runtime.guard") if "gate" in sys.argv else None
attention = torch.compile(source.flex_attention, dynamic=False)
barrier = threading.Barrier(len(DEVICES))
came: Counter[str] = Counter()


def step(device: str, mask: Any) -> None:
    training = device != "cpu"
    dtype = torch.bfloat16 if training else torch.float32
    parts = [torch.randn(1, 4, LENGTH, 64, device=device, dtype=dtype, requires_grad=training) for _ in range(3)]
    out = attention(*parts, block_mask=mask)
    if training:
        out.float().sum().backward()


def body(device: str) -> None:
    if device != "cpu":
        torch.cuda.set_device(device)
    torch._dynamo.config.recompile_limit = 64
    mask = source.create_block_mask(lambda _, __, q, k: q >= k, None, None, LENGTH, LENGTH, device=device)
    barrier.wait()
    for number in range(ROUNDS):
        first = guard is not None and number == 0
        try:
            with guard.first_step(device) if first else contextlib.nullcontext():
                step(device, mask)
            came["ok"] += 1
        except Exception as error:
            came[type(error).__name__ + ": " + str(error).splitlines()[0][:120]] += 1
        time.sleep(0.05)


started = time.perf_counter()
threads = [threading.Thread(target=body, args=(device,), name=f"thread-{n}") for n, device in enumerate(DEVICES)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
faulthandler.cancel_dump_traceback_later()
seen = {"steps": dict(came), "threads": len(threads), "seconds": round(time.perf_counter() - started, 1)}
sys.stdout.write(json.dumps(seen) + "\n")
