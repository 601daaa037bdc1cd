"""A thread calls a compiled attention all the time while others compile for the first time. Prints a JSON line.

python race.py DEVICE,DEVICE [soft]: soft sets error_on_nested_fx_trace to False, which hides the errors.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
import warnings
from collections import Counter
from typing import Any

torch: Any = importlib.import_module("torch")
tracing: Any = importlib.import_module("torch.fx._symbolic_trace")
dense_source: Any = importlib.import_module("torch._higher_order_ops.flex_attention")
flex_attention: Any = importlib.import_module("torch.nn.attention.flex_attention").flex_attention
warnings.simplefilter("ignore")

DEVICES = sys.argv[1].split(",")
SOFT = "soft" in sys.argv
DEPTH = 12
errors: Counter[str] = Counter()
calls = [0]
dense = [0]
done = threading.Event()
original = dense_source.math_attention


def counted(query: Any, *arguments: Any, **named: Any) -> Any:
    if type(query) is torch.Tensor:
        dense[0] += 1
    return original(query, *arguments, **named)


dense_source.math_attention = counted


def settings(device: str) -> None:
    if device != "cpu":
        torch.cuda.set_device(device)
    torch._dynamo.config.recompile_limit = 64
    if SOFT:
        torch._dynamo.config.error_on_nested_fx_trace = False


def attempt(function: Any) -> None:
    try:
        function()
    except Exception as error:
        errors[type(error).__name__ + ": " + str(error).strip().splitlines()[0][:120]] += 1


def inputs(device: str, length: int) -> tuple[Any, Any, Any]:
    query = torch.randn(1, 2, length, 32, device=device)
    return query, query.clone(), query.clone()


settings(DEVICES[0])
attention = torch.compile(flex_attention, dynamic=False)
small = inputs(DEVICES[0], 128)
with torch.no_grad():
    attention(*small)


def call() -> None:
    with torch.no_grad():
        attention(*small)


def caller() -> None:
    settings(DEVICES[0])
    while not done.is_set():
        calls[0] += 1
        attempt(call)
        time.sleep(0.001)


def compile_attention(place: int, device: str) -> None:
    settings(device)
    fresh = inputs(device, 256 + 128 * place)

    def first() -> None:
        with torch.no_grad():
            torch.compile(flex_attention, dynamic=False)(*fresh)

    attempt(first)


def compile_network(device: str) -> None:
    """The one thread with a backward: two would be another test."""
    settings(device)
    layers = [
        torch.nn.Sequential(
            torch.nn.LayerNorm(64), torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)
        )
        for _ in range(DEPTH)
    ]
    network = torch.compile(torch.nn.Sequential(*layers).to(device))
    attempt(lambda: network(torch.randn(8, 64, device=device)).sum().backward())


threads = [threading.Thread(target=caller, name="caller")]
threads += [
    threading.Thread(target=compile_attention, args=(place, device), name=f"attention-{place}")
    for place, device in enumerate(DEVICES)
]
threads.append(threading.Thread(target=compile_network, args=(DEVICES[-1],), name="network"))
for thread in threads:
    thread.start()
    time.sleep(0.35)
for thread in threads[1:]:
    thread.join()
done.set()
threads[0].join()
during, dense_during = dict(errors), dense[0]
errors.clear()
for _ in range(50):
    attempt(call)
seen = {
    "torch": str(torch.__version__),
    "calls": calls[0],
    "errors": during,
    "dense": dense_during,
    "errors_after": dict(errors),
    "dense_after": dense[0] - dense_during,
    "flag": vars(tracing).get("_is_fx_tracing_flag"),
}
sys.stdout.write(json.dumps(seen) + "\n")
