"""A small world to restore in: wheels, their lock, an index, a store and the folder of environments."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from envguard.adapters.environments import EnvironmentFolders
from envguard.adapters.store import DirectoryStore
from envguard.adapters.uv import Uv
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution, Evidence, Wheel
from envguard.model.facts import Facts
from envguard.model.lock import Lock
from envguard.model.observed import Value
from envguard.model.policy import Policy
from envguard.model.target import Level, Target
from envguard.operations.restore import RestoreResult, restore
from envguard.ports import Installer, Prober
from tests import builders
from tests.fakes.folder_prober import FolderProber, this_python
from tests.fakes.index import FakeIndex, Silence


class ThisPython(Uv):
    """The real uv, which looks for no other interpreter than the one that runs the tests."""

    def pythons(self, minor: str) -> tuple[Path, ...]:
        return (Path(sys.executable),)


@dataclass
class World:
    """Everything a restore needs, below one folder."""

    root: Path
    index: FakeIndex = field(default_factory=FakeIndex)
    installer: Installer = field(default_factory=ThisPython)
    prober: Prober = field(default_factory=FolderProber)
    progress: Silence = field(default_factory=Silence)
    name: str = "good"

    def __post_init__(self) -> None:
        self.store = DirectoryStore(self.root / "store")
        self.environments = EnvironmentFolders(self.root / "data" / "envs", wait=1.0)
        self.made = self.root / "made"
        self.made.mkdir(parents=True, exist_ok=True)

    def wheel(self, name: str = "demo", version: str = "1.0", **rest: Any) -> Path:
        """A real wheel of one module, ``<name>/__init__.py``."""
        files = rest.pop("files", {f"{name}/__init__.py": f"NAME = {name!r}\nVERSION = {version!r}\n"})
        return builders.wheel(self.made, name, version, files, **rest)

    def lock(self, wheels: Iterable[Path], **sections: Any) -> Lock:
        """A lock of these wheels, with the fingerprints that their installation really has."""
        wheels = tuple(wheels)
        entries = []
        for entry in self.installed(wheels):
            path = next(path for path in wheels if path.name.split("-")[0].lower().replace("_", "-") == entry.name)
            content = path.read_bytes()
            wheel = Wheel(
                path.name, Digest.of(content), size=len(content), index="default", evidence=Evidence.UV_CACHE
            )
            entries.append(replace(entry, wheel=wheel, listing=None, folder=None))
        facts = Facts(
            interpreter=Value(this_python()),
            distributions=Value(tuple(entries)),
            files=Value(()),
            shared=Value(()),
        )
        return Lock(self.name, replace(facts, **sections))

    def installed(self, wheels: Iterable[Path]) -> tuple[Distribution, ...]:
        """What an installation of wheels looks like to the prober."""
        folder = self.root / f"sample-{Digest.of(repr(tuple(wheels)).encode()).short}"
        environment = folder / "environment"
        if not environment.exists():
            folder.mkdir()
            self.installer.create(environment, Path(sys.executable))
            self.installer.install(environment, [(path, Digest.of(path.read_bytes())) for path in wheels])
        seen = self.prober.facts(
            Target(environment / "bin" / "python", "test"),
            Level.FULL,
            baseline=lambda name: None,
            progress=self.progress,
        )
        assert isinstance(seen.distributions, Value)
        return seen.distributions.value

    def serve(self, wheels: Iterable[Path], **rest: Any) -> None:
        """Offer wheels in the index."""
        for path in wheels:
            self.index.add(path, **rest)

    def restore(self, lock: Lock, target: Path | None = None, **changes: Any) -> RestoreResult:
        """Restore as a user would; ``changes`` replace arguments."""
        arguments: dict[str, Any] = {
            "without": frozenset(),
            "plan_only": False,
            "offline": False,
            "python": None,
            "policy": Policy(),
            "today": date(2026, 11, 29),
            "store": self.store,
            "index": self.index,
            "installer": self.installer,
            "prober": self.prober,
            "environments": self.environments,
            "progress": self.progress,
        }
        return restore(lock, target=target, **(arguments | changes))

    @property
    def folder(self) -> Path:
        """Where environments of the lock's name are kept."""
        return self.root / "data" / "envs" / self.name

    def left(self) -> list[str]:
        """Names in that folder."""
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []
