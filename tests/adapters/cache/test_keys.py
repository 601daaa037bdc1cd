"""Torch's and Triton's keys from outside: the same files in the same order as Python itself finds them."""

from __future__ import annotations

import hashlib
import os
import pkgutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.cache import torch_key as torch_recipe
from envguard.adapters.cache.factors import factors
from envguard.adapters.cache.kept import Kept
from envguard.adapters.cache.modules import Finder, KeyUnknownError
from envguard.adapters.cache.torch_key import torch_key
from envguard.adapters.cache.triton_key import triton_key
from envguard.model.cache import torch_component
from envguard.model.observed import Absent, Value
from envguard.model.target import Layout

SOABI = str(sysconfig.get_config_var("SOABI"))
CODECACHE = """
def build_code_hash(roots, prefix, hasher):
    for lib in sorted(pkgutil.iter_modules(roots, prefix), key=lambda x: x.name):
        spec = lib.module_finder.find_spec(lib.name, None)
        module = spec.origin
        with open(module, "rb") as f:
            hasher.update(spec.name.encode("utf-8"))
            hasher.update(f.read())
        if lib.ispkg:
            build_code_hash(spec.submodule_search_locations, f"{spec.name}.", hasher)

def torch_key():
    def get_code_hash(root):
        extra_files = ("codegen/aoti_runtime/interface.cpp", "script.ld")
        return extra_files
    return get_code_hash("")
"""
FILES = {
    "version.py": "__version__ = '2.99.0+cpu'\ngit_version = 'x'\n",
    "__init__.py": "",
    f"_C.{SOABI}.so": "library",
    "_D.cpython-39-x86_64-linux-gnu.so": "another Python's",
    "_E.abi3.so": "stable",
    "plain.so": "plain",
    "both.py": "source",
    f"both.{SOABI}.so": "library goes first",
    "two.py": "a module, and a package that goes first",
    "two/__init__.py": "package",
    "two/inner.py": "inner",
    "sourceless.pyc": "bytecode",
    "dotted.name.py": "no module",
    "folder/readme.txt": "no package",
    "folder/module.py": "in no package",
    "with.dot/__init__.py": "no package either",
    "_inductor/__init__.py": "",
    "_inductor/codecache.py": CODECACHE,
    "_inductor/config.py": "import os\n",
    "_inductor/script.ld": "SECTIONS",
    "_inductor/deep/__init__.py": "",
    "_inductor/deep/z.py": "z",
    "_functorch/config.py": "",
    "_functorch/__init__.py": "",
    "lib/libtorch.so": "no module",
}


def grow(root: Path, files: dict[str, str]) -> Path:
    """Write files."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return root


@pytest.fixture
def torch(tmp_path: Path) -> Path:
    return grow(tmp_path / "lib" / "torch", FILES)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "kept")


def reference(root: Path) -> str:
    """The recipe, with Python's own finders."""

    def add(roots: list[str], prefix: str) -> None:
        for module in sorted(pkgutil.iter_modules(roots, prefix), key=lambda module: module.name):
            finder: Any = module.module_finder
            spec = finder.find_spec(module.name, None)
            state.update(spec.name.encode() + Path(spec.origin).read_bytes())
            if module.ispkg:
                add(list(spec.submodule_search_locations), f"{spec.name}.")

    state = hashlib.sha256(b"2.99.0+cpu")
    sys.path_importer_cache.clear()
    add([str(root)], "")
    state.update((root / "_inductor" / "script.ld").read_bytes())
    return state.hexdigest()


def test_the_torch_key_is_what_python_itself_finds(torch: Path, kept: Kept) -> None:
    assert torch_key(torch, SOABI, kept) == reference(torch)


def test_another_python_finds_other_files(torch: Path, kept: Kept, tmp_path: Path) -> None:
    other = torch_key(torch, "cpython-39-x86_64-linux-gnu", Kept(tmp_path / "other"))
    assert other != torch_key(torch, SOABI, kept)


@pytest.mark.parametrize("path", ["plain.so", "_inductor/deep/z.py", "_inductor/script.ld", "version.py"], ids=str)
def test_a_changed_file_changes_the_key_though_it_was_kept(torch: Path, kept: Kept, path: str) -> None:
    before = torch_key(torch, SOABI, kept)
    seen = (torch / path).stat()
    text = (torch / path).read_text()
    (torch / path).write_text(text[:-1] + chr(ord(text[-1]) ^ 1))
    os.utime(torch / path, ns=(seen.st_atime_ns, seen.st_mtime_ns))  # ctime tells all the same
    try:
        assert torch_key(torch, SOABI, kept) != before
    except KeyUnknownError:
        assert path == "version.py"


