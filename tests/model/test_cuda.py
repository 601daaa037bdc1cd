"""CUDA by name, on names and versions that are on the indexes."""

from __future__ import annotations

import pytest

from envguard.model import cuda


@pytest.mark.parametrize(
    ("name", "version", "major"),
    [
        ("nvidia-cublas-cu11", "11.10.3.66", 11),
        ("nvidia-cuda-runtime-cu117", "11.7.60", 11),
        ("nvidia-cublas-cu12", "12.8.4.1", 12),
        ("nvidia-cuda-cupti-cu12", "12.8.90", 12),
        ("nvidia-cufile-cu12", "1.13.1.3", 12),
        ("nvidia-cusparselt-cu12", "0.7.1", 12),
        ("nvidia-nccl-cu12", "2.27.3", 12),
        ("nvidia-cudnn-cu13", "9.26.0.51", 13),
        ("nvidia-nvshmem-cu13", "3.7.2", 13),
        ("nvidia-cutlass-dsl-libs-cu13", "4.3.0", 13),
        ("nvidia-dali-cuda120", "1.51.0", 12),
        ("nvidia-dali-cuda130", "1.52.0", 13),
        ("cupy-cuda12x", "13.6.0", 12),
        ("cupy-cuda102", "12.0.0", 10),
        ("cupy-cuda92", "9.0.0", 9),
        ("jax-cuda12-plugin", "0.7.2", 12),
        ("tensorrt-cu13-libs", "10.13.3.9", 13),
        ("nvidia-cublas", "13.1.2.11", 13),
        ("nvidia-cuda-runtime", "13.2.86", 13),
        ("nvidia-cuda-nvrtc", "13.4.92", 13),
        ("nvidia-cuda-cccl", "13.3.4.3.1", 13),
        ("nvidia-nvjitlink", "13.4.92", 13),
        ("nvidia-nvtx", "13.5.25", 13),
        ("nvidia-nvvm", "13.0.88", 13),
        ("nvidia-npp", "13.2.0.58", 13),
        ("nvidia-cufft", "12.4.0.43", 13),
        ("nvidia-cusolver", "12.3.5.3", 13),
        ("nvidia-cusparse", "12.8.6.72", 13),
        ("nvidia-curand", "10.4.4.72", 13),
        ("nvidia-cufile", "1.19.1.55", 13),
        ("cuda-toolkit", "13.2.2", 13),
        ("cuda-bindings", "12.9.4", 12),
        ("cuda-bindings", "13.0.3", 13),
        ("nvidia-cublas", "0.0.1.dev5", None),
        ("nvidia-cuda-runtime", "0.0.0a0", None),
        ("nvidia-cufft", "0.0.0a0", None),
        ("nvidia-ml-py", "13.580.82", None),
        ("nvidia-modelopt", "0.47.0", None),
        ("cuda-pathfinder", "1.4.2", None),
        ("cuda-core", "0.5.0", None),
        ("torch", "2.11.0+cu130", None),
        ("triton", "3.6.0", None),
        ("custom", "1.0", None),
    ],
)
def test_major_of_a_distribution(name: str, version: str, major: int | None) -> None:
    assert cuda.distribution_major(name, version) == major


@pytest.mark.parametrize(
    ("soname", "major"),
    [
        ("libcudart.so.13", 13),
        ("libcudart.so.12", 12),
        ("libcudart.so.11.0", 11),
        ("libcublas.so.12", 12),
        ("libcublasLt.so.13", 13),
        ("libcupti.so.12", 12),
        ("libnvrtc.so.13", 13),
        ("libnvrtc.so.11.2", 11),
        ("libnvrtc-builtins.so.12.8", 12),
        ("libnvJitLink.so.12", 12),
        ("libcufft.so.11", 12),
        ("libcufft.so.12", 13),
        ("libcusolver.so.12", 13),
        ("libcusolver.so.11", None),
        ("libcusparse.so.12", None),
        ("libcusparse.so.11", 11),
        ("libcurand.so.10", None),
        ("libcufile.so.0", None),
        ("libcudnn.so.9", None),
        ("libnccl.so.2", None),
        ("libcudart-d0da41ae.so.11.0", None),
        ("libcudart.so", None),
        ("libtorch_cuda.so", None),
        ("", None),
    ],
)
def test_major_of_a_library(soname: str, major: int | None) -> None:
    assert cuda.major_of_library(soname) == major


@pytest.mark.parametrize(
    ("variant", "version", "floor", "branch"),
    [
        ("cu102", (10, 2), "440.33", None),
        ("cu118", (11, 8), "450.80.02", "520"),
        ("cu121", (12, 1), "525.60.13", "530"),
        ("cu121.with.pypi.cudnn", (12, 1), "525.60.13", "530"),
        ("cu126", (12, 6), "525.60.13", "560"),
        ("cu128", (12, 8), "525.60.13", "570"),
        ("cu129", (12, 9), "525.60.13", "575"),
        ("cu130", (13, 0), "580", "580"),
        ("cu132", (13, 2), "580", None),
        ("cu92", (9, 2), None, None),
        ("cu140", (14, 0), None, None),
        ("cpu", None, None, None),
        ("rocm6.4", None, None, None),
        ("xpu", None, None, None),
        ("", None, None, None),
    ],
)
def test_variant(variant: str, version: tuple[int, int] | None, floor: str | None, branch: str | None) -> None:
    assert cuda.variant_version(variant) == version
    assert cuda.driver_floor(variant) == floor
    assert cuda.driver_branch(variant) == branch


@pytest.mark.parametrize(
    ("driver", "floor", "older"),
    [
        ("580.65.06", "580", False),
        ("580", "580", False),
        ("579.99", "580", True),
        ("525.60.13", "525.60.13", False),
        ("525.60.11", "525.60.13", True),
        ("535.54.03", "525.60.13", False),
        ("450.36.06", "450.80.02", True),
        ("580.159\n", "580", False),
        ("n/a", "580", None),
        ("", "580", None),
    ],
)
def test_driver_against_a_floor(driver: str, floor: str, older: bool | None) -> None:
    assert cuda.driver_is_older(driver, floor) is older
