"""Starts a run's threads without the run, and counts what goes wrong.

Run as ``python rehearse.py START END PLAN`` with the job's own flags and the guard's folder on PYTHONPATH; PLAN is
JSON: ``{"actors": [{"name", "device", "delay"}], "workload": {...}, "deadline": seconds}``. First the threads
start one after another while others call what was compiled before (the race); then all at once (the deadlock).
"""

import sys

if sys.version_info < (3, 9):  # before any other import: this much runs in every Python 3
    sys.stdout.write(
        '%s{"schema": 1, "failure": {"kind": "too-old", "detail": "%d.%d.%d"}}%s'
        % (sys.argv[1], *sys.version_info[:3], sys.argv[2])
    )
    sys.exit(0)

import faulthandler
import importlib
import json
import os
import tempfile
import threading
import time
import warnings
from typing import Any

ROUNDS = 3
PAUSE = 0.002
LIMIT = 4096
"""Recompiles of one function: each device and length is one, and torch's own limit is 8."""


class Seen:
    """What goes into the answer; threads write to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.errors: "dict[str, int]" = {}
        self.calls = 0

    def error(self, error: BaseException) -> None:
        """Note one."""
        text = "%s: %s" % (type(error).__name__, (str(error).strip().splitlines() or [""])[0][:200])
        with self.lock:
            self.errors[text] = self.errors.get(text, 0) + 1


class Work:
    """The workload: one compiled flex_attention for all threads, as programs have it."""

    def __init__(self, torch: Any, guard: Any, workload: "dict[str, Any]", seen: Seen) -> None:
        attention: Any = importlib.import_module("torch.nn.attention.flex_attention")
        self.torch, self.guard, self.workload, self.seen = torch, guard, workload, seen
        self.block_mask = attention.create_block_mask
        self.compiled = torch.compile(attention.flex_attention, dynamic=False)

    def here(self, device: str) -> None:
        """A new thread's device and settings (from torch 2.12 they are a thread's own)."""
        if device.startswith("cuda"):
            self.torch.cuda.set_device(device)
        config = self.torch._dynamo.config
        for name in ("recompile_limit", "cache_size_limit"):
            if hasattr(config, name):
                setattr(config, name, LIMIT)

    def inputs(self, device: str, length: int, grad: bool) -> "tuple[Any, Any]":
        """Queries, keys and values, and a causal mask."""
        recipe = self.workload
        heads, shared = recipe["heads"], recipe.get("kv_heads") or recipe["heads"]
        dtype = getattr(self.torch, recipe["dtype"])
        parts = [
            self.torch.randn(
                recipe["batch"],
                number,
                length,
                recipe["head_size"],
                device=device,
                dtype=dtype,
                requires_grad=grad,
            )
            for number in (heads, shared, shared)
        ]
        return parts, self.block_mask(lambda _, __, q, k: q >= k, None, None, length, length, device=device)

    def step(self, device: str, length: int, grad: bool) -> None:
        """One forward, and backward."""
        parts, mask = self.inputs(device, length, grad)
        self.call(parts, mask, grad)

    def call(self, parts: Any, mask: Any, grad: bool) -> None:
        """The compiled function."""
        more = {"enable_gqa": True} if parts[0].shape[1] != parts[1].shape[1] else {}
        if grad:
            self.compiled(*parts, block_mask=mask, **more).float().sum().backward()
        else:
            with self.torch.no_grad():
                self.compiled(*parts, block_mask=mask, **more)


class Callers:
    """A thread a device that calls what was compiled long before, until told to end."""

    def __init__(self, work: Work, devices: "list[str]", length: int) -> None:
        self.work, self.done = work, threading.Event()
        self.threads = []
        for device in devices:
            work.here(device)
            parts, mask = work.inputs(device, length, False)
            with work.guard.first_step(device):
                work.call(parts, mask, False)
            self.threads.append(
                threading.Thread(
                    target=self.loop, args=(device, parts, mask), name="caller-" + device, daemon=True
                )
            )

    def loop(self, device: str, parts: Any, mask: Any) -> None:
        """Call, and go on after an error."""
        self.work.here(device)
        while not self.done.is_set():
            self.work.seen.calls += 1
            try:
                self.work.call(parts, mask, False)
            except Exception as error:
                self.work.seen.error(error)
            time.sleep(PAUSE)


def staggered(work: Work, actor: "dict[str, Any]", length: int) -> None:
    """One thread that starts after its delay; its shape is its own, so that it has something to compile."""
    time.sleep(actor["delay"])
    steps(work, actor, length)


def together(work: Work, actor: "dict[str, Any]", length: int, barrier: threading.Barrier) -> None:
    """One thread that starts with all others."""
    barrier.wait()
    steps(work, actor, length)


def steps(work: Work, actor: "dict[str, Any]", length: int) -> None:
    """A few steps, the first one as a program with the guard has it."""
    device = actor["device"]
    grad = work.workload["backward"] and device != "cpu"
    work.here(device)
    for number in range(ROUNDS):
        try:
            if number:
                work.step(device, length, grad)
            else:
                with work.guard.first_step(device):
                    work.step(device, length, grad)
        except Exception as error:
            work.seen.error(error)
        time.sleep(PAUSE)


def all_ended(threads: "list[threading.Thread]", deadline: float) -> bool:
    """Start them; whether all end in time."""
    for thread in threads:
        thread.start()
    until = time.monotonic() + deadline
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def stacks() -> str:
    """Those of all threads."""
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        return file.read()[-20000:]


def parts(work: Work, plan: "dict[str, Any]") -> "str | None":
    """Both parts. Answers which one hung."""
    actors, length = plan["actors"], plan["workload"]["lengths"][0]
    devices = list(dict.fromkeys(actor["device"] for actor in actors))
    callers = Callers(work, devices, length)

    def thread(target: Any, actor: "dict[str, Any]", *more: Any) -> threading.Thread:
        return threading.Thread(target=target, args=(work, actor, *more), name=actor["name"], daemon=True)

    for caller in callers.threads:
        caller.start()
    shapes = [length + 128 * (place + 2) for place in range(len(actors))]
    ended = all_ended(
        [thread(staggered, actor, shape) for actor, shape in zip(actors, shapes)],  # noqa: B905 - Python 3.9
        plan["deadline"],
    )
    callers.done.set()
    if not ended or not all_joined(callers.threads):
        return "staggered starts"
    barrier = threading.Barrier(len(actors))
    if not all_ended([thread(together, actor, length + 128, barrier) for actor in actors], plan["deadline"]):
        return "starts all at once"
    return None


def all_joined(threads: "list[threading.Thread]") -> bool:
    """Whether those that were told to end do so."""
    for thread in threads:
        thread.join(10.0)
    return not any(thread.is_alive() for thread in threads)


def answer(plan: "dict[str, Any]") -> "dict[str, Any]":
    """Everything that was seen."""
    torch: Any = importlib.import_module("torch")
    runtime: Any = importlib.import_module("envguard.runtime")
    guard: Any = importlib.import_module(runtime.__name__ + ".guard")
    missing = [one["device"] for one in plan["actors"] if not there(torch, one["device"])]
    if missing:
        return {"failure": {"kind": "no-device", "detail": ", ".join(dict.fromkeys(missing))}}
    guard.install()
    warnings.simplefilter("ignore")
    seen = Seen()
    began = time.perf_counter()
    hung = parts(Work(torch, guard, plan["workload"], seen), plan)
    report = guard.report()
    return {
        "seconds": round(time.perf_counter() - began, 3),
        "hung": hung,
        "stacks": stacks() if hung else "",
        "errors": seen.errors,
        "calls": seen.calls,
        "build": report["torch"]["build"],
        "flag": report["guard"]["flag"],
        "stuck": bool(report["end"]["flag_stuck"]),
        "totals": report["totals"],
    }


def there(torch: Any, device: str) -> bool:
    """Whether a device is."""
    kind, _, index = device.partition(":")
    return kind == "cpu" or (
        kind == "cuda" and torch.cuda.is_available() and int(index) < torch.cuda.device_count()
    )


def main() -> None:
    """Print the answer between the markers, and end at once: what hangs is left behind."""
    start, end, text = sys.argv[1:4]
    plan = json.loads(text)
    try:
        document = answer(plan)
    except Exception as error:
        document = {"failure": {"kind": "failed", "detail": "%s: %s" % (type(error).__name__, str(error)[:500])}}
    sys.stdout.write(start + json.dumps(dict(document, schema=1)) + end + "\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
