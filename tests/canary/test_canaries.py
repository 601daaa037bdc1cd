"""A cache is code, and so is an environment: whatever would run if it were loaded is never loaded."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.adapters.cache import world
from tests.faults.toy import Toy, tree
from tests.installs import site_of

TORCH = {"version.py": "__version__ = '2.11.0+cu130'\ncuda = '13.0'\ngit_version = '70d99e998b'\n"}


class Bomb:
    """Unpickled, it writes a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.place),)


@dataclass
class Cage:
    """A toy with canaries; each makes a folder of its own name when it is loaded."""

    toy: Toy
    canaries: Path
    names: tuple[str, ...] = ()

    def code(self, name: str) -> str:
        """Python that tells that it ran."""
        self.names = (*self.names, name)
        return f"import os; os.makedirs({str(self.canaries / name)!r}, exist_ok=True)\n"

    def sung(self) -> list[str]:
        return sorted(path.name for path in self.canaries.iterdir())

    def quiet(self) -> None:
        for path in self.canaries.iterdir():
            path.rmdir()

    def native(self, path: Path, name: str) -> None:
        """A library with a constructor."""
        self.names = (*self.names, name)
        source = self.canaries.parent / "canary.c"
        source.write_text(
            "#include <sys/stat.h>\n__attribute__((constructor)) static void sing(void)"
            f'{{ mkdir("{self.canaries / name}", 0700); }}\n'
        )
        compiler = shutil.which("cc") or shutil.which("gcc")
        assert compiler is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", path, source], check=True, timeout=60)

    def pickled(self, name: str) -> bytes:
        self.names = (*self.names, name)
        return pickle.dumps({"source_code": "device='cpu'", "x": Bomb(self.canaries / name)}, 4)


@pytest.fixture(scope="module")
def cage(tmp_path_factory: pytest.TempPathFactory) -> Cage:
    root = tmp_path_factory.mktemp("canary")
    made = Cage(Toy(root / "toy"), root / "canaries")
    made.canaries.mkdir()
    torch = {f"torch/{name}": text for name, text in TORCH.items()}
    torch["torch/version.py"] += made.code("torch/version.py imported".replace("/", " "))
    torch["torch/__init__.py"] = made.code("torch imported")
    torch["triton/__init__.py"] = made.code("triton imported")
    wheels: list[tuple[str, Mapping[str, str | bytes]]] = [
        ("torch", torch),
        ("startup", {"startup.pth": made.code("pth of a wheel"), "startup.py": made.code("a module imported")}),
    ]
    toy = made.toy.make(wheels)
    site = site_of(toy.environment)
    (site / "unowned.pth").write_text(made.code("pth of nobody"))
    (site / "sitecustomize.py").write_text(made.code("sitecustomize"))
    for name in ("envguard", "json", "tomllib", "requests", "torch", "usercustomize"):
        (toy.project / f"{name}.py").write_text(made.code(f"{name} of the working folder"))
    (toy.compiled).mkdir(mode=0o700)
    world.graph_entry(toy.compiled, 0, made.pickled("graph unpickled"))
    world.put(toy.compiled / "aotautograd" / world.autograd_key(0) / "entry", made.pickled("autograd unpickled"))
    if shutil.which("cc") or shutil.which("gcc"):
        made.native(toy.compiled / "aa" / f"c{'a' * 51}.so", "library of the cache")
        made.native(site / "startup_native.so", "library of the environment")
    _git(made)
    return made


def _git(cage: Cage) -> None:
    """What a repository can make git start."""
    script = cage.toy.root / "started-by-git"
    script.write_text(f"#!/bin/sh\nmkdir -p '{cage.canaries / 'started by git'}'\n")
    script.chmod(0o755)
    run = cage.toy.project
    subprocess.run(["git", "init", "-q", run], check=True, timeout=60)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "core.askPass",
        "core.editor",
    ):
        subprocess.run(["git", "-C", run, "config", name, script], check=True, timeout=60)
    hooks = run / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "post-checkout",
        "pre-commit",
        "post-index-change",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        shutil.copy(script, hooks / name)


@pytest.fixture
def silent(cage: Cage) -> Iterator[Cage]:
    """No canary may sing in the test."""
    cage.quiet()
    yield cage
    assert cage.sung() == []


