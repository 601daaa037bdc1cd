from __future__ import annotations

import pytest

from envguard.model.facts import Interpreter
from envguard.planning.torch_requires import torch_requires

LINUX = Interpreter("cpython", "3.12.3", "", "cpython-312-x86_64-linux-gnu", "linux_x86_64", "glibc 2.39")
MAC = Interpreter("cpython", "3.12.3", "", "cpython-312-darwin", "macosx_11_0_arm64", "unknown")
WINDOWS = Interpreter("cpython", "3.12.3", "", "cp312-win_amd64", "win_amd64", "unknown")

LINES = (
    "filelock",
    'triton==3.6.0; platform_system == "Linux"',
    'nvidia-cublas-cu12==12.8.4.1; platform_system == "Linux" and platform_machine == "x86_64"',
    'nvidia_cudnn-cu12==9.1; platform_machine == "aarch64"',
    'cuda-bindings<14,>=13.0.3; platform_system == "Linux"',
    'cuda-toolkit[nvrtc,cudart]==13.0.2; platform_system == "Linux"',
    'pytorch-triton-rocm==3; python_version < "3.10"',
    'optree; extra == "optree"',
    'triton-windows; sys_platform == "win32" and platform_machine == "AMD64"',
)


@pytest.mark.parametrize(
    ("interpreter", "found"),
    [
        pytest.param(
            LINUX,
            (
                "cuda-bindings<14,>=13.0.3",
                "cuda-toolkit[cudart,nvrtc]==13.0.2",
                "nvidia-cublas-cu12==12.8.4.1",
                "triton==3.6.0",
            ),
            id="linux",
        ),
        pytest.param(MAC, (), id="mac"),
        pytest.param(WINDOWS, ("triton-windows",), id="windows"),
    ],
)
def test_markers_hold_for_the_target(interpreter: Interpreter, found: tuple[str, ...]) -> None:
    assert torch_requires(LINES, interpreter) == found


def test_what_can_not_be_parsed_is_kept() -> None:
    assert torch_requires(["triton @@ x"], LINUX) == ("triton @@ x",)


def test_none() -> None:
    assert torch_requires(["filelock"], LINUX) == ()
