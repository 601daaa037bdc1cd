"""The folder of a project that gets its settings."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from envguard.adapters import files
from envguard.errors import EnvguardError, SettingsInvalidError

_CAP = 8 << 20


class Folder:
    """``ports.ProjectFolder``."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self._root.resolve().name

    def read(self, path: str) -> str | None:
        """A file's text, line ends as they are; None where there is none. SettingsInvalidError."""
        try:
            with (self._root / path).open("rb") as stream:
                content = stream.read(_CAP + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise SettingsInvalidError(f"can't be read: {problem.strerror}", where=path) from None
        if len(content) > _CAP:
            raise SettingsInvalidError(f"more than {_CAP >> 20} MiB", where=path)
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise SettingsInvalidError("not UTF-8", where=path) from None

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return (self._root / path).exists()

    def is_repository(self) -> bool:
        """Whether it is the root of a git repository; of a worktree too, whose ``.git`` is a file."""
        return (self._root / ".git").exists()

    def locks(self, folder: str) -> Sequence[str]:
        """Paths of the TOML files in a folder, sorted."""
        return sorted(f"{folder}/{path.name}" for path in (self._root / folder).glob("*.toml"))

    def write(self, path: str, text: str) -> None:
        """Replace a file, or make it, whole or not at all; its mode, and a link to it, stay. EnvguardError."""
        place = (self._root / path).resolve()
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o644
            files.write(place, text.encode(), mode=mode)
        except OSError as problem:
            raise EnvguardError(f"could not be written: {problem.strerror}", where=path) from None
