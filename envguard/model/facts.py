"""Facts: what a probe sees of an environment, and what a lock records of one. Both sides of every comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from envguard.model.cache import CacheFactors, CacheKeys
from envguard.model.digest import Digest
from envguard.model.distribution import Distribution
from envguard.model.observed import NOT_RECORDED, Observed

if TYPE_CHECKING:  # few locks record a run
    from envguard.model.run import Run


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python. ``libc`` reads ``glibc 2.36`` or ``musl 1.2``."""

    implementation: str
    version: str
    build: str
    soabi: str
    platform_tag: str
    libc: str


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """Which torch: read from METADATA and ``torch/version.py`` (written by tools/generate_torch_version.py)."""

    version: str
    """The distribution's version."""
    build: str
    """``torch.__version__``; the local label can be missing from ``version``."""
    git_commit: str
    variant: str
    """``cu130``, ``rocm6.4``, ``xpu`` or ``cpu``."""
    cuda: str | None = None
    hip: str | None = None
    requires: tuple[str, ...] = ()
    """Its triton and nvidia requirements that hold for this interpreter, canonical, sorted."""
    needs: tuple[str, ...] = ()
    """CUDA libraries that its own libraries name as NEEDED (``libcudart.so.13``), sorted."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The NVIDIA kernel driver."""

    version: str


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by CUDA's own index. ``capability`` reads ``9.0``; ``memory_mib`` in MiB."""

    index: int
    name: str
    capability: str
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Cpu:
    """``flags``: only those that code generation uses, sorted."""

    architecture: str
    model: str
    flags: tuple[str, ...]


class VariableKind(Enum):
    """What a variable does."""

    KEY = "key"
    """Enters compile-cache keys."""
    NUMERICS = "numerics"
    """Changes results."""
    NOTE = "note"
    PRESENCE = "presence"
    """Holds paths: only its digest is kept."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable of the table in ``model.variables``; ``value`` is a digest for presence kinds."""

    name: str
    kind: VariableKind
    value: str


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables that were set. ``source`` is ``shell`` (envguard's own) or ``process`` (the run's)."""

    source: str
    values: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """The run's folder in git. ``changes``: digest of uncommitted changes, None when clean."""

    commit: str
    changes: Digest | None = None


class FileKind(Enum):
    """Why a file is told apart from what the wheels answer for."""

    MODIFIED = "modified"
    """Its bytes are not those of its RECORD row."""
    MISSING = "missing"
    """It has a RECORD row and isn't there. Seen live; recorded too when it was missing at the snapshot."""
    UNREADABLE = "unreadable"
    """It could not be read; ``detail`` says why."""
    UNOWNED = "unowned"
    """In a library folder and in no RECORD."""
    STARTUP = "startup"
    """Runs at every start: ``.pth``, ``sitecustomize``, ``usercustomize``."""
    SCRIPT = "script"
    """In the scripts folder; ``sha256`` is of the undone content (no environment path, launchers by target)."""
    HEADER = "header"
    ERRATA = "errata"
    """Has a RECORD row without a hash."""
    BYTECODE = "bytecode"
    """A ``.pyc`` that isn't its source's."""


@dataclass(frozen=True, slots=True)
class FileFact:
    """One file that the wheels do not answer for.

    ``root`` is ``library`` (path relative to site-packages), ``scripts``, ``headers`` (relative to the include
    folder), ``data`` (relative to the prefix), or ``path``: startup code in another folder of the search path,
    which begins the path (``PYTHONPATH/sitecustomize.py``). ``mode`` is ``0755`` or ``0644``. ``expected`` is what
    RECORD says, ``detail`` a few words for people.
    """

    path: str
    kind: FileKind
    root: str = "library"
    sha256: Digest | None = None
    mode: str | None = None
    owners: tuple[str, ...] = ()
    expected: Digest | None = None
    detail: str | None = field(default=None, compare=False)

    @property
    def shown(self) -> str:
        """The path as people know it."""
        return {"scripts": "bin/", "headers": "include/"}.get(self.root, "") + self.path


@dataclass(frozen=True, slots=True)
class SharedPath:
    """One path that several distributions own; ``agree`` when all their RECORDs name the same bytes."""

    path: str
    owners: tuple[str, ...]
    agree: bool


@dataclass(frozen=True, slots=True)
class Shadow:
    """A module of a distribution that would be imported from elsewhere first.

    ``place``: ``PYTHONPATH``, ``user site``, ``.pth``, ``working folder`` or ``standard library``.
    """

    module: str
    distribution: str
    place: str
    path: str | None = field(default=None, compare=False)
    """Live only: where it would come from."""


@dataclass(frozen=True, slots=True)
class Live:
    """Torch's own view of itself, from a child that imports it (``--live``)."""

    build: str
    git_commit: str
    cuda: str | None
    cudnn: str | None
    nccl: str | None
    architectures: tuple[str, ...]
    default_dtype: str
    outside: tuple[str, ...]
    """Loaded libraries of torch or CUDA from outside the environment, and LD_PRELOAD ones: file names."""
    devices: tuple[str, ...] = ()
    """Names of the GPUs that torch sees, by its own index."""


@dataclass(frozen=True, slots=True)
class CacheFound:
    """The compile cache as found: no criterion, only told. Counts by kind: aotautograd, fxgraph, triton."""

    folder: str
    """With the user's name and home replaced: ``/tmp/torchinductor_<user>``."""
    source: str
    """``TORCHINDUCTOR_CACHE_DIR`` or ``default``."""
    entries: tuple[tuple[str, int], ...]
    size: int = field(default=0, compare=False)
    """Live: bytes of all files."""
    newest: float | None = field(default=None, compare=False)
    """Live: when its newest entry was written, in seconds since 1970."""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """Live: what else is to be said of the folder, in words (another user's, being written, links in it)."""
    quiet: bool = field(default=True, compare=False)
    """Live: nobody was writing it while it was read."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything seen of, or recorded for, one environment, section by section."""

    interpreter: Observed[Interpreter] = NOT_RECORDED
    torch: Observed[TorchBuild] = NOT_RECORDED
    driver: Observed[Driver] = NOT_RECORDED
    gpus: Observed[tuple[Gpu, ...]] = NOT_RECORDED
    cpu: Observed[Cpu] = NOT_RECORDED
    variables: Observed[Variables] = NOT_RECORDED
    code: Observed[Code] = NOT_RECORDED
    distributions: Observed[tuple[Distribution, ...]] = NOT_RECORDED
    files: Observed[tuple[FileFact, ...]] = NOT_RECORDED
    shared: Observed[tuple[SharedPath, ...]] = NOT_RECORDED
    shadows: Observed[tuple[Shadow, ...]] = NOT_RECORDED
    live: Observed[Live] = NOT_RECORDED
    cache: Observed[CacheFound] = NOT_RECORDED
    factors: Observed[CacheFactors] = NOT_RECORDED
    keys: Observed[CacheKeys] = NOT_RECORDED
    """Absent: there is no cache folder, or no key in it."""
    run: Observed[Run] = NOT_RECORDED
    """Of run logs (``--run``): no environment tells it."""

    files_seen: int = field(default=0, compare=False)
    """Live: how many files were held against RECORD (hashed, or unchanged since they were)."""
