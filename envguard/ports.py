"""What the operations ask of the world. Adapters implement these; tests bring fakes (``tests/fakes``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from envguard.model.offer import Offer as Offer

if TYPE_CHECKING:  # annotations only: what verify doesn't need isn't made
    from envguard.errors import EnvguardError
    from envguard.formats.declared.found import Found
    from envguard.model.archive import RebuiltWheel, SourceTree
    from envguard.model.cache_files import CachedFile, CachePlace, FoundFile, Listing, PutBack
    from envguard.model.digest import Digest
    from envguard.model.distribution import Distribution, Wheel
    from envguard.model.environment import Attempt, Occupant, Pruned, Restored, Room, Switched
    from envguard.model.facts import Facts, FileFact, Interpreter
    from envguard.model.hazards import Seen
    from envguard.model.preflight import Memory, Space
    from envguard.model.rehearsal import Part as RehearsalPart
    from envguard.model.rehearsal import Pass
    from envguard.model.roots import Root
    from envguard.model.target import Layout, Level, Target
    from envguard.model.warm_run import Ran, Start
    from envguard.model.wheel_facts import Part, WheelFacts


class Progress(Protocol):
    """Told how far a long step is. ``total`` None: not known beforehand."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """``done`` of ``total`` ``unit`` (files, B) of ``what`` are done."""


Baseline = Callable[[str], bytes | None]
"""Canonical distribution name → its normalised rows as the lock's object holds them, or None."""


class Prober(Protocol):
    """Looks at a target environment."""

    def layout(self, target: Target) -> Layout:
        """Where the environment keeps things. TargetInvalidError, TargetBrokenError, ProbeFailedError."""

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """All facts; a section that fails is Unobserved. ``baseline`` serves where a RECORD can't be read.

        Every distribution comes with its ``listing``.
        """

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """The bytes of a file that a fact tells of, as they are now. OSError."""


class Surroundings(Protocol):
    """Looks around a run, for hazards."""

    def seen(self, layout: Layout) -> Seen:
        """Torch's own source, the cache folder, variables and the run's code; a look that fails says why."""


class Headroom(Protocol):
    """Says what is free for a run."""

    def space(self) -> Sequence[Space]:
        """Room on the disks that it writes to."""

    def memory(self) -> Sequence[Memory]:
        """Memory of the GPUs by the names that the run will have for them; none where that can't be told."""


class Provenance(Protocol):
    """Finds which wheel each installed distribution came from."""

    def wheels(self, layout: Layout, distributions: Sequence[Distribution]) -> Mapping[str, Wheel]:
        """Canonical name → wheel with the best evidence there is; names without any are left out."""


class Store(Protocol):
    """Bytes named by their digest."""

    def put(self, content: bytes | BinaryIO, *, expect: Digest | None = None) -> Digest:
        """Keep bytes, durably; OtherBytesError when they are not ``expect``. StoreError on disk faults."""

    def open(self, digest: Digest) -> BinaryIO:
        """The object's bytes, as a stream. ObjectMissingError, ObjectCorruptError."""

    def read(self, digest: Digest) -> bytes:
        """All bytes, checked against the name. ObjectMissingError, ObjectCorruptError."""

    def has(self, digest: Digest) -> bool:
        """Whether an object of that name is there (not whether it is whole)."""

    def digests(self) -> Iterator[Digest]:
        """All names, in no order."""


class TendedStore(Store, Protocol):
    """A store that is looked after."""

    def size(self, digest: Digest) -> int:
        """The object's length, in bytes. ObjectMissingError."""

    def kept(self, digest: Digest) -> float:
        """When it was last put, in seconds since 1970. ObjectMissingError."""

    def remove_unrenewed(self, digest: Digest, kept: float) -> bool:
        """Forget an object unless it was put again after ``kept``; whether it was removed. StoreError."""

    def set_aside(self, digest: Digest) -> Path:
        """Move a damaged object out of the way, and say where it is. ObjectMissingError."""


class Roots(Protocol):
    """What the store's objects are needed for."""

    def remember(self, lock: Path, objects: Iterable[Digest]) -> None:
        """Note that a snapshot wrote this lock file, and which objects it names."""

    def forget(self, lock: Path) -> bool:
        """Drop that note; whether there was one."""

    def read(self, *, lenient: bool = False) -> Sequence[Root]:
        """All that is known. RootsUnreadableError names one that is there and can't be read; ``lenient``: it is
        told by what was noted of it.
        """

    def stamp(self) -> object:
        """Changes whenever ``read`` could answer otherwise."""


