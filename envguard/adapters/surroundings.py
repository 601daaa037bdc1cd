"""Small looks that hazards need: torch's source, where the compile cache would lie, the run's code."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from envguard.adapters.cache.place import place
from envguard.formats import torch_source
from envguard.formats.hiding import hiding
from envguard.formats.mounts import Mount, mount_of, mounts
from envguard.model.hazards import CacheFolder, Seen, Signs
from envguard.model.observed import Absent, Observed, Unobserved, Value
from envguard.model.target import Layout

_REMOTE = (
    "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE",
    "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE",
    "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE",
    "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE",
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO",
    "TRITON_REMOTE_CACHE_BACKEND",
)
_SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_SUPPRESS = "TORCHDYNAMO_SUPPRESS_ERRORS"
_SKIPPED = frozenset({"node_modules", "site-packages", "build", "dist", "tests", "test", "__pycache__"})
_MOST_FOLDERS = 1000
_LARGEST = 1 << 20
_TEMPORARY = ("/tmp", "/dev/shm")  # noqa: S108
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class RunSurroundings:
    """Looks with the environment and the folder that a run would have."""

    environ: Mapping[str, str]
    folder: Path

    def seen(self, layout: Layout) -> Seen:
        """Everything; a look that fails says why."""
        return Seen(
            signs=_signs(layout),
            cache=self._cache(),
            remote=tuple(name for name in _REMOTE if self.environ.get(name, "0") not in ("", "0")),
            disabling=tuple(self._disabling()),
            settings=tuple(_bad_settings(self.folder)),
        )

    def _disabling(self) -> Iterator[str]:
        yield from (f"{name}=1" for name in _SWITCHES if self.environ.get(name) == "1")
        if self.environ.get(_SUPPRESS):
            yield f"{_SUPPRESS}={self.environ[_SUPPRESS][:20]}"

    def _cache(self) -> Observed[CacheFolder]:
        try:
            found = place(self.environ, self.folder)
            mounted = _mount(found.folder)
        except OSError as problem:
            return Unobserved(problem.strerror or str(problem))
        return Value(
            CacheFolder(
                shown=found.shown(self.environ),
                filesystem=mounted.filesystem if mounted else None,
                temporary=_temporary(found.folder, mounted, self.environ),
                noexec=mounted is not None and "noexec" in mounted.options,
                foreign=_foreign(found.folder),
            )
        )


def _signs(layout: Layout) -> Observed[Signs]:
    folder = next((library / "torch" for library in layout.libraries if (library / "torch").is_dir()), None)
    if folder is None:
        return Absent()
    texts = {}
    for name in torch_source.FILES:
        try:
            texts[name] = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return Value(torch_source.signs(texts))


def _mount(folder: Path) -> Mount | None:
    """What is mounted where the folder lies, or would; None on systems that don't tell."""
    try:
        text = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return mount_of(os.path.realpath(folder), mounts(text))


def _temporary(folder: Path, mounted: Mount | None, environ: Mapping[str, str]) -> bool:
    if mounted is not None and mounted.filesystem in ("tmpfs", "ramfs"):
        return True
    real = Path(os.path.realpath(folder))
    named = (environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name))
    # /var/tmp outlives a restart (file-hierarchy standard), so it doesn't count.
    above = [Path(os.path.realpath(one)) for one in (*named, *_TEMPORARY, tempfile.gettempdir())]
    return any(real.is_relative_to(one) for one in above if one != Path("/var/tmp"))  # noqa: S108


def _foreign(folder: Path) -> str | None:
    """Why somebody else could put files there: of the folder itself, or of the one it would be made in."""
    if not hasattr(os, "getuid"):
        return None
    try:
        status = folder.stat()
    except OSError:
        return None
    if status.st_uid != os.getuid():
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & 0o002:
        return "everybody may write there"
    return None


def _bad_settings(folder: Path) -> Iterator[str]:
    """Lines of the run's own Python files that switch on what hides failures."""
    for path in _sources(folder):
        try:
            if path.stat().st_size > _LARGEST:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        shown = path.relative_to(folder).as_posix()
        yield from (f"{shown}:{line}: {setting}" for line, setting in hiding(text))


def _sources(folder: Path) -> Iterator[Path]:
    """Python files below a folder that are the run's own: no environment's, no tests, no built copies."""
    for here, folders, files in itertools.islice(os.walk(folder), _MOST_FOLDERS):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED
            and not name.startswith(".")
            and not os.path.exists(os.path.join(here, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118
        )
        yield from (Path(here, name) for name in sorted(files) if name.endswith(".py"))
