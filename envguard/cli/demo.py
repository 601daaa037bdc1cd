"""``envguard demo``: the main job on a real torch environment, made for the purpose and thrown away."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from envguard.cli.command import Command

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
BROKEN = "networkx/__init__.py"
"""A file of a distribution that torch brings along."""
LOCK = "lockfiles/good.toml"
TRAIN = """\
import torch
from torch._dynamo.utils import counters

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    loss = compiled(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
seen = counters["aot_autograd"]
print(f"loss {loss:.3f}; graphs: {seen['autograd_cache_hit']} loaded, {seen['autograd_cache_miss']} compiled")
"""
"""A training of a few lines, as a user has one: nothing in it knows of envguard."""


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where to work, kept afterwards (default: a temporary folder)"
    )
    parser.add_argument(
        "--torch",
        metavar="VERSION",
        help="which torch (default: a wheel in PIP_FIND_LINKS or UV_FIND_LINKS, else the newest CPU build)",
    )


def _run(options: argparse.Namespace) -> int:
    import tempfile

    if options.folder is not None:
        return _play(options.folder.absolute(), options.torch)
    with tempfile.TemporaryDirectory(prefix="envguard-demo-") as folder:
        return _play(Path(folder).resolve(), options.torch)


def _play(folder: Path, version: str | None) -> int:
    from envguard.errors import UsageError

    if folder.exists() and any(folder.iterdir()):
        raise UsageError("the folder for the demo is not empty", where=str(folder), hint="name a new one")
    (folder / "project").mkdir(parents=True)
    (folder / "project" / "train.py").write_text(TRAIN)
    stage = Stage(folder)
    stage.tell("1. A torch environment, as a project has one")
    stage.make_environment(version)
    stage.tell("2. The run is good: record it")
    stage.envguard(["snapshot", "--name", "good", "--note", "the demo's good run"], 0)
    stage.envguard(["verify"], 0)
    compiles = shutil.which("g++") is not None
    if compiles:
        stage.tell("3. Fill its compile cache, prove that a second start compiles nothing, keep the cache")
        stage.envguard(["warmup", LOCK, "--devices", "cpu", "--", "python", "train.py"], 0)
        stage.envguard(["cache", "save", LOCK], 0)
    else:
        stage.tell("3. (There is no g++ here, so nothing is compiled: the compile cache is left out.)")
    stage.tell("4. Something happens: torch is swapped for another build of the same version, a file is edited")
    stage.swap_torch()
    stage.edit(BROKEN)
    if compiles:
        stage.lose_cache()
    stage.tell("5. What differs?")
    stage.envguard(["verify"], 1)
    stage.tell("6. Build the recorded environment again, cache and all, and hold every file against the lock")
    stage.envguard(["restore", LOCK, "--target", ".venv", *(["--trust-cache"] if compiles else [])], 0)
    stage.envguard(["verify", "--full"], 0)
    if compiles:
        stage.tell("7. Start the run again, under the guard")
        stage.envguard(["run", LOCK, "--", "python", "train.py"], 0)
    stage.tell("Done: the environment is the recorded one again.")
    return 0


class Stage:
    """A project folder in which commands are shown and run."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.wheels = folder / "another-build"
        self.environ = {
            **os.environ,
            "ENVGUARD_DATA_DIR": str(folder / "envguard-data"),
            "ENVGUARD_CACHE_DIR": str(folder / "envguard-cache"),
            "ENVGUARD_STATE_DIR": str(folder / "envguard-state"),
            "PYTHONWARNINGS": "ignore",
            "UV_LINK_MODE": "copy",  # or the edited file would be edited in uv's cache as well
        }
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME"):
            self.environ.pop(name, None)

    @property
    def interpreter(self) -> Path:
        """The environment's Python."""
        return self.project / ".venv" / "bin" / "python"

    def tell(self, heading: str) -> None:
        """A heading."""
        print(f"\n\x1b[1m{heading}\x1b[0m" if sys.stdout.isatty() else f"\n{heading}", flush=True)  # noqa: T201

    def make_environment(self, version: str | None) -> None:
        """A fresh environment with torch in it."""
        uv = _uv()
        places, requirement = _torch(version)
        self.show([uv, "venv", "--quiet", "--python", sys.executable, ".venv"], 0)
        self.show([uv, "pip", "install", "--quiet", "--python", ".venv/bin/python", *places, requirement], 0)

    def envguard(self, arguments: Sequence[str], expected: int) -> None:
        """Run envguard as a user would."""
        self.show([sys.executable, "-m", "envguard", *arguments], expected, ["envguard", *arguments])

    def swap_torch(self) -> None:
        """Install a wheel of the same name and version, built from another commit."""
        from envguard.adapters.rebuilt import another_build

        wheel = another_build(self.interpreter, self.wheels)
        uv = _uv()
        self.show(
            [uv, "pip", "install", "--quiet", "--python", ".venv/bin/python", "--no-deps", "--reinstall", wheel],
            0,
            ["uv", "pip", "install", "--reinstall", wheel.name],
        )

    def lose_cache(self) -> None:
        """Remove the compile cache, as somebody who cleans up does."""
        caches = Path(self.environ["ENVGUARD_DATA_DIR"]) / "caches"
        shutil.rmtree(caches)
        print(f"(the compile cache, {caches}, removed)", flush=True)  # noqa: T201

    def edit(self, path: str) -> None:
        """Change one byte of a file; size and modification time stay as they were."""
        (file,) = self.project.glob(f".venv/lib/python*/site-packages/{path}")
        before = file.stat()
        content = bytearray(file.read_bytes())
        content[0] ^= 1
        file.write_bytes(content)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        print(f"(one byte of {path} changed, size and time put back)", flush=True)  # noqa: T201

    def show(
        self, command: Sequence[str | Path], expected: int, shown: Sequence[str | Path] | None = None
    ) -> None:
        """Print a command, run it, and stop the demo when it ends otherwise than it should."""
        import subprocess

        from envguard.errors import EnvguardError

        line = shlex.join(Path(part).name if Path(part) == Path(_uv()) else str(part) for part in shown or command)
        print(f"$ {line}", flush=True)  # noqa: T201
        ended = subprocess.run([str(part) for part in command], cwd=self.project, env=self.environ, check=False)
        if ended.returncode != expected:
            raise EnvguardError(
                f"the demo expected exit code {expected} and got {ended.returncode}", where=f"$ {line}"
            )
        if expected:
            print(f"(exit code {ended.returncode})", flush=True)  # noqa: T201


def _uv() -> str:
    from uv import find_uv_bin

    return str(find_uv_bin())


def _torch(version: str | None) -> tuple[list[str], str]:
    """Arguments for uv that say where torch comes from, and what is asked for."""
    folders = [part for name in ("UV_FIND_LINKS", "PIP_FIND_LINKS") for part in os.environ.get(name, "").split()]
    here = [Path(folder) for folder in folders if Path(folder).is_dir()]
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted(wheel for folder in here for wheel in folder.glob(f"torch-{version or ''}*-{tag}-{tag}-*.whl"))
    if found:
        print(f"(torch from {found[-1]})", flush=True)  # noqa: T201
        return ["--find-links", str(found[-1].parent)], f"torch=={found[-1].name.split('-')[1]}"
    print(f"(torch from {CPU_INDEX}: a CPU build, about 200 MB)", flush=True)  # noqa: T201
    return ["--index", CPU_INDEX], f"torch=={version}" if version else "torch"


DEMO = Command("demo", _declare, _run)
