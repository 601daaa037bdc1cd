"""Torch's own key, ``torch._inductor.codecache.torch_key()``, computed from torch's files.

The recipe (torch 2.8 to 2.15): sha256 over the version's text, then name and bytes of every module under
``torch/`` in order of name, then some files that ``codecache.py`` names. Read from the target's own text, so that
a version that does it in another way is noticed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from envguard.adapters.cache.kept import Kept, Part
from envguard.adapters.cache.modules import Finder, KeyUnknownError
from envguard.adapters.hashing import read_file
from envguard.formats.torch_version import read_torch_version

_SOURCE_CAP = 8 << 20
_CALLS = {"sorted", "iter_modules", "find_spec", "open", "update", "encode", "read", "build_code_hash"}


def torch_key(torch: Path, soabi: str, kept: Kept) -> str:
    """The key (hex) of the torch in this folder, for a Python with this SOABI. KeyUnknownError, OSError."""
    return kept.digest("torch", (torch,), lambda: _parts(torch, soabi))


def _parts(torch: Path, soabi: str) -> list[Part]:
    extra = _extra_files(torch)
    try:
        version = read_torch_version(read_file(str(torch / "version.py"), cap=1 << 20, follow=True)).version
    except ValueError as problem:
        raise KeyUnknownError(str(problem)) from None
    return [
        Part(text=version.encode()),
        *_modules(Finder(soabi), torch, ""),
        *(Part(file=torch / "_inductor" / name) for name in extra if (torch / "_inductor" / name).exists()),
    ]


def _modules(finder: Finder, folder: Path, prefix: str) -> Iterator[Part]:
    for module in sorted(finder.listed(folder, prefix), key=lambda module: module.name):
        yield Part(text=module.name.encode(), file=module.file)
        if module.folder is not None:
            yield from _modules(finder, module.folder, f"{module.name}.")


def _extra_files(torch: Path) -> tuple[str, ...]:
    """The files beside the modules, as the target's ``codecache.py`` names them."""
    try:
        text = read_file(str(torch / "_inductor" / "codecache.py"), cap=_SOURCE_CAP, follow=True)
        tree = ast.parse(text)
    except FileNotFoundError:
        raise KeyUnknownError("this torch has no _inductor/codecache.py") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise KeyUnknownError("torch/_inductor/codecache.py can't be parsed") from None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    recipe, key = functions.get("build_code_hash"), functions.get("torch_key")
    if recipe is None or key is None or _called(recipe) != _CALLS:
        raise KeyUnknownError("this torch makes its key in a way that envguard doesn't know")
    for node in ast.walk(key):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and _names(node) == {"extra_files"}:
            return tuple(_text(element) for element in node.value.elts)
    raise KeyUnknownError("this torch makes its key in a way that envguard doesn't know")


def _names(node: ast.Assign) -> set[str]:
    return {target.id for target in node.targets if isinstance(target, ast.Name)}


def _text(element: ast.expr) -> str:
    if isinstance(element, ast.Constant) and isinstance(element.value, str) and ".." not in element.value:
        return element.value
    raise KeyUnknownError("this torch makes its key in a way that envguard doesn't know")


def _called(function: ast.FunctionDef) -> set[str]:
    called = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                called.add(node.func.attr)
            elif isinstance(node.func, ast.Name):
                called.add(node.func.id)
    return called
