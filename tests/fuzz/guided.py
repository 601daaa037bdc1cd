"""``python -m tests.fuzz.guided SECONDS``: coverage-guided fuzzing of every parser, an equal time for each.

With atheris where it is installed (``pip install atheris``), else with ever larger budgets of hypothesis.
What is found is printed with the bytes that did it; the exit code is 1 then.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def one(name: str, seconds: int) -> None:
    """In a process of its own: libFuzzer never comes back."""
    import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

    with atheris.instrument_imports(include=["envguard", "json", "tomllib", "packaging"]):
        from tests.fuzz.parsers import PARSERS

    parser = next(parser for parser in PARSERS if parser.name == name)
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(parser.seeds):
            (Path(folder) / str(number)).write_bytes(seed)
        limits = [
            f"-max_total_time={seconds}",
            "-timeout=5",
            "-rss_limit_mb=1500",
            "-max_len=20000",
            "-verbosity=0",
        ]
        where = f"-artifact_prefix={tempfile.gettempdir()}/"
        atheris.Setup(
            [sys.argv[0], *limits, "-print_final_stats=1", where, folder], lambda content: _once(parser, content)
        )
        atheris.Fuzz()


def _once(parser: object, content: bytes) -> None:
    assert callable(parser)
    parser(content)


def main(seconds: int) -> int:
    """The exit code."""
    from tests.fuzz.parsers import PARSERS

    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write("atheris isn't installed: hypothesis, 3,000 examples a parser\n")
        environ = {**os.environ, "ENVGUARD_FUZZ_EXAMPLES": "3000"}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "tests/fuzz"], env=environ, check=False
        ).returncode
    share, failed = max(1, seconds // len(PARSERS)), 0
    for parser in PARSERS:
        command = [sys.executable, "-m", "tests.fuzz.guided", parser.name, str(share)]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        runs = next((line for line in ended.stderr.splitlines() if "number_of_executed_units" in line), "")
        sys.stdout.write(f"{parser.name:24} {runs.split(':')[-1].strip():>10} runs  exit {ended.returncode}\n")
        sys.stdout.flush()
        if ended.returncode:
            failed += 1
            sys.stdout.write(ended.stdout[-2000:] + ended.stderr[-3000:])
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one(sys.argv[1], int(sys.argv[2]))
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 600))
