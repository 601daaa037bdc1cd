"""What the recipes of Triton's key have in common: version, then the hex sha256 of each file, joined by ``-``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from envguard.adapters.cache.kept import Part
from envguard.adapters.cache.modules import Finder, KeyUnknownError
from envguard.adapters.hashing import read_file

_SOURCE_CAP = 4 << 20
_CALLS = {
    "open",
    "sha256",
    "hexdigest",
    "read",
    "walk_packages",
    "find_spec",
    "update",
    "join",
    "dirname",
    "abspath",
}
_MAY_CALL = _CALLS | {"get_config_var", "split", "append"}


def holds_recipe(file: Path) -> bool:
    """Whether a file of Triton defines ``triton_key`` as it is known here. KeyUnknownError for another way."""
    try:
        tree = ast.parse(read_file(str(file), cap=_SOURCE_CAP, follow=True))
    except FileNotFoundError:
        return False
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise KeyUnknownError(f"triton/{file.parent.name}/{file.name} can't be parsed") from None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "triton_key"]
    if not found:
        return False
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "?")
        for node in ast.walk(found[0])
        if isinstance(node, ast.Call)
    } - {"lru_cache"}
    if called & _CALLS != _CALLS or not called <= _MAY_CALL:
        raise KeyUnknownError("this Triton makes its key in a way that envguard doesn't know")
    return True


def parts_of(triton: Path, frontend: Path, finder: Finder) -> list[Part]:
    """Frontend, compiler and backends, libtriton, language, in that order."""
    files = [
        frontend,
        *_walked(finder, triton / "compiler", "triton.compiler."),
        *_walked(finder, triton / "backends", "triton.backends."),
        triton / "_C" / "libtriton.so",
        *_walked(finder, triton / "language", "triton.language."),
    ]
    return _joined(_version(triton), files)


def _joined(version: str, files: Sequence[Path]) -> list[Part]:
    return [
        Part(text=(b"-" if number else version.encode()), file=file, hashed=True)
        for number, file in enumerate(files)
    ]


def _walked(finder: Finder, folder: Path, prefix: str) -> Iterator[Path]:
    if not folder.is_dir():  # pkgutil yields nothing then
        return
    for module in finder.walked(folder, prefix):
        yield module.file


def _version(triton: Path) -> str:
    try:
        tree = ast.parse(read_file(str(triton / "__init__.py"), cap=_SOURCE_CAP, follow=True))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise KeyUnknownError("triton/__init__.py can't be parsed") from None
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            getattr(target, "id", "") == "__version__" for target in node.targets
        ):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value
    raise KeyUnknownError("triton/__init__.py has no plain __version__")
