"""``ports.Warmer``: starts a warmup's processes, and reads what they told of torch's caches.

What is counted comes from torch's own trace (``TORCH_TRACE``), so a command needs no change, every rank is seen,
and a process that was killed still told what it did before.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from envguard.adapters import probe_child, process
from envguard.adapters.cache.sections import traces
from envguard.errors import WarmupFailedError
from envguard.formats.warm_trace import read_process
from envguard.model.warm_run import Process, Ran, Start
from envguard.model.warmup import FlexAttention

MARK = "ENVGUARD_WARMUP"
"""A variable of every process of one start: by it those that left its group are found."""
_GRACE = 15.0
_LAST = 15
_TOLD = {
    "flex_attention called without torch.compile": "attention ran dense: flex_attention was not compiled",
    "recompile_limit": "torch gave compiling up: a recompile limit was hit (torch._dynamo.config.recompile_limit)",
    "cache_size_limit": "torch gave compiling up: a recompile limit was hit",
}


class TargetWarmer:
    """``environ``: what a job would have; ``folder``: where it would be started."""

    def __init__(self, environ: Mapping[str, str], folder: Path, *, grace: float = _GRACE) -> None:
        self._environ = environ
        self._folder = folder
        self._grace = grace

    def run(self, start: Start) -> Ran:
        """Run to the end, or the deadline. WarmupFailedError when it can't be started."""
        with tempfile.TemporaryDirectory(prefix="envguard-warmup-") as private:
            scratch = Path(private)
            (scratch / "trace").mkdir()
            began = time.monotonic()
            code = self._run(start, scratch)
            seconds = time.monotonic() - began
            output = _output(scratch)
            return Ran(
                code=code,
                seconds=seconds,
                processes=tuple(_processes(scratch / "trace")),
                warnings=tuple(dict.fromkeys(told for mark, told in _TOLD.items() if mark in output)),
                last_lines=_last_lines(scratch, output),
            )

    def _run(self, start: Start, scratch: Path) -> int | None:
        mark = os.urandom(12).hex()
        environ = self._variables(start, scratch, mark)
        command = list(start.command) if start.command else _workload(start, scratch)
        with (scratch / "out").open("wb") as out, (scratch / "err").open("wb") as err:
            try:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=environ,
                    cwd=self._folder,
                    start_new_session=True,
                    preexec_fn=process.die_with_parent(),
                )
            except OSError as problem:
                raise WarmupFailedError(
                    f"the warmup can't be started: {problem.strerror or problem}", where=shlex.join(command)[:200]
                ) from None
            try:
                return child.wait(start.deadline)
            except subprocess.TimeoutExpired:
                return None
            finally:
                self._end(child, mark)

    def _variables(self, start: Start, scratch: Path, mark: str) -> dict[str, str]:
        environ = {**self._environ, **start.variables, **start.place.variables()}
        devices = ",".join(start.devices)
        environ |= {
            MARK: mark,
            "TORCH_TRACE": str(scratch / "trace"),
            "ENVGUARD_COMPILE_CACHE_DIR": str(start.place.inductor),
            "ENVGUARD_DEVICE": start.devices[0] if len(start.devices) == 1 else devices,
            "ENVGUARD_DEVICES": devices,
            "ENVGUARD_RANK": str(start.rank),
            "PYTHONUNBUFFERED": "1",
        }
        scripts = start.target.python.parent
        environ["PATH"] = os.pathsep.join([str(scripts), environ.get("PATH", os.defpath)])
        if start.steps is not None:
            environ["ENVGUARD_STEPS"] = str(start.steps)
            if start.command:
                own = str(probe_child.script("steps/sitecustomize").parent)
                environ["PYTHONPATH"] = os.pathsep.join(filter(None, [own, environ.get("PYTHONPATH")]))
        return environ

    def _end(self, child: subprocess.Popen[bytes], mark: str) -> None:
        """End what is left of a start: politely, then at once; also those that made a group of their own."""
        for number, patience in ((signal.SIGTERM, self._grace), (signal.SIGKILL, self._grace)):
            left = [pid for pid in _marked(mark) if pid != os.getpid()]
            if child.poll() is None:
                left.append(child.pid)
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            until = time.monotonic() + patience
            while time.monotonic() < until and (child.poll() is None or _marked(mark)):
                time.sleep(0.05)


def _marked(mark: str) -> list[int]:
    """Processes that carry our mark in their environment: ours, and nobody else's."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def _workload(start: Start, scratch: Path) -> list[str]:
    recipe = start.workload if start.workload is not None else FlexAttention(lengths=(128,))
    document = asdict(recipe) | {
        "masks": [mask.value for mask in recipe.masks],
        "devices": list(start.devices),
        "threads": len(start.devices) > 1,
    }
    marks = [f"<{name}:{os.urandom(8).hex()}>" for name in ("start", "end")]
    (scratch / "marks").write_text(json.dumps(marks), encoding="ascii")
    return [str(start.target.python), str(probe_child.script("warm_flex")), *marks, json.dumps(document)]


def _processes(folder: Path) -> Iterator[Process]:
    """Those that looked something up, in order of rank."""
    found = []
    for file in traces(folder):
        with file.open("rb") as stream:
            process = read_process(stream)
        if process.lookups:
            found.append(process)
    yield from sorted(found, key=lambda process: -1 if process.rank is None else process.rank)


def _output(scratch: Path) -> str:
    parts = []
    for name in ("out", "err"):
        with (scratch / name).open("rb") as stream:
            with contextlib.suppress(OSError):
                stream.seek(-(4 << 20), os.SEEK_END)
            parts.append(stream.read().decode("utf-8", "replace"))
    return "\n".join(parts)


def _last_lines(scratch: Path, output: str) -> tuple[str, ...]:
    marks = scratch / "marks"
    if marks.exists():
        start, end = json.loads(marks.read_text(encoding="ascii"))
        _, began, rest = output.partition(start)
        answer, whole, _ = rest.partition(end)
        if began and whole:
            with contextlib.suppress(ValueError, AttributeError, LookupError, TypeError):
                failure = json.loads(answer).get("failure")
                return (str(failure["detail"]),) if failure else ()
    lines = [line.rstrip() for line in output.splitlines() if any(letter.isalnum() for letter in line)]
    return tuple(line[:300] for line in lines[-_LAST:])