def test_the_canaries_sing_when_they_are_loaded(cage: Cage) -> None:
    """Else their silence proves nothing."""
    toy = cage.toy
    python = toy.environment / "bin" / "python"
    subprocess.run([python, "-c", "import torch.version, triton, startup"], cwd=toy.root, check=True, timeout=60)
    subprocess.run([python, "-m", "envguard"], cwd=toy.project, check=True, timeout=60)
    for entry in toy.compiled.rglob("entry"):
        pickle.loads(entry.read_bytes())
    sung = cage.sung()
    for name in (
        "pth of nobody",
        "sitecustomize",
        "torch imported",
        "triton imported",
        "envguard of the working folder",
    ):
        assert name in sung
    assert {"graph unpickled", "autograd unpickled"} <= set(sung)
    for library in toy.root.rglob("*.so"):
        if library.stat().st_size < 100_000:
            ctypes.CDLL(str(library))
    assert len(set(cage.sung()) - set(sung)) == len([name for name in cage.names if name.startswith("library")])
    for folder in (toy.project, site_of(toy.environment)):
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)


def _lock(cage: Cage) -> Path:
    toy = cage.toy
    if not toy.lock.exists():
        toy.snapshot("--archive")
        toy.run("cache", "save", toy.lock)
    return toy.lock


