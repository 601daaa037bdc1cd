from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters import machine
from envguard.model.facts import Cpu, Driver, Gpu
from envguard.model.observed import Absent, Observed, Unobserved, Value
from tests.fakes.libcuda import libcuda

OPEN_MODULE = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder@host)
GCC version:  gcc version 15.3.0 (GCC)
"""
CLOSED_MODULE = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023
GCC version:
"""

__all__ = ["libcuda"]


def put(root: Path, name: str, text: str = "") -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def never() -> Observed[Driver]:
    raise AssertionError("NVML was asked")


class TestDriver:
    def test_none(self, tmp_path: Path) -> None:
        assert machine.driver(tmp_path, never) == Absent()

    @pytest.mark.parametrize(
        ("name", "text", "version"),
        [
            pytest.param("proc/driver/nvidia/version", OPEN_MODULE, "580.159.04", id="open-module"),
            pytest.param("proc/driver/nvidia/version", CLOSED_MODULE, "535.54.03", id="closed-module"),
            pytest.param("sys/module/nvidia/version", "575.51\n", "575.51", id="module-file"),
        ],
    )
    def test_from_files(self, name: str, text: str, version: str, tmp_path: Path) -> None:
        put(tmp_path, name, text)
        assert machine.driver(tmp_path, never) == Value(Driver(version))

    def test_the_second_file_serves_where_the_first_is_no_use(self, tmp_path: Path) -> None:
        put(tmp_path, "proc/driver/nvidia/version", "garbage")
        put(tmp_path, "sys/module/nvidia/version", "580.159.04\n")
        assert machine.driver(tmp_path, never) == Value(Driver("580.159.04"))

    @pytest.mark.parametrize("sign", ["dev/nvidiactl", "dev/nvidia0", "dev/dxg"])
    def test_nvml_is_asked_where_there_are_signs(self, sign: str, tmp_path: Path) -> None:
        put(tmp_path, sign)
        assert machine.driver(tmp_path, lambda: Value(Driver("570.86"))) == Value(Driver("570.86"))
        assert machine.driver(tmp_path, lambda: Unobserved("why")) == Unobserved("why")
        assert isinstance(machine.driver(tmp_path, Absent), Unobserved)

    @pytest.mark.parametrize(
        "text", ["", "no version here\n", "gcc version 15.3.0"], ids=["empty", "words", "other"]
    )
    def test_a_file_without_a_version_is_never_none(self, text: str, tmp_path: Path) -> None:
        put(tmp_path, "proc/driver/nvidia/version", text)
        seen = machine.driver(tmp_path, Absent)
        assert isinstance(seen, Unobserved)
        assert "/proc/driver/nvidia/version" in seen.reason

    def test_a_file_that_can_t_be_read_is_never_none(self, tmp_path: Path) -> None:
        (tmp_path / "proc/driver/nvidia/version").mkdir(parents=True)
        seen = machine.driver(tmp_path, Absent)
        assert isinstance(seen, Unobserved)
        assert "can't be read" in seen.reason

    @pytest.mark.parametrize(
        ("platform", "wanted"),
        [
            pytest.param("darwin", Absent(), id="macos-has-none"),
            pytest.param("win32", Value(Driver("1")), id="windows-asks"),
        ],
    )
    def test_other_systems(
        self, platform: str, wanted: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "platform", platform)
        assert machine.driver(tmp_path, lambda: Value(Driver("1"))) == wanted

    @pytest.mark.parametrize(
        ("code", "wanted"),
        [
            pytest.param("NVML_ERROR_LIBRARY_NOT_FOUND", Absent(), id="no-library"),
            pytest.param("NVML_ERROR_DRIVER_NOT_LOADED", Absent(), id="no-driver"),
            pytest.param("NVML_ERROR_NO_PERMISSION", None, id="no-permission"),
        ],
    )
    def test_nvmls_errors(self, code: str, wanted: object, monkeypatch: pytest.MonkeyPatch) -> None:
        import pynvml

        def failing() -> None:
            raise pynvml.NVMLError(getattr(pynvml, code))

        monkeypatch.setattr(pynvml, "nvmlInit", failing)
        seen = machine._ask_nvml()
        assert seen == wanted if wanted else isinstance(seen, Unobserved)

    def test_nvmls_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import pynvml

        ended = []
        monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
        monkeypatch.setattr(pynvml, "nvmlShutdown", lambda: ended.append(True))
        monkeypatch.setattr(pynvml, "nvmlSystemGetDriverVersion", lambda: "580.159.04")
        assert machine._ask_nvml() == Value(Driver("580.159.04"))
        assert ended == [True]

    def test_without_nvml(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", None)
        assert isinstance(machine._ask_nvml(), Unobserved)


class TestGpus:
    def test_no_driver_no_child(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "must-not-be-started"))
        assert machine.gpus(tmp_path) == Absent()

    def test_as_cuda_sees_them(self, libcuda: Path, tmp_path: Path) -> None:
        put(tmp_path, "proc/driver/nvidia/version", OPEN_MODULE)
        environ = {**os.environ, "LD_LIBRARY_PATH": str(libcuda)}
        assert machine.gpus(tmp_path, environ=environ) == Value(
            (Gpu(0, "Fake H200", "9.0", 141 << 10), Gpu(1, "Fake \u00e9", "9.1", 141 << 10))
        )

    @pytest.mark.parametrize(
        ("code", "wanted"),
        [
            pytest.param("100", Absent(), id="none-visible"),
            pytest.param("803", Unobserved("cuInit answered CUDA_ERROR_FAKE (803)"), id="mismatch"),
        ],
    )
    def test_as_cuda_refuses(self, code: str, wanted: object, libcuda: Path, tmp_path: Path) -> None:
        put(tmp_path, "sys/module/nvidia/version", "580.159.04")
        environ = {**os.environ, "LD_LIBRARY_PATH": str(libcuda), "FAKE_INIT": code}
        assert machine.gpus(tmp_path, environ=environ) == wanted

    def test_a_driver_that_hangs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from tests.pythons import fake

        put(tmp_path, "sys/module/nvidia/version", "580.159.04")
        monkeypatch.setattr(sys, "executable", str(fake(tmp_path / "python", "sleep 600")))
        seen = machine.gpus(tmp_path, timeout=0.3)
        assert isinstance(seen, Unobserved)
        assert "0.3 s" in seen.reason


