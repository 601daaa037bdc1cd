"""All factors of the keys that no other section of the facts holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from envguard.adapters.cache.kept import Kept, Part
from envguard.adapters.cache.modules import KeyUnknownError
from envguard.adapters.cache.settings import settings
from envguard.adapters.cache.threads import key_holds_threads, threads
from envguard.adapters.cache.torch_key import torch_key
from envguard.adapters.cache.triton_key import triton_key
from envguard.model.cache import CacheFactors
from envguard.model.observed import Absent, Observed, Value
from envguard.model.target import Layout

T = TypeVar("T")

_PTXAS = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


def factors(
    layout: Layout, soabi: str, environ: Mapping[str, str], kept: Kept | None = None
) -> Observed[CacheFactors]:
    """The factors of a target; Absent without torch. What fails is told in ``unseen``, and leaves the rest."""
    torch = _module(layout, "torch")
    if torch is None:
        return Absent()
    look = _Looks(kept or Kept())
    triton = _module(layout, "triton")
    own = look.at("settings", lambda: settings(torch, environ))
    return Value(
        CacheFactors(
            torch_key=look.at("torch-key", lambda: torch_key(torch, soabi, look.kept)),
            triton_key=look.at("triton-key", lambda: triton_key(triton, soabi, look.kept)) if triton else None,
            threads=look.at("threads", lambda: _threads(torch, environ)),
            settings=own or (),
            ptxas=look.at("ptxas", lambda: _ptxas(environ, look.kept)),
            unseen=tuple(sorted(look.unseen.items())),
        )
    )


def _module(layout: Layout, name: str) -> Path | None:
    """The package's folder, in the first library that has it."""
    return next(
        (library / name for library in layout.libraries if (library / name / "__init__.py").is_file()), None
    )


class _Looks:
    """Looks at one factor after the other, and keeps why one can't be had."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.unseen: dict[str, str] = {}

    def at(self, factor: str, look: Callable[[], T]) -> T | None:
        try:
            return look()
        except KeyUnknownError as problem:
            self.unseen[factor] = str(problem)
        except OSError as problem:
            name = Path(problem.filename).name if problem.filename else "a file"
            self.unseen[factor] = f"{name} can't be read: {problem.strerror or problem}"
        return None


def _threads(torch: Path, environ: Mapping[str, str]) -> int | None:
    if not key_holds_threads(torch) or environ.get("TORCHINDUCTOR_CPP_DYNAMIC_THREADS") == "1":
        return None
    # libtorch_cpu.so of an x86 build has MKL linked in; the others have not
    return threads(environ, mkl=_is_x86())


def _is_x86() -> bool:
    import platform

    return platform.machine().lower() in ("x86_64", "amd64")


def _ptxas(environ: Mapping[str, str], kept: Kept) -> str | None:
    """Its bytes stand for what ``ptxas --version`` would say: nothing of the target is run."""
    named = [Path(environ[name]) for name in _PTXAS if environ.get(name)]
    return kept.digest("ptxas", named, lambda: [Part(file=path) for path in named]) if named else None