@pytest.mark.parametrize("path", ["__init__.py", "lib/libtorch.so", "folder/module.py"], ids=str)
def test_what_the_key_does_not_hold(torch: Path, kept: Kept, path: str) -> None:
    before = torch_key(torch, SOABI, kept)
    (torch / path).write_text("other")
    assert torch_key(torch, SOABI, kept) == before == reference(torch)


def test_what_was_kept_is_used(torch: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch_key(torch, SOABI, kept)

    def never(*_: object) -> None:
        raise AssertionError("a file was hashed again")

    monkeypatch.setattr("envguard.adapters.cache.kept._feed_file", never)
    assert torch_key(torch, SOABI, kept) == before


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"flip"], ids=["empty", "cut", "no table", "flipped"])
def test_a_damaged_entry_is_no_answer(torch: Path, kept: Kept, tmp_path: Path, damage: bytes) -> None:
    before = torch_key(torch, SOABI, kept)
    (entry,) = (tmp_path / "kept").iterdir()
    content = entry.read_bytes()
    entry.write_bytes(content.replace(before.encode(), before[::-1].encode()) if damage == b"flip" else damage)
    assert torch_key(torch, SOABI, kept) == before


def test_a_cache_folder_that_cant_be_written_costs_time_only(torch: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert torch_key(torch, SOABI, Kept(tmp_path / "file" / "no")) == reference(torch)


UNKNOWN = {
    "no codecache": (None, "no _inductor/codecache.py"),
    "not parsed": ("def (", "can't be parsed"),
    "no recipe": ("x = 1", "doesn't know"),
    "another recipe": (CODECACHE.replace("f.read()", "f.read().strip()"), "doesn't know"),
    "another walk": (CODECACHE.replace("pkgutil.iter_modules", "walk"), "doesn't know"),
    "no extra files": (CODECACHE.replace("extra_files", "others"), "doesn't know"),
    "extra files that are computed": (CODECACHE.replace('"script.ld"', "name()"), "doesn't know"),
    "extra files that lead out": (CODECACHE.replace('"script.ld"', '"../../secret"'), "doesn't know"),
}


@pytest.mark.parametrize(("text", "problem"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_recipe_that_is_unknown_is_told(torch: Path, kept: Kept, text: str | None, problem: str) -> None:
    file = torch / "_inductor" / "codecache.py"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    with pytest.raises(KeyUnknownError, match=problem):
        torch_key(torch, SOABI, kept)


def test_the_list_of_extra_files_is_the_targets_own(torch: Path, kept: Kept) -> None:
    before = torch_key(torch, SOABI, kept)
    file = torch / "_inductor" / "codecache.py"
    file.write_text(CODECACHE.replace('"script.ld"', '"codegen/streams.h", "script.ld"'))
    assert torch_recipe._extra_files(torch)[1] == "codegen/streams.h"
    assert torch_key(torch, SOABI, kept) != before


def test_a_link_that_leads_up_ends(torch: Path, kept: Kept) -> None:
    (torch / "_inductor" / "again").symlink_to(torch / "_inductor")
    with pytest.raises((KeyUnknownError, OSError)):
        torch_key(torch, SOABI, kept)


TRITON_KEY = """
@functools.lru_cache()
def triton_key():
    import pkgutil
    TRITON_PATH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    contents = []
    with open(__file__, "rb") as f:
        contents += [hashlib.sha256(f.read()).hexdigest()]
    path_prefixes = [(os.path.join(TRITON_PATH, "compiler"), "triton.compiler."),
                     (os.path.join(TRITON_PATH, "backends"), "triton.backends.")]
    for path, prefix in path_prefixes:
        for lib in pkgutil.walk_packages([path], prefix=prefix):
            with open(lib.module_finder.find_spec(lib.name).origin, "rb") as f:
                contents += [hashlib.sha256(f.read()).hexdigest()]
    libtriton_hash = hashlib.sha256()
    with open(os.path.join(TRITON_PATH, "_C/libtriton.so"), "rb") as f:
        while True:
            chunk = f.read(1024**2)
            if not chunk:
                break
            libtriton_hash.update(chunk)
    contents.append(libtriton_hash.hexdigest())
    for lib in pkgutil.walk_packages([os.path.join(TRITON_PATH, "language")], prefix="triton.language."):
        with open(lib.module_finder.find_spec(lib.name).origin, "rb") as f:
            contents += [hashlib.sha256(f.read()).hexdigest()]
    return f"{__version__}" + "-".join(contents)
"""


def triton(root: Path, recipe: str) -> Path:
    """A Triton with its recipe in that file."""
    files = {
        "__init__.py": "__version__ = '3.99.0'\n",
        "compiler/__init__.py": "",
        "compiler/compiler.py": "x = 1\n",
        "runtime/__init__.py": "",
        "runtime/cache.py": "y = 1\n",
        "backends/__init__.py": "",
        "backends/nvidia/__init__.py": "",
        "backends/nvidia/driver.py": "d",
        "backends/amd/__init__.py": "",
        "language/__init__.py": "",
        "language/extra/__init__.py": "",
        "language/extra/deep.py": "deep",
        "language/core.py": "core",
        "_C/libtriton.so": "library",
    }
    header = "import functools, hashlib, os\nfrom triton import __version__\n"
    return grow(root / "triton", files | {recipe: header + TRITON_KEY})


@pytest.mark.parametrize("recipe", ["runtime/cache.py", "compiler/compiler.py"], ids=["3.5 on", "up to 3.4"])
def test_the_triton_key_is_tritons_own(tmp_path: Path, kept: Kept, recipe: str) -> None:
    from envguard.adapters import process

    folder = triton(tmp_path, recipe)
    module = f"triton.{recipe.removesuffix('.py').replace('/', '.')}"
    told = process.run(
        [sys.executable, "-c", f"from {module} import triton_key; print(triton_key(), end='')"],
        environ={"PYTHONPATH": str(tmp_path)},
    )
    assert told.code == 0, told.stderr
    assert triton_key(folder, SOABI, kept) == hashlib.sha256(told.stdout).hexdigest()


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("runtime/cache.py", "def triton_key", "def other_key"),
        ("runtime/cache.py", "hexdigest", "digest"),
        ("__init__.py", "'3.99.0'", "version()"),
    ],
    ids=["none", "another way", "computed version"],
)
def test_an_unknown_triton_is_told(tmp_path: Path, kept: Kept, path: str, old: str, new: str) -> None:
    folder = triton(tmp_path, "runtime/cache.py")
    (folder / path).write_text((folder / path).read_text().replace(old, new))
    with pytest.raises(KeyUnknownError):
        triton_key(folder, SOABI, kept)


def layout(library: Path) -> Layout:
    """An environment with one library folder."""
    return Layout(library, library, library, (library,), library, library, (), True, False)


def test_factors_of_an_environment(torch: Path, kept: Kept) -> None:
    triton(torch.parent, "runtime/cache.py")
    ptxas = torch.parent / "ptxas"
    ptxas.write_text("another")
    seen = factors(layout(torch.parent), SOABI, {"TRITON_PTXAS_PATH": str(ptxas)}, kept)
    assert isinstance(seen, Value)
    assert seen.value.torch_key == reference(torch)
    assert seen.value.triton_key is not None
    assert seen.value.ptxas == hashlib.sha256(b"another").hexdigest()
    assert seen.value.threads is None  # such keys came with torch 2.13
    assert seen.value.unseen == ()


def test_without_torch_there_are_no_factors(tmp_path: Path) -> None:
    assert factors(layout(tmp_path), SOABI, {}) == Absent()


def test_what_cant_be_had_is_told_and_leaves_the_rest(torch: Path, kept: Kept) -> None:
    (torch / "_inductor" / "codecache.py").write_text("cpp_runtime_thread_count = 1")
    folder = triton(torch.parent, "runtime/cache.py")
    (folder / "_C" / "libtriton.so").unlink()
    seen = factors(layout(torch.parent), SOABI, {"OMP_NUM_THREADS": "1"}, kept)
    assert isinstance(seen, Value)
    assert seen.value.torch_key is None
    assert seen.value.triton_key is None
    assert seen.value.threads == 1
    assert [name for name, _ in seen.value.unseen] == ["torch-key", "triton-key"]
    assert "libtriton.so can't be read: No such file" in dict(seen.value.unseen)["triton-key"]


def test_a_torch_key_as_a_component() -> None:
    """As torch 2.13.0+cpu wrote it of its own key."""
    key = "d34d1007edd62bb52cb10ffdeb5f6e36975ee877f120be2df6df7e8d3dd2e62c"
    assert torch_component(key) == "sjldm5hyfytkdkxlfj3fhwi432gtpoqk3r6uo4z3lfs7aiipms3"


def test_an_empty_folder_of_a_namespace_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert list(Finder(SOABI).listed(tmp_path, "")) == []
