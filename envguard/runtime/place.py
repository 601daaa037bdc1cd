"""Which process this is, and where its run log goes."""

from __future__ import annotations

import os
import sys

OWNER = "ENVGUARD_RUN_OWNER"
PATH = "ENVGUARD_RUN_LOG"


def rank() -> dict[str, int | None]:
    """``{rank, local_rank, world_size, local_world_size}`` of torchrun, Slurm or MPI; None if unknown."""
    return {
        "rank": _number("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"),
        "local_rank": _number("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
        "world_size": _number("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
        "local_world_size": _number("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    }


def role() -> str:
    """``run``, ``child`` (of multiprocessing), ``launcher`` (torchrun itself) or ``compile-worker``."""
    words = " ".join(_command())
    if "torch._inductor.compile_worker" in words or "compile_worker/__main__" in words:
        return "compile-worker"
    if "torch.distributed.run" in words or "torch.distributed.launch" in words or _named("torchrun"):
        return "launcher"
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None and getattr(multiprocessing, "parent_process", lambda: None)() is not None:
        return "child"
    return "run"


def own() -> None:
    """Take the log's plain name for this process, unless one before it has; its children see that it is taken."""
    os.environ.setdefault(OWNER, str(os.getpid()))


def log() -> str | None:
    """The run log's path, or None where none is asked for.

    ``{rank}`` and ``{pid}`` are filled in; a folder gets a file a process; a plain name goes to the first process,
    and those that it starts put ``.rank<rank>.<pid>`` before the ending.
    """
    path = os.environ.get(PATH)
    if not path:
        return None
    number = rank()["rank"]
    mark = ("rank%d.%d" % (number, os.getpid())) if number is not None else str(os.getpid())
    if "{rank}" in path or "{pid}" in path:
        return path.replace("{rank}", "none" if number is None else str(number)).replace("{pid}", str(os.getpid()))
    if path.endswith(("/", os.sep)) or os.path.isdir(path):
        return os.path.join(path, "run.%s.json" % mark)
    if os.environ.get(OWNER) in (None, str(os.getpid())):
        return path
    stem, ending = os.path.splitext(path)
    return "%s.%s%s" % (stem, mark, ending)


def _command() -> list[str]:
    words: list[str] | None = getattr(sys, "orig_argv", None)
    if words:
        return list(words)
    try:
        with open("/proc/self/cmdline", "rb") as text:
            return text.read().decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return list(sys.argv)


def _named(name: str) -> bool:
    return os.path.basename(sys.argv[0] if sys.argv else "") == name


def _number(*names: str) -> int | None:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return None
