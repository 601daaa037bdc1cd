"""Looks at the machine: NVIDIA driver, GPUs, processor."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from envguard.errors import EnvguardError
from envguard.model.facts import Cpu, Driver, Gpu
from envguard.model.observed import Absent, Observed, Unobserved, Value

_DRIVER_FILES = ("proc/driver/nvidia/version", "sys/module/nvidia/version")
_DRIVER_SIGNS = ("dev/nvidiactl", "dev/nvidia0", "dev/dxg")
"""A driver is at work although its version file is hidden, as in some containers and under WSL."""
_DRIVER_VERSION = re.compile(r"(?<![\w.])(\d{3}\.\d+(?:\.\d+)?)(?![\w.])")
_GPU_SECONDS = 120.0  # without persistence mode the driver wakes every GPU first, one after another

_X86 = frozenset(("sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2"))
_X86_FAMILIES: tuple[str, ...] = ("avx512", "avx10", "avx_", "amx_")
_ARM = frozenset(("neon", "fphp", "bf16", "i8mm"))
_ARM_FAMILIES: tuple[str, ...] = ("asimd", "sve", "sme")


def driver(root: Path = Path("/"), ask_nvml: Callable[[], Observed[Driver]] | None = None) -> Observed[Driver]:
    """The NVIDIA kernel driver: from its files under ``root``, else by NVML where there are signs of one."""
    ask = ask_nvml or _ask_nvml
    if sys.platform == "darwin":
        return Absent()
    if sys.platform == "win32":
        return ask()
    problem = None
    for name in _DRIVER_FILES:
        try:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = f"/{name} can't be read: {error.strerror}"
            continue
        found = _DRIVER_VERSION.search(text)
        if found:
            return Value(Driver(found[1]))
        problem = f"/{name} holds no version: {' '.join(text.split())[:80]!r}"
    if problem is None and not any((root / sign).exists() for sign in _DRIVER_SIGNS):
        return Absent()
    answer = ask()
    # a driver has left its traces: "none" is no answer to that
    return Unobserved(problem or "an NVIDIA device is here, its driver is not") if answer == Absent() else answer


def _ask_nvml() -> Observed[Driver]:
    """NVML's word; Absent when its library isn't there."""
    try:
        import pynvml
    except ImportError as error:
        return Unobserved(f"NVML can't be asked: {error}")
    try:
        pynvml.nvmlInit()
        try:
            return Value(Driver(str(pynvml.nvmlSystemGetDriverVersion())))
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        missing = error.value in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
        return Absent() if missing else Unobserved(f"NVML answers: {error}")


def gpus(
    root: Path = Path("/"), *, environ: Mapping[str, str] | None = None, timeout: float = _GPU_SECONDS
) -> Observed[tuple[Gpu, ...]]:
    """The GPUs in CUDA's own order, as a job with ``environ`` would see them.

    A child asks libcuda, so that the driver doesn't stay in this process. Without a driver none is started.
    """
    if driver(root) == Absent():
        return Absent()
    from envguard.adapters.probe_child import ISOLATED, ask
    from envguard.formats import probe

    surroundings = os.environ if environ is None else environ
    try:
        return probe.gpus(ask(Path(sys.executable), "gpus", ISOLATED, environ=surroundings, timeout=timeout))
    except EnvguardError as error:
        return Unobserved(f"CUDA could not be asked: {error.message}")


def cpu(root: Path = Path("/"), machine: str | None = None) -> Observed[Cpu]:
    """The processor, by its first core. ``machine``: the architecture (default: the running system's)."""
    architecture = machine or (os.uname().machine if hasattr(os, "uname") else "")
    try:
        fields = dict(_first_core(root / "proc/cpuinfo"))
    except FileNotFoundError:
        return Unobserved("there is no /proc/cpuinfo on this system")
    except OSError as error:
        return Unobserved(f"/proc/cpuinfo can't be read: {error.strerror}")
    flags = _flags(fields)
    if flags is None:
        return Unobserved("/proc/cpuinfo names no flags")
    return Value(Cpu(architecture, _model(fields), flags))


def _flags(fields: Mapping[str, str]) -> tuple[str, ...] | None:
    """Those that code generation uses, of ``flags`` (x86) or ``Features`` (Arm)."""
    names = fields.get("flags")
    known, families = _X86, _X86_FAMILIES
    if names is None:
        names, known, families = fields.get("Features"), _ARM, _ARM_FAMILIES
    if names is None:
        return None
    return tuple(sorted(name for name in set(names.split()) if name in known or name.startswith(families)))


def _first_core(file: Path) -> Iterator[tuple[str, str]]:
    """The fields of the first block only: the kernel makes each further one anew, and there may be hundreds."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, colon, value = line.partition(":")
            if colon:
                yield key.strip(), value.strip()
            elif not line.strip():
                return


def _model(fields: Mapping[str, str]) -> str:
    named = fields.get("model name") or fields.get("cpu model")
    if named:
        return " ".join(named.split())
    maker, part = fields.get("CPU implementer"), fields.get("CPU part")
    return f"implementer {maker}, part {part}" if maker and part else "unknown"
