"""What is free where a run will write, and on the GPUs that it will use."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envguard.model.preflight import Memory, Space

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Headroom:
    """Implements ``ports.Headroom``. ``environ``: the run's; ``folders``: (what, where) that it writes to."""

    environ: Mapping[str, str]
    folders: Sequence[tuple[str, Path]]

    def space(self) -> Sequence[Space]:
        """Room for bytes and files, a file system each."""
        return tuple(_spaces(self.folders))

    def memory(self) -> Sequence[Memory]:
        """Memory of the GPUs as the run will name them; none where that can't be told for sure."""
        try:
            import pynvml
        except ImportError:
            return ()
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError:
            return ()
        try:
            return tuple(_memories(_all(pynvml), self.environ))
        except pynvml.NVMLError:
            return ()
        finally:
            with contextlib.suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()


@dataclass(frozen=True, slots=True)
class NvmlGpu:
    """A GPU in NVML's order, which is that of the bus."""

    uuid: str
    name: str
    free: int
    total: int


def _all(nvml: Any) -> list[NvmlGpu]:
    found = []
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        uuid, name = nvml.nvmlDeviceGetUUID(handle), nvml.nvmlDeviceGetName(handle)
        found.append(NvmlGpu(_text(uuid), _text(name), memory.free // _MIB, memory.total // _MIB))
    return found


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _memories(gpus: Sequence[NvmlGpu], environ: Mapping[str, str]) -> Iterator[Memory]:
    for index, gpu in enumerate(visible(gpus, environ)):
        yield Memory(f"cuda:{index}", gpu.free, gpu.total)


def visible(gpus: Sequence[NvmlGpu], environ: Mapping[str, str]) -> Sequence[NvmlGpu]:
    """The GPUs in the order that CUDA will number them; empty where NVML's order doesn't tell it.

    CUDA orders by the bus when asked to, and among equal GPUs; unequal ones it orders by speed.
    """
    named = environ.get("CUDA_VISIBLE_DEVICES")
    by_bus = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" or len({gpu.name for gpu in gpus}) <= 1
    if named is None:
        return gpus if by_bus else ()
    chosen = []
    for part in (part.strip() for part in named.split(",")):
        gpu = _named(part, gpus, by_bus)
        if gpu is None:  # CUDA too takes only what stands before the first that it doesn't know
            break
        chosen.append(gpu)
    return chosen


def _named(part: str, gpus: Sequence[NvmlGpu], by_bus: bool) -> NvmlGpu | None:
    if part.isdecimal():
        return gpus[int(part)] if by_bus and int(part) < len(gpus) else None
    matching = [gpu for gpu in gpus if part.startswith("GPU-") and gpu.uuid.startswith(part)]
    return matching[0] if len(matching) == 1 else None


def _spaces(folders: Iterable[tuple[str, Path]]) -> Iterator[Space]:
    seen: set[int] = set()
    for what, folder in folders:
        there = _nearest(folder)
        try:
            device = there.stat().st_dev
            if device in seen:
                continue
            seen.add(device)
            yield Space(f"the disk of {what}", shutil.disk_usage(there).free, _inodes(there))
        except OSError:
            continue


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that exists."""
    return next((place for place in (folder, *folder.parents) if place.is_dir()), Path("/"))


def _inodes(folder: Path) -> int | None:
    if not hasattr(os, "statvfs"):
        return None
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else None