X86 = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R)   Processor
flags\t\t: fpu sse2 fma sse4_1 avx f16c avx2 smep avx512f avx512_bf16 avx_vnni amx_tile amx_bf16 serialize
bogomips\t: 4200.00

processor\t: 1
model name\t: Another
flags\t\t: fpu
"""
ARM = """\
processor\t: 0
BogoMIPS\t: 2000.00
Features\t: fp asimd evtstrm aes atomics asimdhp sve sve2 svebf16 i8mm bf16 fphp
CPU implementer\t: 0x41
CPU part\t: 0xd4f

processor\t: 1
"""


class TestCpu:
    @pytest.mark.parametrize(
        ("text", "name", "wanted"),
        [
            pytest.param(
                X86,
                "x86_64",
                Cpu(
                    "x86_64",
                    "Intel(R) Xeon(R) Processor",
                    (
                        "amx_bf16",
                        "amx_tile",
                        "avx",
                        "avx2",
                        "avx512_bf16",
                        "avx512f",
                        "avx_vnni",
                        "f16c",
                        "fma",
                        "sse4_1",
                    ),
                ),
                id="x86",
            ),
            pytest.param(
                ARM,
                "aarch64",
                Cpu(
                    "aarch64",
                    "implementer 0x41, part 0xd4f",
                    ("asimd", "asimdhp", "bf16", "fphp", "i8mm", "sve", "sve2", "svebf16"),
                ),
                id="arm",
            ),
            pytest.param("flags : avx\n", "x86_64", Cpu("x86_64", "unknown", ("avx",)), id="no-model"),
        ],
    )
    def test_first_core(self, text: str, name: str, wanted: Cpu, tmp_path: Path) -> None:
        put(tmp_path, "proc/cpuinfo", text)
        assert machine.cpu(tmp_path, name) == Value(wanted)

    @pytest.mark.parametrize("text", ["", "\n", "processor : 0\n"], ids=["empty", "blank", "no-flags"])
    def test_without_flags_it_is_not_seen(self, text: str, tmp_path: Path) -> None:
        put(tmp_path, "proc/cpuinfo", text)
        assert isinstance(machine.cpu(tmp_path), Unobserved)

    def test_without_the_file(self, tmp_path: Path) -> None:
        assert isinstance(machine.cpu(tmp_path), Unobserved)

    def test_with_a_folder_in_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "proc/cpuinfo").mkdir(parents=True)
        assert isinstance(machine.cpu(tmp_path), Unobserved)

    @pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="no /proc here")
    def test_this_machine(self) -> None:
        seen: Any = machine.cpu()
        assert seen.value.architecture == os.uname().machine
        assert seen.value.flags
