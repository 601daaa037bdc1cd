"""What issue by issue must be shown on a real torch environment, by the tool as a user installs it."""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from envguard.adapters.rebuilt import OTHER_COMMIT, another_build
from tests.builders import wheel
from tests.e2e.conftest import Place, replaced
from tests.environments import UV, clean_environ, shell

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def site(environment: Path) -> Path:
    return environment / "lib" / PYTHON / "site-packages"


def test_verify_right_after_snapshot_is_clean(place: Place, good: Path) -> None:
    for extra in ([], ["--full"], ["--metadata"]):
        ended = place.run("verify", "--python", good, *extra)
        assert ended.code == 0, ended.out + ended.err


def test_the_lock_says_what_torch_says(place: Place, good: Path) -> None:
    asked = shell(
        good / "bin" / "python",
        "-c",
        "import torch; print(torch.__version__, torch.version.git_version, torch.version.cuda)",
    ).split()[:3]
    torch = tomllib.loads((place.folder / "lockfiles" / "good.toml").read_text())["torch"]
    assert [torch["build"], torch["git-commit"], torch.get("cuda", "None")] == asked


def test_every_wheel_is_identified(place: Place, make_environment: Callable[..., Path]) -> None:
    lock = tomllib.loads((place.folder / "lockfiles" / "good.toml").read_text())
    assert [entry["name"] for entry in lock["distribution"] if "sha256" not in entry] == []
    source = make_environment.torch  # type: ignore[attr-defined]
    if source is not None:
        (torch,) = (entry for entry in lock["distribution"] if entry["name"] == "torch")
        assert torch["sha256"] == "sha256:" + shell("sha256sum", source).split()[0]
        assert torch["wheel"] == source.name


def test_a_lock_names_no_index_host_and_no_folder_of_this_machine(place: Place, good: Path) -> None:
    text = (place.folder / "lockfiles" / "good.toml").read_text()
    assert "://" not in text.replace("https://download.pytorch.org", "")
    assert str(good.parent) not in text


def test_a_second_snapshot_writes_the_same_bytes(place: Place, good: Path) -> None:
    file = place.folder / "lockfiles" / "good.toml"
    before = file.read_bytes(), file.stat().st_mtime_ns
    ended = place.run("snapshot", "--name", "good", "--python", good)
    assert ended.code == 0, ended.err
    assert "unchanged" in ended.out
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    again = place.run("snapshot", "-o", "again.toml", "--python", good)
    assert again.code == 0
    lines = (place.folder / "again.toml").read_text().splitlines()
    assert [line for line in lines if not line.startswith(("created", "name = "))] == [
        line for line in before[0].decode().splitlines() if not line.startswith(("created", "name = "))
    ]


@pytest.mark.parametrize(
    "how",
    [
        {"installer": "pip"},
        pytest.param({"install": ["--link-mode", "copy", "--compile-bytecode"]}, marks=pytest.mark.nightly),
        pytest.param({"venv": ["--relocatable"]}, marks=pytest.mark.nightly),
        {"install": ["--link-mode", "symlink"]},
    ],
    ids=["pip", "uv copy compiled", "uv relocatable", "uv symlink"],
)
def test_the_same_wheels_elsewhere_are_no_drift(
    place: Place, make_environment: Callable[..., Path], how: dict[str, object]
) -> None:
    other = make_environment("other", **how)
    try:
        for extra in ([], [], ["--full"]):
            ended = place.run("verify", "--python", other, *extra)
            assert ended.code == 0, ended.out + ended.err
    finally:
        shutil.rmtree(other)


Break = Callable[[Path, Path], AbstractContextManager[None]]


def _byte(path: str) -> Break:
    """One byte of a file changed, size and mtime put back."""

    def break_it(environment: Path, aside: Path) -> AbstractContextManager[None]:
        (file,) = environment.glob(path)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        return replaced(file, bytes(content), aside)

    return break_it


def _gone(path: str) -> Break:
    def break_it(environment: Path, aside: Path) -> AbstractContextManager[None]:
        (file, *_) = sorted(environment.glob(path))
        return replaced(file, None, aside)

    return break_it


