"""Commands under limits: seconds of the processor, memory, and nothing changed where nothing should be."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.faults.toy import COMMAND, Toy

CPU_SECONDS = 4
"""Hard: the process is killed after that. Start and imports are part of it, on slow machines too."""
ADDRESSES = 900 << 20
RESIDENT_KIB = 200 << 10
HANGS = 60


@dataclass(frozen=True)
class Bounded:
    """How it ended: ``peak`` in KiB, ``processor`` in seconds."""

    code: int
    out: str
    err: str
    peak: int
    processor: float

    @property
    def whole(self) -> str:
        return self.out + self.err


def bounded(toy: Toy, *arguments: str | Path) -> Bounded:
    """Run a command; it is killed where it passes a limit (the code is then negative)."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=toy.project,
            env=toy.environ,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            preexec_fn=limit,
        )
        timer = threading.Timer(HANGS, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return Bounded(child.returncode, texts[0], texts[1], used.ru_maxrss, used.ru_utime + used.ru_stime)
