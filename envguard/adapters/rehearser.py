"""``ports.Rehearser``: starts a rehearsal's processes in the target, with the guard's folder on their path."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from envguard.adapters import injected, probe_child, process
from envguard.formats.rehearsal import plan_text, read_pass
from envguard.model.rehearsal import Part, Pass, Schedule

_START = 120.0
"""Seconds for imports and the devices' contexts, beside the two parts' own."""
_TAIL = 300


class TargetRehearser:
    """``environ``: what a job would have; ``working_folder``: where it would be started."""

    def __init__(self, environ: Mapping[str, str], working_folder: Path, *, start: float = _START) -> None:
        self._environ = environ
        self._working_folder = working_folder
        self._start = start

    @contextmanager
    def folder(self) -> Iterator[str]:
        """A private folder for the compile cache."""
        with tempfile.TemporaryDirectory(prefix="envguard-rehearsal-", ignore_cleanup_errors=True) as folder:
            yield folder

    def run(self, parts: Sequence[Part]) -> list[Pass | str]:
        """All at once; of each what it saw, or why it saw nothing."""
        with ThreadPoolExecutor(len(parts)) as pool:
            return list(pool.map(self._one, parts))

    def _one(self, part: Part) -> Pass | str:
        start, end = (f"<{mark}:{os.urandom(16).hex()}>" for mark in ("start", "end"))
        schedule, environ = part.schedule, self._variables(part)
        if schedule.processes:
            schedule, shown = _alone(part, environ)
            environ |= shown
        command: list[str | Path] = [
            part.target.python,
            probe_child.script("rehearse"),
            start,
            end,
            plan_text(schedule),
        ]
        limit = self._start + 2 * schedule.deadline + 30
        try:
            ended = process.run(command, environ=environ, folder=self._working_folder, timeout=limit)
        except process.ChildTimeoutError as late:
            text = late.stderr.decode("utf-8", "replace")
            return Pass(warm=part.warm, seconds=limit, hung="the whole process", stacks=text[-20000:])
        except OSError as problem:
            return f"the target can't be started: {problem.strerror or problem}"
        _, began, rest = ended.stdout.decode("utf-8", "replace").partition(start)
        answer, whole, _ = rest.partition(end)
        if began and whole:
            return read_pass(answer, warm=part.warm)
        return f"the rehearsal ended without a word (exit {ended.code}): {_last_line(ended.stderr)}"

    def _variables(self, part: Part) -> dict[str, str]:
        """The job's, with a cache of the rehearsal's own and the guard, which only counts where it is off."""
        kept = {name: value for name, value in self._environ.items() if not name.startswith("ENVGUARD_")}
        folder = Path(part.folder)
        return kept | {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(injected.folder()), kept.get("PYTHONPATH")])),
            "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
            "ENVGUARD_GUARD": "on" if part.schedule.guard else "observe",
            "ENVGUARD_FIRST_STEP_DEADLINE": "86400",  # the rehearsal has one of its own, and says more
            "PYTHONUNBUFFERED": "1",
        }


def _alone(part: Part, environ: Mapping[str, str]) -> tuple[Schedule, dict[str, str]]:
    """The schedule of a process that sees its device alone, as number 0."""
    (actor,) = part.schedule.actors
    if not actor.device.startswith("cuda:"):
        return part.schedule, {}
    index = int(actor.device.partition(":")[2])
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(number) for number in range(index + 1)]
    shown = names[index] if index < len(names) else "-1"
    return replace(part.schedule, actors=(replace(actor, device="cuda:0"),)), {"CUDA_VISIBLE_DEVICES": shown}


def _last_line(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:_TAIL] if lines else "it said nothing"