def _added(path: str, content: str) -> Break:
    @contextmanager
    def break_it(environment: Path, aside: Path) -> Iterator[None]:
        (folder,) = environment.glob(str(Path(path).parent))
        file = folder / Path(path).name
        file.write_text(content)
        yield
        file.unlink()

    return break_it


def _not_executable(path: str) -> Break:
    @contextmanager
    def break_it(environment: Path, aside: Path) -> Iterator[None]:
        (file,) = environment.glob(path)
        with replaced(file, file.read_bytes(), aside):
            file.chmod(0o644)
            yield

    return break_it


SITE = "lib/python*/site-packages"
BREAKS: dict[str, tuple[Break, str, str]] = {
    "one byte, size and time put back": (
        _byte(f"{SITE}/torch/_inductor/config.py"),
        "files",
        "torch/_inductor/config.py",
    ),
    "a deleted library": (
        _gone(f"{SITE}/torch/lib/libtorch_python.so"),
        "files",
        "torch/lib/libtorch_python.so missing",
    ),
    "an added .pth": (_added(f"{SITE}/evil.pth", "import os\n"), "startup-code", "evil.pth"),
    "an added module": (_added(f"{SITE}/torch/evil.py", "x = 1\n"), "files", "torch/evil.py added"),
    "a changed binary in bin": (_byte("bin/ninja"), "files", "bin/ninja"),
    "a binary without its exec bit": (_not_executable("bin/ninja"), "files", "bin/ninja"),
    "a changed launcher": (_byte("bin/isympy"), "files", "bin/isympy"),
    "a changed version.py": (_byte(f"{SITE}/torch/version.py"), "files", "torch/version.py"),
}


@pytest.mark.parametrize(("break_it", "check", "named"), BREAKS.values(), ids=BREAKS.keys())
def test_a_break_is_named(
    place: Place, good: Path, tmp_path: Path, break_it: Break, check: str, named: str
) -> None:
    with break_it(good, tmp_path):
        for extra in ([], ["--full"]):
            ended = place.run("verify", "--python", good, *extra)
            assert ended.code == 1, ended.out + ended.err
            lines = [line for line in ended.out.splitlines() if line.startswith(f"drift {check}")]
            assert any(named in line for line in lines), ended.out
        document = json.loads(place.run("verify", "--python", good, "--format", "json").out)
        drifted = [result["check"] for result in document["results"] if result["outcome"] == "drift"]
        assert check in drifted
    clean = place.run("verify", "--python", good)
    assert clean.code == 0, clean.out


def test_cuda_12_beside_cuda_13_is_named(place: Place, good: Path, tmp_path: Path) -> None:
    added = [
        wheel(tmp_path, "nvidia-cublas-cu12", "12.8.4.1", {"nvidia/cublas/lib/libcublas.so.12": "x"}),
        wheel(tmp_path, "nvidia-cublas", "13.0.0.19", {"nvidia/cu13/lib/libcublas.so.13": "x"}),
    ]
    python = good / "bin" / "python"
    shell(UV, "pip", "install", "-q", "-p", python, "--no-deps", *added)
    try:
        ended = place.run("verify", "--python", good)
    finally:
        shell(UV, "pip", "uninstall", "-q", "-p", python, "nvidia-cublas-cu12", "nvidia-cublas")
    assert ended.code == 1
    assert any(
        line.startswith("drift cuda-mix") and "nvidia-cublas-cu12" in line for line in ended.out.splitlines()
    ), ended.out
    assert place.run("verify", "--python", good).code == 0


