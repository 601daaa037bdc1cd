"""Free room: disks once each, GPUs by the names that CUDA gives them."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.headroom import Headroom, NvmlGpu, visible
from envguard.model.preflight import Memory

A = NvmlGpu("GPU-aaaa-1", "NVIDIA H200", 100, 200)
B = NvmlGpu("GPU-aabb-2", "NVIDIA H200", 50, 200)
SMALL = NvmlGpu("GPU-cccc-3", "NVIDIA T4", 10, 15)


@pytest.mark.parametrize(
    ("gpus", "environ", "seen"),
    [
        ([A, B], {}, [A, B]),
        ([A, B], {"CUDA_VISIBLE_DEVICES": "1"}, [B]),
        ([A, B], {"CUDA_VISIBLE_DEVICES": "1,0"}, [B, A]),
        ([A, B], {"CUDA_VISIBLE_DEVICES": "GPU-aabb"}, [B]),
        ([A, B], {"CUDA_VISIBLE_DEVICES": "GPU-aa"}, []),
        ([A, B], {"CUDA_VISIBLE_DEVICES": "1,9,0"}, [B]),
        ([A, B], {"CUDA_VISIBLE_DEVICES": ""}, []),
        ([A, B], {"CUDA_VISIBLE_DEVICES": "MIG-1"}, []),
        ([SMALL, A], {}, []),
        ([SMALL, A], {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [SMALL, A]),
        ([SMALL, A], {"CUDA_VISIBLE_DEVICES": "0"}, []),
        ([SMALL, A], {"CUDA_VISIBLE_DEVICES": "GPU-aaaa-1"}, [A]),
        ([], {}, []),
    ],
    ids=[
        "all",
        "one",
        "turned",
        "by its name",
        "a name of two",
        "until an unknown one",
        "none",
        "a part of one",
        "unequal: the order isn't known",
        "unequal, by the bus",
        "unequal, by number",
        "unequal, by name",
        "no gpu",
    ],
)
def test_visible(gpus: list[NvmlGpu], environ: dict[str, str], seen: list[NvmlGpu]) -> None:
    assert list(visible(gpus, environ)) == seen


def nvml(gpus: list[NvmlGpu], *, broken: str | None = None) -> Any:
    """NVML as a module that answers for these."""

    class Error(Exception):
        pass

    def function(name: str, answer: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if name == broken:
                raise Error(name)
            return answer(*arguments)

        return call

    answers: dict[str, Any] = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: len(gpus),
        "nvmlDeviceGetHandleByIndex": lambda index: gpus[index],
        "nvmlDeviceGetMemoryInfo": lambda gpu: types.SimpleNamespace(free=gpu.free << 20, total=gpu.total << 20),
        "nvmlDeviceGetUUID": lambda gpu: gpu.uuid.encode(),
        "nvmlDeviceGetName": lambda gpu: gpu.name,
    }
    module = types.ModuleType("pynvml")
    for name, answer in answers.items():
        setattr(module, name, function(name, answer))
    module.NVMLError = Error  # type: ignore[attr-defined]
    return module


def test_memory_by_cuda_s_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml([A, B]))
    assert Headroom({"CUDA_VISIBLE_DEVICES": "1"}, ()).memory() == (Memory("cuda:0", 50, 200),)


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetMemoryInfo", "nvmlShutdown"])
def test_an_nvml_that_fails_tells_nothing_wrong(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml([A], broken=broken))
    told = Headroom({}, ()).memory()
    assert told == ((Memory("cuda:0", 100, 200),) if broken == "nvmlShutdown" else ())


def test_no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Headroom({}, ()).memory() == ()


def test_a_disk_is_told_once_and_by_the_nearest_folder_that_is_there(tmp_path: Path) -> None:
    (one,) = Headroom({}, [("the cache", tmp_path / "not" / "there"), ("the logs", tmp_path)]).space()
    assert one.what == "the disk of the cache"
    assert one.free > 0 and (one.inodes is None or one.inodes > 0)