class Archivist(Protocol):
    """Finds, or makes from an environment, what an archive keeps. Nothing that it looks at is changed."""

    def room(self) -> int:
        """Free bytes of the store's disk."""

    def staging(self) -> AbstractContextManager[Path]:
        """A folder on that disk to gather files in; downloads that broke off stay there."""

    def local(self, entry: Distribution) -> Path | None:
        """A wheel file of this machine whose bytes are those that the lock names."""

    def rebuild(self, layout: Layout, entry: Distribution, folder: Path) -> RebuiltWheel:
        """A wheel made from the installed files. NotRebuildableError names the file in the way; StoreError."""

    def source(self, layout: Layout, entry: Distribution, folder: Path) -> SourceTree | None:
        """The folder or repository that an install came from, None where it isn't there. NotRebuildableError."""


class Index(Protocol):
    """All places that wheels can be had from, in order: find-links folders, then indexes."""

    def offers(self, name: str) -> Sequence[Offer]:
        """Every wheel file of a distribution. IndexUnreachableError, IndexAnswerError when nothing is offered."""

    def troubles(self, name: str) -> Sequence[EnvguardError]:
        """What kept sources from being asked for a distribution, though others offered something."""

    def fetch(self, offer: Offer, folder: Path, *, expect: Digest | None, progress: Progress) -> Path:
        """Download (resuming) or copy into ``folder`` under the real filename, hashing on the way.

        OtherBytesError when the bytes are not ``expect``; nothing bad is kept.
        """


class WheelReader(Protocol):
    """Says what wheel files are, without downloading them where that can be avoided."""

    def read(self, offer: Offer, parts: frozenset[Part] = ...) -> WheelFacts:
        """What an offered wheel is; ``parts`` are the telling files that are needed.

        IndexUnreachableError, IndexAnswerError (also for a zip that is refused), NotObtainableError where only a
        download would tell, WheelInvalidError for a file of this machine.
        """


class Identifier(Provenance, Protocol):
    """A ``Provenance`` that also says why it can't tell."""

    def recorded(self, distributions: Sequence[Distribution], interpreter: Interpreter) -> Mapping[str, Wheel]:
        """As ``wheels``, of a lock's distributions: by their record fingerprints alone."""

    def remark(self, name: str) -> str | None:
        """What is to be said of a distribution whose wheel was looked for, in words."""

    def troubles(self) -> Sequence[EnvguardError]:
        """Sources that could not be asked."""


class Declarations(Protocol):
    """What a lock's project declares in its own files."""

    def of(self, lock: Path) -> Found:
        """All that speaks of the environment of this lock; files that can't be read are among the unreadable."""


class Installer(Protocol):
    """Makes environments: uv."""

    def version(self) -> str:
        """uv's version. UvUnsuitableError when there is none that can be used."""

    def notes(self) -> Sequence[str]:
        """What is to be said of this uv: a version that envguard was never tried with."""

    def pythons(self, minor: str) -> Sequence[Path]:
        """Installed interpreters that may be Python ``minor`` (``3.12``), likeliest first; none is downloaded."""

    def looked(self) -> str:
        """Where ``pythons`` looks, in words."""

    def create(self, environment: Path, python: Path) -> None:
        """Make an empty relocatable environment. InstallFailedError."""

    def install(self, environment: Path, wheels: Sequence[tuple[Path, Digest]]) -> None:
        """Install exactly these files, offline, hashes required, without any shared cache. InstallFailedError."""

    def clear_bytecode(self, environment: Path) -> None:
        """Remove the bytecode that wheels brought: nothing says what it was compiled from."""

    def compile(self, environment: Path, final: Path) -> None:
        """Compile all bytecode anew, such that it stays valid when the environment moves to ``final``."""