def test_another_build_of_the_same_version_is_named_and_restored(
    place: Place, make_environment: Callable[..., Path], tmp_path: Path
) -> None:
    """uv keeps what it calls satisfied; the swap, once made, is named with both commits; restore is free of it."""
    environment = make_environment("swapped")
    python = environment / "bin" / "python"
    other = another_build(python, tmp_path)
    version = other.name.split("-")[1]
    shell(UV, "pip", "install", "-q", "-p", python, "--no-deps", "--reinstall", other)
    source = make_environment.torch  # type: ignore[attr-defined]
    if source is not None:
        requirement = tmp_path / "requirements.txt"
        requirement.write_text(f"torch=={version} --hash=sha256:{shell('sha256sum', source).split()[0]}\n")
        # uv pip sync would remove the rest, so install is asked, with the right hash: it changes nothing
        shell(
            UV, "pip", "install", "-q", "-p", python, "--no-deps", "--require-hashes",
            "--find-links", source.parent, "-r", requirement,
            environ=clean_environ(),
        )  # fmt: skip
        assert OTHER_COMMIT in (site(environment) / "torch" / "version.py").read_text()
    ended = place.run("verify", "--python", environment)
    assert ended.code == 1
    (line, *_) = (line for line in ended.out.splitlines() if line.startswith("drift torch-build"))
    assert f"→ {OTHER_COMMIT[:10]}" in line, line
    assert any(line.startswith("drift distributions") and "torch" in line for line in ended.out.splitlines())

    restored = place.run("restore", "lockfiles/good.toml", "--target", environment)
    assert restored.code == 0, restored.out + restored.err
    clean = place.run("verify", "--python", environment, "--full")
    assert clean.code == 0, clean.out
    shell(python, "-c", "import torch; torch.ones(2).sum()")


def test_an_edit_through_a_hardlink_reaches_the_next_environment_but_no_restored_one(
    place: Place, make_environment: Callable[..., Path], tmp_path: Path
) -> None:
    """Tiny wheels, a cache of their own: the hole is uv's, the size doesn't matter."""
    (tmp_path / "wheels").mkdir()
    wheel(tmp_path / "wheels", "victim", "1.0", {"victim.py": "x = 1\n"})
    own = clean_environ(UV_CACHE_DIR=str(tmp_path / "cache"))
    environments = [tmp_path / "a", tmp_path / "b"]
    uv_install: list[str | Path] = [
        "pip",
        "install",
        "-q",
        "--no-index",
        "--find-links",
        tmp_path / "wheels",
        "victim",
    ]
    shell(UV, "venv", "-q", "-p", sys.executable, environments[0], environ=own)
    shell(UV, *uv_install, "-p", environments[0], environ=own)
    here = Place(tmp_path, place.tool, {**place.environ, **own})
    taken = here.run(
        "snapshot", "--name", "tiny", "--python", environments[0], "--find-links", tmp_path / "wheels"
    )
    assert taken.code == 0, taken.err
    with (site(environments[0]) / "victim.py").open("a") as stream:
        stream.write("x = 2\n")
    shell(UV, "venv", "-q", "-p", sys.executable, environments[1], environ=own)
    shell(UV, *uv_install, "-p", environments[1], environ=own)
    for environment in environments:
        ended = here.run("verify", "--python", environment)
        assert ended.code == 1
        assert "victim.py changed" in ended.out
    restored = here.run(
        "restore", "lockfiles/tiny.toml", "--target", tmp_path / "c", "--find-links", tmp_path / "wheels"
    )
    assert restored.code == 0, restored.out + restored.err
    assert here.run("verify", "--python", tmp_path / "c").code == 0
    assert (tmp_path / "c" / "lib" / PYTHON / "site-packages" / "victim.py").read_text() == "x = 1\n"


def test_a_target_without_torch_is_told_so(place: Place, tmp_path: Path) -> None:
    shell(UV, "venv", "-q", "-p", sys.executable, tmp_path / "empty")
    ended = place.run("verify", "--python", tmp_path / "empty")
    assert ended.code == 1
    assert any(line.startswith("drift torch-build") and "none here" in line for line in ended.out.splitlines())


def test_the_live_tier_agrees(place: Place, good: Path) -> None:
    taken = place.run("snapshot", "-o", "live.toml", "--python", good, "--live")
    assert taken.code == 0, taken.err
    assert "[live]" in (place.folder / "live.toml").read_text()
    ended = place.run("verify", "live.toml", "--python", good, "--live")
    assert ended.code == 0, ended.out


def test_a_moved_environment_is_no_drift(place: Place, make_environment: Callable[..., Path]) -> None:
    """A relocatable one; launchers of any other start an interpreter that is no longer there, and that is told."""
    moved = make_environment("moving", venv=["--relocatable"])
    there = moved.with_name("elsewhere")
    moved.rename(there)
    ended = place.run("verify", "--python", there)
    assert ended.code == 0, ended.out
    shutil.rmtree(there)
