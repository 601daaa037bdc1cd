"""Markdown from text that may hold anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envguard.formats.lint_text import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&@!])")


def plain(text: str) -> str:
    """Text that shows as it is: no markup, no mentions, no links, one line."""
    return _SPECIAL.sub(
        lambda found: f"&#{ord(found[0])};" if found[0] in "<>&@|" else f"\\{found[0]}", printable(text)
    )


def code(text: str) -> str:
    """Text in code style, whatever backticks it holds; safe in a table."""
    shown = printable(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    space = " " if "`" in shown else ""
    return f"{ticks}{space}{shown.replace('|', chr(92) + '|')}{space}{ticks}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; cells are Markdown."""
    return [
        f"| {' | '.join(head)} |",
        f"|{'|'.join('---' for _ in head)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
