"""Results on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from envguard.model.drift import Report

_COLOURS = {"drift": "31", "unknown": "33", "note": "36", "ignored": "2"}


def print_report(report: Report, *, form: str, quiet: bool) -> None:
    """A report in the form that was asked for."""
    if form == "json":
        from envguard.formats.report_json import report_document

        print_json(report_document(report))
        return
    from envguard.formats.report_text import report_lines

    print_lines(report_lines(report, quiet=quiet))


def print_lines(lines: Iterable[str]) -> None:
    """Lines on stdout; the first word coloured on a terminal."""
    coloured = sys.stdout.isatty()
    for line in lines:
        first = line.split(" ", 1)[0]
        if coloured and first in _COLOURS:
            line = f"\x1b[{_COLOURS[first]}m{first}\x1b[0m{line[len(first) :]}"
        _write(line + "\n")


def print_json(document: Any) -> None:
    """A document on stdout."""
    _write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def say(line: str, *, quiet: bool = False) -> None:
    """A remark on stderr."""
    if not quiet:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


class NoProgress:
    """Says nothing."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Nothing."""


class Bars:
    """A progress bar for each long step, on a terminal; nothing elsewhere. Use as a context."""

    def __init__(self, *, quiet: bool) -> None:
        self._shown = sys.stderr.isatty() and not quiet
        self._bars: RichProgress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:  # noqa: ARG002
        """Move the bar of ``what``."""
        if not self._shown:
            return
        bars = self._bars or self._start()
        if what not in self._tasks:
            self._tasks[what] = bars.add_task(what, total=total)
        bars.update(self._tasks[what], completed=done, total=total)

    def _start(self) -> RichProgress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bars.start()
        return self._bars
