"""Results on stdout, progress and remarks on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from envguard.planning.masking import masked

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from envguard.model.drift import Report
    from envguard.model.lint import Cases

_COLOURS = {"drift": "31", "unknown": "33", "note": "36", "ignored": "2"}


def print_report(report: Report, *, form: str, quiet: bool) -> None:
    """A report in the form that was asked for."""
    if form == "json":
        from envguard.formats.report_json import report_document

        print_json(report_document(report))
        return
    from envguard.formats.report_text import report_lines

    print_lines(report_lines(report, quiet=quiet))


def print_lint(cases: Cases, exit_code: int, *, form: str, quiet: bool) -> None:
    """What lint found, in the form that was asked for."""
    from envguard.formats.lint_text import lint_document, lint_lines

    if form == "json":
        print_json(lint_document(cases, exit_code))
    elif form == "text":
        print_lines(lint_lines(cases, quiet=quiet))
    else:
        print_cases(cases, form=form)


def print_cases(cases: Cases, *, form: str) -> None:
    """Cases in a form of a CI service; on GitHub the job's summary gets its part too."""
    if form == "sarif":
        from envguard import __version__
        from envguard.formats.sarif import sarif_document

        print_json(sarif_document(cases, version=__version__))
    elif form == "gitlab":
        from envguard.formats.gitlab import gitlab_document

        print_json(gitlab_document(cases))
    elif form == "junit":
        from envguard.formats.junit import junit_text

        _write(junit_text(cases))
    else:
        _print_github(cases)


def _print_github(cases: Cases) -> None:
    from envguard.formats.github import annotation_lines, summary_text

    print_lines(annotation_lines(cases))
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        try:
            with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(summary_text(cases))
        except OSError as problem:
            say(f"the job's summary could not be written: {problem.strerror}")


def print_lines(lines: Iterable[str]) -> None:
    """Lines on stdout; the first word coloured on a terminal."""
    coloured = sys.stdout.isatty()
    for line in lines:
        first = line.split(" ", 1)[0]
        if coloured and first in _COLOURS:
            line = f"\x1b[{_COLOURS[first]}m{first}\x1b[0m{line[len(first) :]}"
        _write(line + "\n")


def print_text(text: str) -> None:
    """Text on stdout, as it is."""
    _write(text)


def print_json(document: Any) -> None:
    """A document on stdout."""
    _write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def say(line: str, *, quiet: bool = False) -> None:
    """A remark on stderr."""
    if not quiet:
        sys.stderr.write(masked(line) + "\n")
        sys.stderr.flush()


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    text = masked(text)
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
