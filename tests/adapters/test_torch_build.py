"""Which torch is installed, on files like torch's own."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from envguard.adapters import elf, torch_build
from envguard.adapters.elf import needed
from envguard.adapters.look import Looked
from envguard.model.facts import Interpreter, TorchBuild
from envguard.model.observed import Absent, Observed, Unobserved, Value
from tests.adapters.small import Small, install
from tests.builders import COMMIT, wheel

LINUX = Interpreter("cpython", "3.12.3", "", "cpython-312-x86_64-linux-gnu", "linux_x86_64", "glibc 2.39")
VERSION = f"__version__ = '2.11.0+cu130'\ncuda: str = '13.0'\nhip = None\ngit_version = '{COMMIT}'\n"


def shared_object(file: Path, libraries: Sequence[str]) -> None:
    """A real library that asks for others."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no compiler")
    file.parent.mkdir(parents=True, exist_ok=True)
    empty = [compiler, "-shared", "-x", "c", "/dev/null"]
    stubs = []
    for name in libraries:
        stub = file.parent / f"stub-{name}"
        subprocess.run([*empty, f"-Wl,-soname,{name}", "-o", stub], check=True)
        stubs.append(stub)
    subprocess.run([*empty, "-o", file, "-x", "none", "-Wl,--no-as-needed", *stubs], check=True)
    for stub in stubs:
        stub.unlink()


@pytest.fixture
def torch(small: Small, tmp_path: Path) -> Small:
    library = tmp_path / "build" / "libtorch_cuda.so"
    shared_object(library, ["libcudart.so.13", "libc10.so", "libnccl.so.2"])
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(
        folder,
        "torch",
        "2.11.0",
        {
            "torch/__init__.py": "raise RuntimeError('imported')\n",
            "torch/version.py": VERSION,
            "torch/lib/libtorch_cuda.so": library.read_bytes(),
            "torch/lib/libodd.so": b"not a library",
        },
        metadata='Requires-Dist: triton==3.6.0; platform_system == "Linux"\nRequires-Dist: filelock\n',
    )
    install(small.prefix, folder, ["torch"], tmp_path / "cache", "--no-deps")
    return small


def build(small: Small) -> tuple[Observed[TorchBuild], Looked]:
    looked = small.look(keep=False)
    found = torch_build.torch_build(small.layout(), LINUX, looked.distributions, looked.kept)
    looked.save()
    return found, looked


def test_whole(torch: Small) -> None:
    assert build(torch)[0] == Value(
        TorchBuild(
            version="2.11.0",
            build="2.11.0+cu130",
            git_commit=COMMIT,
            variant="cu130",
            cuda="13.0",
            requires=("triton==3.6.0",),
            needs=("libcudart.so.13", "libnccl.so.2"),
        )
    )


def test_none(small: Small) -> None:
    assert build(small)[0] == Absent()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "torch/version.py is missing", id="missing"),
        pytest.param(b"", "torch/version.py has no __version__", id="empty"),
        pytest.param(b"x" * 70_000, "torch/version.py can't be read: it has more than 65536 bytes", id="large"),
    ],
)
def test_without_a_version(torch: Small, content: bytes | None, reason: str) -> None:
    file = torch.site / "torch/version.py"
    file.unlink() if content is None else file.write_bytes(content)
    assert build(torch)[0] == Unobserved(reason)


class TestKept:
    @pytest.fixture
    def parsed(self, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        done: list[Path] = []

        def counted(file: Path) -> tuple[str, ...]:
            done.append(file)
            return needed(file)

        monkeypatch.setattr(elf, "needed", counted)
        return done

    def test_nothing_is_parsed_again(self, torch: Small, parsed: list[Path]) -> None:
        time.sleep(0.15)
        first = build(torch)[0]
        assert len(parsed) == 2
        assert build(torch)[0] == first
        assert len(parsed) == 2

    @pytest.mark.parametrize("name", ["torch/version.py", "torch/lib/libtorch_cuda.so"])
    def test_until_a_file_changes(self, torch: Small, parsed: list[Path], name: str) -> None:
        time.sleep(0.15)
        build(torch)
        (torch.site / name).touch()
        build(torch)
        assert len(parsed) == 4

    def test_not_while_a_file_may_still_change(self, torch: Small, parsed: list[Path]) -> None:
        (torch.site / "torch/version.py").touch()
        build(torch)
        build(torch)
        assert len(parsed) == 4

    def test_another_interpreter_has_other_requirements(self, torch: Small) -> None:
        time.sleep(0.15)
        looked = build(torch)[1]
        mac = Interpreter("cpython", "3.12.3", "", "cpython-312-darwin", "macosx_11_0_arm64", "unknown")
        found = torch_build.torch_build(torch.layout(), mac, looked.distributions, looked.kept)
        assert isinstance(found, Value)
        assert found.value.requires == ()


class TestElf:
    def test_needed(self, tmp_path: Path) -> None:
        shared_object(tmp_path / "x.so", ["libcudart.so.13"])
        assert "libcudart.so.13" in needed(tmp_path / "x.so")

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"\x7fELF", id="cut off"),
            pytest.param(b"\x7fELF\2\1\1" + b"\0" * 100, id="zeros"),
            pytest.param(b"\x7fELF\2\1\1" + b"\xff" * 100, id="ones"),
            pytest.param(b"text", id="text"),
        ],
    )
    def test_anything_else_asks_for_nothing(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x.so").write_bytes(content)
        assert needed(tmp_path / "x.so") == ()

    def test_damage(self, tmp_path: Path) -> None:
        shared_object(tmp_path / "x.so", ["libcudart.so.13"])
        content = (tmp_path / "x.so").read_bytes()
        for at in range(0, min(len(content), 400), 3):
            (tmp_path / "x.so").write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
            assert isinstance(needed(tmp_path / "x.so"), tuple)

    def test_no_file(self, tmp_path: Path) -> None:
        assert needed(tmp_path / "none.so") == ()
        assert needed(tmp_path) == ()
