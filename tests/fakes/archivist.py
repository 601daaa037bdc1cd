"""An archivist whose files are made up: counts what it was asked, and can refuse."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from envguard.errors import NotRebuildableError
from envguard.model.archive import RebuiltWheel, SourceTree
from envguard.model.distribution import Distribution
from envguard.model.target import Layout


@dataclass
class MadeUpArchivist:
    """Implements ``ports.Archivist``. ``files``: local wheels by name; ``refused``: names it won't rebuild."""

    root: Path
    free: int = 1 << 40
    files: dict[str, Path] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    sources: dict[str, bytes] = field(default_factory=dict)
    rebuilt: list[str] = field(default_factory=list)

    def room(self) -> int:
        return self.free

    def staging(self) -> AbstractContextManager[Path]:
        return self._staging()

    def local(self, entry: Distribution) -> Path | None:
        return self.files.get(entry.name)

    def rebuild(self, layout: Layout, entry: Distribution, folder: Path) -> RebuiltWheel:
        if entry.name in self.refused:
            raise NotRebuildableError(f"{entry.name} can't be rebuilt as a wheel: {entry.name}.py was changed")
        self.rebuilt.append(entry.name)
        path = folder / secrets.token_hex(4)
        path.write_bytes(f"rebuilt {entry.name}".encode())
        return RebuiltWheel(path, f"{entry.name}-{entry.version}-py3-none-any.whl")

    def source(self, layout: Layout, entry: Distribution, folder: Path) -> SourceTree | None:
        if entry.name not in self.sources:
            return None
        path = folder / secrets.token_hex(4)
        path.write_bytes(self.sources[entry.name])
        return SourceTree(path, 1, path.stat().st_size)

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        folder = self.root / "staging"
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        folder.rmdir()  # nothing may be left in it
