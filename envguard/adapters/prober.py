"""Looks at a target: every section of the facts, each on its own, so that one that fails leaves the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from envguard.adapters import machine, shadows, site, startup, torch_build
from envguard.adapters.cache.factors_kept import factors_kept
from envguard.adapters.cache.place import place
from envguard.adapters.cache.sections import cache_and_keys
from envguard.adapters.claims import place_of
from envguard.adapters.hashing import open_file
from envguard.adapters.look import Asked, Looked, look
from envguard.adapters.site import Installed
from envguard.errors import EnvguardError
from envguard.model.distribution import Distribution, Origin
from envguard.model.facts import Code, Facts, FileFact, Interpreter, Live, Variables
from envguard.model.observed import NOT_ASKED, Absent, Observed, Unobserved, Value
from envguard.model.target import Layout, Level, Target
from envguard.ports import Baseline, Progress

if TYPE_CHECKING:
    from envguard.adapters.ahead import Ahead
    from envguard.model.cache_files import CachePlace

T = TypeVar("T")

_DIRECT_URL_CAP = 1 << 20


class InterpretersLike(Protocol):
    """What is asked of interpreters: ``adapters.interpreter.Interpreters``."""

    def look(self, python: Path) -> tuple[Layout, Interpreter]:
        """Its layout, and which Python it is."""

    def live(self, python: Path, timeout: float) -> Observed[Live]:
        """What torch says of itself."""


@dataclass(slots=True)
class EnvironmentProber:
    """Looks at environments on this machine. ``environ``: what a job would have; ``live``: import torch too."""

    interpreters: InterpretersLike
    environ: Mapping[str, str]
    working_folder: Path | None
    live: bool = False
    live_timeout: float = 120.0
    cache: Path | None = None
    """The compile cache's folder, where it isn't the one that the environment names."""
    own: CachePlace | None = None
    """The cache of the lock that is compared with: looked at where nothing names another."""
    source: str = "shell"
    """Whose ``environ`` is: ``shell`` (envguard's own) or ``process`` (the run's)."""
    ahead: Ahead | None = None
    """A walk that has begun already."""
    texts: bool = False
    """Read the cache's entries as text too, for their devices: a snapshot needs it, a comparison doesn't."""

    def layout(self, target: Target) -> Layout:
        """Where the environment keeps things. TargetInvalidError, TargetBrokenError, ProbeFailedError."""
        return self.interpreters.look(target.python)[0]

    def facts(self, target: Target, level: Level, *, baseline: Baseline, progress: Progress) -> Facts:
        """All facts; a section that fails is Unobserved, and says why."""
        layout, interpreter = self.interpreters.look(target.python)
        environ = self.environ
        facts = Facts(
            interpreter=Value(interpreter),
            driver=_observed(machine.driver),
            gpus=_observed(lambda: machine.gpus(environ=environ)),
            cpu=_observed(machine.cpu),
            variables=_observed(lambda: Value(_variables(environ, self.source))),
            code=_observed(self._code),
            live=_observed(lambda: self._live(target)),
        )
        facts = self._with_cache(facts)
        try:
            looked = look(Asked(layout, level, interpreter.soabi, environ, baseline, progress, self.ahead))
        except OSError as problem:
            reason = Unobserved(f"the environment can't be read: {problem.strerror or problem}")
            return replace(
                facts,
                torch=reason,
                distributions=reason,
                files=reason,
                shared=reason,
                shadows=reason,
                factors=reason,
            )
        mark = _mark(looked)
        facts = replace(facts, factors=_observed(lambda: factors_kept(layout, interpreter.soabi, environ, mark)))
        return self._with_files(facts, looked, layout, interpreter)

    def content(self, layout: Layout, fact: FileFact) -> BinaryIO:
        """The bytes of a file that a fact tells of, as they are now. OSError."""
        if fact.root == startup.OUTSIDE:
            raise OSError(None, "it lies outside the environment")
        place = _spelled(place_of(layout, fact.root, fact.path))
        return os.fdopen(open_file(os.fspath(place)), "rb")

    def _with_cache(self, facts: Facts) -> Facts:
        folder = self.working_folder or Path("/")
        where = place(self.environ, folder, self.cache, self.own)
        found, keys = cache_and_keys(where, self.environ, texts=self.texts)
        return replace(facts, cache=found, keys=keys)

    def _with_files(self, facts: Facts, looked: Looked, layout: Layout, interpreter: Interpreter) -> Facts:
        installed = looked.distributions
        torch = _observed(lambda: torch_build.torch_build(layout, interpreter, installed, looked.kept))
        looked.save()
        outside = startup.outside_startup(layout) if looked.files is not None else ()
        return replace(
            facts,
            torch=torch,
            distributions=Value(tuple(self._distribution(layout, one) for one in installed)),
            files=NOT_ASKED if looked.files is None else Value((*looked.files, *outside)),
            shared=Value(looked.shared),
            shadows=_observed(lambda: Value(shadows.shadows(layout, installed, self.working_folder))),
            files_seen=looked.seen,
        )

    def _distribution(self, layout: Layout, installed: Installed) -> Distribution:
        return site.distribution(layout, installed, lambda one: _origin(layout, one))

    def _code(self) -> Observed[Code]:
        from envguard.adapters import vcs

        return vcs.code(self.working_folder) if self.working_folder is not None else Absent()

    def _live(self, target: Target) -> Observed[Live]:
        if not self.live:
            return NOT_ASKED
        return self.interpreters.live(target.python, self.live_timeout)


def _observed(section: Callable[[], Observed[T]]) -> Observed[T]:
    """What a look at one section came to, or why it came to nothing."""
    try:
        return section()
    except EnvguardError as error:
        return Unobserved(error.message)
    except OSError as problem:
        return Unobserved(problem.strerror or str(problem))


def _mark(looked: Looked) -> str | None:
    """A text that is another when torch or triton could be: by files, or by RECORD where only that was read."""
    if looked.files is None:
        builds = sorted((one.name, one.record) for one in looked.distributions if one.name in _COMPILERS)
        return f"RECORD {builds}" if builds and all(record for _, record in builds) else None
    torch = looked.mark("torch")
    has_triton = any(one.name in _COMPILERS and one.name != "torch" for one in looked.distributions)
    triton = looked.mark("triton") if has_triton else "none"
    return f"files {torch} {triton}" if torch and triton else None


_COMPILERS = frozenset({"torch", "triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu"})


def _variables(environ: Mapping[str, str], source: str) -> Variables:
    from envguard.planning.variables import select

    return select(environ, source)


def _origin(layout: Layout, installed: Installed) -> Origin | None:
    """Where an editable, folder or VCS install came from; a wheel file's address is no matter of origin."""
    from envguard.adapters import vcs
    from envguard.adapters.hashing import read_file

    library = layout.libraries[installed.in_library]
    path = os.path.join(library, installed.folder, "direct_url.json")  # noqa: PTH118 - odd names must not raise
    try:
        found = vcs.origin(read_file(path, cap=_DIRECT_URL_CAP), library)
    except (OSError, ValueError):
        return None
    return None if found is None or found.kind == "archive" else found


def _spelled(place: Path) -> Path:
    """The path as it is on disk: a distribution's header folder is told by its canonical name."""
    if os.path.lexists(place):
        return place
    from envguard.formats.distinfo import canonical

    for above in place.parents:
        if above.is_dir():
            missing = place.relative_to(above).parts
            for name in os.listdir(above):  # noqa: PTH208
                if canonical(name) == missing[0]:
                    return above.joinpath(name, *missing[1:])
            break
    return place