class Environments(Protocol):
    """The folder of restored environments, one folder a lock's name, and the targets that lead to them."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Only one restore of a name at a time. InUseError when another holds it and doesn't let go in time."""

    def room(self) -> Room:
        """What is free there."""

    def wheels(self, name: str) -> Path:
        """The folder that wheels are fetched into; it outlives a failed attempt, so that the next needs less."""

    def forget_wheels(self, name: str) -> None:
        """Remove that folder."""

    def begin(self, name: str, lock: str) -> Attempt:
        """A new attempt, after what killed ones left was removed. Call it while the name is held."""

    def put(self, environment: Path, path: Path, content: bytes, mode: int) -> None:
        """Write a file of an environment being built; ``path`` is absolute and can't lead out of it."""

    def drop(self, environment: Path, path: Path) -> None:
        """Remove a file of an environment being built, if it is there."""

    def make_executable(self, environment: Path, path: Path, *, executable: bool) -> None:
        """Give a file of an environment being built its exec bits, or take them, if it is there."""

    def finish(self, attempt: Attempt, marker: bytes) -> Path:
        """Everything on disk, then the marker, then one rename to where it stays: the environment's folder."""

    def discard(self, attempt: Attempt) -> None:
        """Remove an attempt that failed."""

    def check(self, target: Path) -> None:
        """UsageError when a target could not be switched without harm."""

    def occupants(self, target: Path) -> Sequence[Occupant]:
        """Processes that run from what a target leads to now."""

    def switch(self, environment: Path, target: Path) -> Switched:
        """Make a target lead to an environment, in one step. A folder that is in the way is kept beside it."""

    def restored(self, name: str | None = None) -> Sequence[Restored]:
        """All finished environments, or those of one name, oldest first."""

    def current(self, name: str) -> Path:
        """The link of a name that restore switches where no target is given."""

    def rollback(self, target: Path) -> Switched:
        """Make a target lead to what it led to before. InUseError names a process that runs from it now.

        UsageError when there is nothing to go back to.
        """

    def prune(self, name: str | None = None) -> Pruned:
        """Remove every environment that no target leads to, now or by one rollback. InUseError names a process."""


class Caches(Protocol):
    """Compile caches on disk. Nothing of one is ever loaded, run or unpickled here."""

    def own(self, name: str, lock: str) -> CachePlace:
        """Where the cache of a lock's own lies, or would lie; nothing is made."""

    def prepare(self, place: CachePlace) -> None:
        """Make its folders, private. CacheUnsafeError names what others could change."""

    def listing(self, place: CachePlace) -> Listing:
        """The files that may be kept. CacheUnsafeError, InUseError while somebody writes it; EnvguardError."""

    def content(self, file: FoundFile) -> bytes | None:
        """Its bytes; None when it changed since it was listed, or can't be read."""

    def put_back(
        self,
        place: CachePlace,
        files: Sequence[CachedFile],
        content: Callable[[CachedFile], bytes],
        *,
        native: bool,
        progress: Progress,
    ) -> PutBack:
        """Write a cache beside and rename it into place; what was there is renamed, never removed.

        ``native``: libraries too, since this processor is the one they were made on. CacheUnsafeError, InUseError,
        StoreError (the disk), and what ``content`` raises.
        """

    def distrust(self, lock_file: Path, content: bytes) -> str | None:
        """Why a lock's word is not enough to put code in place, in words; None when it is the user's own."""


class Warmer(Protocol):
    """Starts a warmup's processes."""

    def run(self, start: Start) -> Ran:
        """Run one to its end, or to its deadline; what it left of itself is ended too. WarmupFailedError."""


class Rehearser(Protocol):
    """Starts the processes of a rehearsal."""

    def folder(self) -> AbstractContextManager[str]:
        """A private folder for the compile cache of all passes; it goes away."""

    def run(self, parts: Sequence[RehearsalPart]) -> list[Pass | str]:
        """Run them at the same time, to their end or deadline: what each saw, or why it saw nothing."""


class ProjectFolder(Protocol):
    """The folder of a project that gets its settings; paths are relative to it, with ``/``."""

    @property
    def name(self) -> str:
        """The folder's own name."""

    def read(self, path: str) -> str | None:
        """A file's text, line ends as they are; None where there is none. SettingsInvalidError."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""

    def is_repository(self) -> bool:
        """Whether it is the root of a git repository."""

    def locks(self, folder: str) -> Sequence[str]:
        """Paths of the TOML files in a folder, sorted."""

    def write(self, path: str, text: str) -> None:
        """Replace a file, or make it, whole or not at all; its mode, and a link to it, stay. EnvguardError."""
