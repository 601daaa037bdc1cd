"""Compiles flex_attention as a recipe says, on the devices that it names, and counts what torch's caches did.

Run as ``python warm_flex.py START END RECIPE`` with the job's own flags; RECIPE is JSON. One device is done by the
main thread; several by a thread each, one after another: a worker thread's keys may differ from the main thread's,
and compiling in several at once is what races and deadlocks.
"""

import sys

if sys.version_info < (3, 9):  # before any other import: this much runs in every Python 3
    sys.stdout.write(
        '%s{"schema": 1, "failure": {"kind": "too-old", "detail": "%d.%d.%d"}}%s'
        % (sys.argv[1], *sys.version_info[:3], sys.argv[2])
    )
    sys.exit(0)

import importlib
import json
import os
import threading
import time
import warnings
from typing import Any

GROUPS = ("aot_autograd", "inductor")


def leave_out_own_folder() -> None:
    """Undo what starting this file did to the search path: a job wouldn't have our folder there."""
    own = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and os.path.realpath(sys.path[0] or ".") == own:
        sys.path[0] = os.getcwd()  # as a script of the run's own folder would have it: score_mod may lie there


def mask_of(name: str, window: int) -> Any:
    """A mask's function, of batch, head, query and key."""
    if name == "causal":
        return lambda _, __, q, k: q >= k
    if name == "sliding":
        return lambda _, __, q, k: (q >= k) & (q - k < window)
    if name == "document":
        return lambda _, __, q, k: (q >= k) & (q // window == k // window)
    if name == "prefix":
        return lambda _, __, q, k: (q >= k) | (k < window)
    return None


def score_of(name: "str | None") -> Any:
    """``module:function`` as an object."""
    if name is None:
        return None
    module, _, function = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in function.split("."):
        found = getattr(found, part)
    return found


def one(torch: Any, compiled: Any, recipe: "dict[str, Any]", device: str, length: int, mask: str) -> None:
    """One forward, and backward where there is one."""
    attention: Any = importlib.import_module("torch.nn.attention.flex_attention")
    backward = recipe["backward"] and not device.startswith("cpu")
    function = mask_of(mask, recipe["window"])
    block = function and attention.create_block_mask(function, None, None, length, length, device=device)
    heads, shared = recipe["heads"], recipe["kv_heads"] or recipe["heads"]
    sizes = [(recipe["batch"], number, length, recipe["head_size"]) for number in (heads, shared, shared)]
    dtype = getattr(torch, recipe["dtype"])
    parts = [torch.randn(size, device=device, dtype=dtype, requires_grad=backward) for size in sizes]
    more = {"enable_gqa": True} if shared != heads else {}
    answer = compiled(*parts, block_mask=block, score_mod=score_of(recipe["score_mod"]), **more)
    if backward:
        answer.float().sum().backward()
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def warm(torch: Any, recipe: "dict[str, Any]", device: str) -> "dict[str, Any]":
    """All lengths and masks on one device."""
    attention: Any = importlib.import_module("torch.nn.attention.flex_attention")
    began = time.perf_counter()
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    # each device gets a graph of each shape, and torch gives a function up, silently, after eight
    torch._dynamo.config.recompile_limit = 4096
    before = counted()
    for length in recipe["lengths"]:
        for mask in recipe["masks"]:
            compiled = torch.compile(attention.flex_attention, dynamic=False)
            one(torch, compiled, recipe, device, length, mask)
    return {
        "device": device,
        "seconds": round(time.perf_counter() - began, 3),
        "counters": {name: number - before.get(name, 0) for name, number in counted().items()},
    }


def counted() -> "dict[str, int]":
    """Torch's own counters of its caches."""
    counters: Any = importlib.import_module("torch._dynamo.utils").counters
    return {name: number for group in GROUPS for name, number in counters[group].items() if "cache" in name}


def in_threads(torch: Any, recipe: "dict[str, Any]", devices: "list[str]") -> "list[dict[str, Any]]":
    """A thread a device, one after another."""
    done: "list[dict[str, Any]]" = []
    problems: "list[BaseException]" = []

    def work(device: str) -> None:
        try:
            done.append(warm(torch, recipe, device))
        except BaseException as problem:
            problems.append(problem)

    for device in devices:
        thread = threading.Thread(target=work, args=(device,), name="warmup-%s" % device)
        thread.start()
        thread.join()
    if problems:
        raise problems[0]
    return done


def answer(recipe: "dict[str, Any]") -> "dict[str, Any]":
    """What became of it."""
    # an attention that runs dense is no warmup: it compiles nothing, and needs the whole matrix
    warnings.filterwarnings("error", message="flex_attention called without torch.compile")
    try:
        torch: Any = importlib.import_module("torch")
        devices = recipe["devices"]
        many = len(devices) > 1 or recipe["threads"]
        rows = in_threads(torch, recipe, devices) if many else [warm(torch, recipe, devices[0])]
    except ImportError as problem:
        return {"failure": {"kind": "import", "detail": "%s: %s" % (type(problem).__name__, problem)}}
    except Exception as problem:
        first = next((line for line in str(problem).splitlines() if line.strip()), "")
        return {"failure": {"kind": "workload", "detail": ("%s: %s" % (type(problem).__name__, first))[:500]}}
    return {"devices": rows}


if __name__ == "__main__":
    leave_out_own_folder()
    told = {"schema": 1, **answer(json.loads(sys.argv[3]))}
    sys.stdout.write(sys.argv[1] + json.dumps(told) + sys.argv[2])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if "failure" in told else 0)  # what torch does when an interpreter ends can hang
