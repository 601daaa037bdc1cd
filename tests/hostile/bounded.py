"""Commands under limits: seconds of the processor, memory, and nothing changed where nothing should be."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
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


_MEASURE = """
import json, os, resource, subprocess, sys
seconds, addresses, answer, *command = sys.argv[1:]

def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    resource.setrlimit(resource.RLIMIT_AS, (int(addresses), int(addresses)))

child = subprocess.Popen(command, preexec_fn=limit)
_, status, used = os.wait4(child.pid, 0)
with open(answer, "w") as stream:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_maxrss, used.ru_utime + used.ru_stime], stream)
"""
"""Between the tests and the command: a child's peak counts what its parent had in memory when it was forked."""


def bounded(toy: Toy, *arguments: str | Path) -> Bounded:
    """Run a command; it is killed where it passes a limit (the code is then negative)."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        measured = [sys.executable, "-I", "-S", "-c", _MEASURE, str(CPU_SECONDS), str(ADDRESSES), str(answer)]
        ended = subprocess.run(
            [*measured, *COMMAND, *map(str, arguments)],
            cwd=toy.project,
            env=toy.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HANGS,
            check=True,
        )
        code, peak, processor = json.loads(answer.read_text())
    out, err = (stream.decode("utf-8", "replace") for stream in (ended.stdout, ended.stderr))
    return Bounded(code, out, err, peak, processor)
