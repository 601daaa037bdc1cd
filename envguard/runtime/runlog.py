"""The run log: what this process did, as JSON (``envguard-run-1``), written whole or not at all."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from envguard.runtime import compiles, flag, gate, memory, modes, place, settings, tally
from envguard.runtime.steps import STEPS

SCHEMA = "envguard-run-1"
_lock = threading.RLock()


class _State:
    started = time.time()
    flag = "not seen"
    followed: dict[str, bool] = {}  # noqa: RUF012 - the process's own
    ended = "running"
    detail: str | None = None
    refused: str | None = None


STATE = _State()


def document() -> dict[str, Any]:
    """The whole log as it is now."""
    torch: Any = sys.modules.get("torch")
    version = getattr(torch, "version", None)
    if flag.stuck() and STATE.flag != "guard":
        tally.hazard("sticky-flag", "the tracing flag is up though nothing traces")
    return {
        "schema": SCHEMA,
        "started": _time(STATE.started),
        "written": _time(time.time()),
        "process": dict(place.rank(), pid=os.getpid(), parent=os.getppid(), role=place.role()),
        "python": "%d.%d.%d" % sys.version_info[:3],
        "torch": {
            "build": getattr(torch, "__version__", None) and str(torch.__version__),
            "git_commit": getattr(version, "git_version", None),
            "cuda": getattr(version, "cuda", None),
        },
        "guard": {
            "mode": modes.mode(),
            "flag": STATE.flag,
            "followed": dict(STATE.followed),
            "refused": STATE.refused,
            "after_warm": compiles.STATE.after_warm,
        },
        "end": {
            "how": STATE.ended,
            "detail": STATE.detail,
            "flag_raised": flag.raised(),
            "flag_stuck": flag.stuck(),
            "settings": [setting for setting, _ in settings.of_thread()],
        },
        "threads": _threads(),
        "counts": [
            {"device": device, "thread": thread, **counts}
            for (device, thread), counts in sorted(tally.counts().items())
        ],
        "totals": {name: tally.total(name) for name in (*tally.COUNTED, "compiles_after_warm")},
        "first_steps": {"passed": gate.GATE.passed, "waited_seconds": round(gate.GATE.waited, 3)},
        "throughput": STEPS.rows(),
        "memory": memory.devices(),
        "peak_host_memory": memory.peak_host(),
        "hazards": [
            {"hazard": slug, "detail": detail, "device": device, "thread": thread, "times": times}
            for slug, detail, device, thread, times in tally.hazards()
        ],
    }


def write(how: str | None = None, detail: str | None = None) -> None:
    """Write the log where one is asked for. ``how`` is how the process ends; a graver word is not overwritten."""
    with _lock:
        if how is not None and STATE.ended in ("running", "exit"):
            STATE.ended, STATE.detail = how, detail
        path = place.log()
        if path is None or (place.role() == "child" and not _did_anything()):
            return
        try:
            _replace(path, json.dumps(document(), indent=1, ensure_ascii=False) + "\n")
        except (OSError, ValueError) as problem:
            modes.say("the run log can't be written: %s" % problem)


def forked() -> None:
    """After a fork: a log of its own."""
    global _lock
    _lock = threading.RLock()
    STATE.started, STATE.ended, STATE.detail = time.time(), "running", None


def _replace(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    temporary = "%s.%d.%d.tmp" % (path, os.getpid(), threading.get_ident())
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _did_anything() -> bool:
    return bool(tally.counts() or tally.hazards() or STEPS.rows())


def _threads() -> list[dict[str, str]]:
    """Threads by the device they were on: those that counted something, stepped, or said their device."""
    seen = dict.fromkeys(tally.counts())
    seen.update({(row["device"], row["thread"]): None for row in STEPS.rows()})
    return [{"thread": thread, "device": device} for device, thread in sorted(seen)]


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
