"""Memory by device: the allocator's peak, what this process has on the device in all, and so the context's part.

NVML is called through ctypes (nvml.h); without it, or in a container that hides process numbers, the device's own
total stands in and says so.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

_SUCCESS = 0
_TOO_SMALL = 7


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t of version 2 and later."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def devices() -> list[dict[str, Any]]:
    """A row a device that this process used; bytes. Empty where CUDA was never started."""
    torch: Any = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return []
        return [row for row in (_row(torch, index) for index in range(torch.cuda.device_count())) if row]
    except (AttributeError, RuntimeError, AssertionError):
        return []


def peak_host() -> int | None:
    """Largest resident size of this process, bytes."""
    try:
        import resource
    except ImportError:
        return None
    kilo = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilo


def _row(torch: Any, index: int) -> dict[str, Any] | None:
    reserved = torch.cuda.memory_reserved(index)
    peak = torch.cuda.max_memory_allocated(index)
    process = _of_process(torch, index)
    if not peak and not process:
        return None
    row = {
        "device": "cuda:%d" % index,
        "name": torch.cuda.get_device_name(index),
        "peak_allocated": peak,
        "peak_reserved": torch.cuda.max_memory_reserved(index),
        "process": process,
        "context": process - reserved if process is not None else None,
    }
    free, total = torch.cuda.mem_get_info(index)
    row["total"], row["used_by_all"] = total, total - free
    return row


def _of_process(torch: Any, index: int) -> int | None:
    """Bytes that NVML counts for this process on a device; None where it can't be had."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        if nvml.nvmlInit_v2() != _SUCCESS:
            return None
    except OSError:
        return None
    try:
        device = ctypes.c_void_p()
        uuid = str(torch.cuda.get_device_properties(index).uuid)
        name = uuid if uuid.startswith(("GPU-", "MIG-")) else "GPU-" + uuid
        if nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(device)) != _SUCCESS:
            return None
        return _asked(nvml, device)
    except AttributeError:
        return None
    finally:
        nvml.nvmlShutdown()


def _asked(nvml: Any, device: ctypes.c_void_p) -> int | None:
    count = ctypes.c_uint(0)
    ask = nvml.nvmlDeviceGetComputeRunningProcesses_v3
    if ask(device, ctypes.byref(count), None) not in (_SUCCESS, _TOO_SMALL):
        return None
    count.value += 16
    rows = (_Process * count.value)()
    if ask(device, ctypes.byref(count), rows) != _SUCCESS:
        return None
    own: list[int] = [row.used for row in rows[: count.value] if row.pid == os.getpid()]
    unknown = ctypes.c_ulonglong(-1).value
    return own[0] if own and own[0] != unknown else None
