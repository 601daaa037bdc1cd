"""One thread calls a compiled attention all the time while others compile theirs for the first time.

python race.py [soft]: 2.13's mask is taken away, so that its flag is as 2.9 to 2.12 have it; soft also sets
error_on_nested_fx_trace to False. Prints a JSON line: errors during and after all compiles, and the raw flag.
"""

import contextlib
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
torch.compiler._compile_session_context = lambda *a, **k: contextlib.nullcontext()
warnings.simplefilter("ignore")
flex_attention: Any = importlib.import_module("torch.nn.attention.flex_attention").flex_attention

soft = "soft" in sys.argv
errors: Counter[str] = Counter()
calls = [0]
done = threading.Event()


def settings() -> None:
    if soft:
        torch._dynamo.config.error_on_nested_fx_trace = False


def inputs(length: int) -> tuple[Any, Any, Any]:
    query = torch.randn(1, 2, length, 32)
    return query, query.clone(), query.clone()


warm_function = torch.compile(flex_attention, dynamic=False)
small = inputs(64)
with torch.no_grad():
    warm_function(*small)


def guarded(function: Any, *arguments: Any) -> None:
    try:
        with torch.no_grad():
            function(*arguments)
    except Exception as error:
        errors[type(error).__name__ + ": " + str(error).strip().splitlines()[0][:80]] += 1


def caller() -> None:
    settings()
    while not done.is_set():
        calls[0] += 1
        guarded(warm_function, *small)
        time.sleep(0.001)


def cold(number: int) -> None:
    settings()
    guarded(torch.compile(flex_attention, dynamic=False), *inputs(128 * (number + 1)))


threads = [threading.Thread(target=caller, name="caller")]
threads += [threading.Thread(target=cold, args=(number,), name=f"cold-{number}") for number in range(3)]
for thread in threads:
    thread.start()
    time.sleep(0.3)
for thread in threads[1:]:
    thread.join()
done.set()
threads[0].join()
during = Counter(errors)
errors.clear()
for _ in range(20):
    guarded(warm_function, *small)
seen = {"calls": calls[0], "errors": during, "errors_after": errors, "flag": vars(tracing)["_is_fx_tracing_flag"]}
sys.stdout.write(json.dumps(seen) + "\n")