COMMANDS = (
    ("snapshot", "-o", "lockfiles/again.toml", "--offline", "--archive"),
    ("verify", "lockfiles/good.toml"),
    ("verify", "lockfiles/good.toml", "--full"),
    ("verify", "lockfiles/good.toml", "--metadata"),
    ("diff", "lockfiles/good.toml", "lockfiles/good.toml"),
    ("lint", "lockfiles/good.toml"),
    ("doctor", "lockfiles/good.toml"),
    ("identify", "--offline"),
    ("export", "lockfiles/good.toml", "--format", "pylock"),
    ("export", "lockfiles/good.toml", "--format", "dockerfile"),
    ("cache", "show"),
    ("cache", "explain", "lockfiles/good.toml"),
    ("cache", "save", "lockfiles/good.toml"),
    ("cache", "load", "lockfiles/good.toml"),
    ("cache", "load", "lockfiles/good.toml", "--trust-cache"),
    ("store", "ls"),
    ("store", "check", "lockfiles/good.toml"),
    ("store", "repair", "lockfiles/good.toml", "--offline"),
    ("store", "gc", "--grace", "0s"),
    ("restore", "lockfiles/good.toml", "--plan", "--offline"),
    ("restore", "lockfiles/good.toml", "--target", "../restored", "--offline"),
    ("verify", "lockfiles/good.toml", "--python", "../restored", "--full"),
    ("list",),
    ("prune",),
    ("run", "lockfiles/good.toml", "--", "true"),
    ("inspect", "../wheels/torch-1.0-py3-none-any.whl"),
    ("init", "--yes", "--offline", "--name", "third"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_loads_one(silent: Cage, command: tuple[str, ...]) -> None:
    _lock(silent)
    ended = silent.toy.run(*command, code=None)
    assert ended.code in (0, 1, 3, 4, 125), ended.whole
    assert "Traceback" not in ended.whole


def test_it_was_really_restored(cage: Cage) -> None:
    """The canaries were handled, not passed over."""
    _lock(cage)
    if not (cage.toy.root / "restored").exists():
        cage.toy.run("restore", cage.toy.lock, "--target", cage.toy.root / "restored", "--offline", code=None)
    cage.toy.run("cache", "load", cage.toy.lock, "--trust-cache")
    assert (site_of(cage.toy.root / "restored") / "startup.pth").is_file()
    assert list((cage.toy.data / "caches").rglob("entry")), "the pickles were put back"


def test_a_warmup_command_is_not_run_unasked(silent: Cage) -> None:
    """A lock's command is code."""
    lock = _lock(silent)
    other = lock.with_name("told.toml")
    canary = silent.canaries / "command of a lock"
    warmup = (
        f'\n[warmup]\ncommand = {json.dumps(["mkdir", str(canary)])}\nlaunch = "per-device"\ndevices = ["cpu"]\n'
    )
    other.write_text(lock.read_text() + warmup)
    ended = silent.toy.run("restore", other, "--target", "../told", "--offline", code=None)
    assert "Traceback" not in ended.whole
    assert ended.code != 2, ended.whole


def test_an_sdist_is_not_built(silent: Cage, tmp_path: Path) -> None:
    """Neither a setup.py nor a build backend runs."""
    lock = _lock(silent)
    source = tmp_path / "demo-1.0"
    source.mkdir()
    (source / "setup.py").write_text(silent.code("setup.py"))
    links = tmp_path / "links"
    links.mkdir()
    with tarfile.open(links / "demo-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "demo-1.0")
    ended = silent.toy.run(
        "restore", lock, "--target", tmp_path / "env", "--offline", "--find-links", links, code=None
    )
    assert "Traceback" not in ended.whole


def test_a_flipped_bit_is_refused_before_any_file_lands(cage: Cage, tmp_path: Path) -> None:
    toy = Toy(tmp_path / "toy").make().graphs()
    toy.snapshot()
    toy.run("cache", "save", toy.lock)
    content = next(toy.compiled.rglob("entry")).read_bytes()
    place = toy.objects / hashlib.sha256(content).hexdigest()
    place.chmod(0o600)
    place.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    ended = toy.run("cache", "load", toy.lock, "--trust-cache", code=1)
    assert "object-corrupt" in ended.err
    assert not list((toy.data / "caches").rglob("entry"))


class TestWhoseFolderItIs:
    """Another user's cache folder, links, folders that others may write in: refused, with the reason."""

    @pytest.fixture
    def saved(self, tmp_path: Path) -> Toy:
        toy = Toy(tmp_path / "toy").make().graphs()
        toy.snapshot()
        toy.run("cache", "save", toy.lock)
        return toy

    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o757], ids=oct)
    def test_others_may_write_there(self, saved: Toy, mode: int) -> None:
        there = saved.root / "there"
        there.mkdir()
        there.chmod(mode)
        ended = saved.run("cache", "load", saved.lock, "--trust-cache", "--to", there, code=3)
        assert "cache-unsafe" in ended.err
        assert f"{mode:04o}" in ended.err
        assert list(there.iterdir()) == []

    def test_a_parent_that_others_may_write_in(self, saved: Toy) -> None:
        above = saved.root / "above"
        (above / "there").mkdir(parents=True, mode=0o700)
        above.chmod(0o777)
        ended = saved.run("cache", "load", saved.lock, "--trust-cache", "--to", above / "there", code=3)
        assert "cache-unsafe" in ended.err
        assert list((above / "there").iterdir()) == []

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
    @pytest.mark.parametrize("what", ["folder", "parent", "link"])
    def test_another_users(self, saved: Toy, what: str) -> None:
        there = saved.root / "above" / "there"
        there.parent.mkdir(mode=0o755)
        if what == "link":
            (saved.root / "elsewhere").mkdir(mode=0o700)
            there.symlink_to(saved.root / "elsewhere")
            os.chown(there, 1001, 1001, follow_symlinks=False)
        else:
            there.mkdir(mode=0o755)
            os.chown(there if what == "folder" else there.parent, 1001, 1001)
        before = tree(saved.root / "above")
        ended = saved.run("cache", "load", saved.lock, "--trust-cache", "--to", there, code=3)
        assert "cache-unsafe" in ended.err
        assert "1001" in ended.err
        assert tree(saved.root / "above") == before

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
    def test_another_users_cache_is_not_saved(self, saved: Toy) -> None:
        os.chown(saved.compiled, 1001, 1001)
        ended = saved.run("cache", "save", saved.lock, code=3)
        assert "cache-unsafe" in ended.err

    @pytest.mark.parametrize("name", ["inductor", "triton"])
    def test_a_link_in_the_place_of_a_cache_is_set_aside(self, saved: Toy, name: str) -> None:
        there, elsewhere = saved.root / "there", saved.root / "elsewhere"
        there.mkdir(mode=0o700)
        elsewhere.mkdir(mode=0o700)
        (there / name).symlink_to(elsewhere)
        saved.run("cache", "load", saved.lock, "--trust-cache", "--to", there)
        assert list(elsewhere.iterdir()) == []
        assert not (there / name).is_symlink()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
    def test_a_folder_swapped_for_a_link_meanwhile(self, saved: Toy) -> None:
        """What was checked is what is used: a swap in a loop never leads a file elsewhere."""
        above, elsewhere = saved.root / "above", saved.root / "elsewhere"
        above.mkdir()
        os.chown(above, 1001, 1001)
        elsewhere.mkdir(mode=0o700)
        there, aside = above / "there", above / "aside"
        there.mkdir(mode=0o700)
        program = (
            "import os, sys\nos.setuid(1001)\nthere, aside, elsewhere = sys.argv[1:]\nprint(flush=True)\n"
            "while True:\n"
            "    try:\n"
            "        os.rename(there, aside); os.symlink(elsewhere, there)\n"
            "        os.unlink(there); os.rename(aside, there)\n"
            "    except OSError:\n        pass\n"
        )
        command = [sys.executable, "-c", program, *map(str, (there, aside, elsewhere))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
            assert swapper.stdout is not None
            swapper.stdout.readline()
            for _ in range(3):
                ended = saved.run("cache", "load", saved.lock, "--trust-cache", "--to", there, code=None)
                assert "Traceback" not in ended.whole
            assert swapper.poll() is None, "nobody swapped anything"
            swapper.kill()
        assert list(elsewhere.iterdir()) == []
