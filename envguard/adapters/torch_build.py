"""Which torch is installed, read from its files. Nothing of it is imported."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from envguard.adapters.hashing import read_file
from envguard.adapters.site import Installed
from envguard.adapters.stat_index import Kept, clock, settled
from envguard.model.facts import Interpreter, TorchBuild
from envguard.model.observed import Absent, Observed, Unobserved, Value
from envguard.model.target import Layout
from envguard.planning.torch_requires import torch_requires

_CAP = 64 * 1024
_CUDA = re.compile(
    r"lib(?:cudart|cublas|cudnn|nccl|nvrtc|cufft|cusparse|cusolver|curand|cupti|nvJitLink|nvToolsExt|nvtx|cufile"
    r"|nvshmem|cudss|cutensor)"
)


def torch_build(
    layout: Layout, interpreter: Interpreter, installed: Iterable[Installed], kept: Kept
) -> Observed[TorchBuild]:
    """The installed torch; Absent when there is none. ``kept`` serves while no file it was read from changed."""
    found = [one for one in installed if one.name == "torch"]
    if not found:
        return Absent()
    library = layout.libraries[found[0].in_library]
    key = _key(library, found[0], interpreter)
    if kept.torch is not None and key is not None and kept.torch[0] == key:
        return Value(_from_plain(kept.torch[1]))
    from envguard.formats.torch_version import read_torch_version  # not where the build is known

    try:
        version = read_torch_version(read_file(os.fspath(library / "torch" / "version.py"), cap=_CAP, follow=True))
    except FileNotFoundError:
        return Unobserved("torch/version.py is missing")
    except OSError as problem:
        return Unobserved(f"torch/version.py can't be read: {problem.strerror}")
    except ValueError as problem:
        return Unobserved(str(problem))
    build = TorchBuild(
        version=found[0].version,
        build=version.version,
        git_commit=version.git_version,
        variant=version.variant,
        cuda=version.cuda,
        hip=version.hip,
        requires=torch_requires(found[0].requires, interpreter),
        needs=_needs(library / "torch" / "lib"),
    )
    kept.torch = (key, _to_plain(build)) if key is not None else None
    return Value(build)


def _key(library: Path, torch: Installed, interpreter: Interpreter) -> bytes | None:
    """Digest of the stat of all that is read; None where that could still change unseen."""
    stamp = clock([library])
    state = hashlib.blake2b(
        repr((interpreter, torch.version, torch.requires)).encode("utf-8", "replace"), digest_size=16
    )
    lib = library / "torch" / "lib"
    for path in (library / "torch" / "version.py", *_libraries(lib)):
        try:
            seen, link = path.stat(), path.lstat()
        except OSError:
            continue
        changed = max(seen.st_ctime_ns, link.st_ctime_ns)
        if not settled(changed, stamp):
            return None
        marks = (path.name, seen.st_size, seen.st_mtime_ns, changed, seen.st_ino, seen.st_mode)
        state.update(repr(marks).encode("utf-8", "backslashreplace"))
    return state.digest()


def _needs(lib: Path) -> tuple[str, ...]:
    from envguard.adapters.elf import needed

    return tuple(sorted({name for file in _libraries(lib) for name in needed(file) if _CUDA.match(name)}))


def _libraries(lib: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(lib))  # noqa: PTH208 - names as they are
    except OSError:
        return
    yield from (lib / name for name in names if name.endswith(".so") or ".so." in name)


def _to_plain(build: TorchBuild) -> tuple[Any, ...]:
    return (
        build.version,
        build.build,
        build.git_commit,
        build.variant,
        build.cuda,
        build.hip,
        build.requires,
        build.needs,
    )


def _from_plain(plain: tuple[Any, ...]) -> TorchBuild:
    return TorchBuild(*plain)
