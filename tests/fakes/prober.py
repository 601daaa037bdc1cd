"""A prober that says what it is told to."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from envguard.model.facts import Facts, FileFact
from envguard.model.target import Layout, Level, Target
from envguard.ports import Baseline, Progress


def layout(prefix: Path = Path("/env")) -> Layout:
    """A venv's layout."""
    return Layout(
        python=prefix / "bin" / "python",
        prefix=prefix,
        base_prefix=Path("/usr"),
        libraries=(prefix / "lib" / "python3.12" / "site-packages",),
        scripts=prefix / "bin",
        headers=prefix / "include",
        path=(),
        is_venv=True,
        system_site=False,
    )


@dataclass
class SaidProber:
    """Implements ``ports.Prober``. ``files``: bytes by path; ``asked``: levels that were asked for."""

    said: Facts
    files: Mapping[str, bytes] = field(default_factory=dict)
    asked: list[Level] = field(default_factory=list)
    baselines: list[bytes | None] = field(default_factory=list)
    wanted: str | None = None

    def layout(self, target: Target) -> Layout:
        """Of a venv."""
        return layout(target.python.parent.parent)

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """What it was made with."""
        self.asked.append(level)
        if self.wanted is not None:
            self.baselines.append(baseline(self.wanted))
        progress.step("looking", 1, 1)
        return self.said

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """The bytes it was made with."""
        if fact.path not in self.files:
            raise PermissionError(13, "Permission denied")
        return io.BytesIO(self.files[fact.path])
