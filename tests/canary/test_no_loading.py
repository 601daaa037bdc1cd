"""No code of the tool could load what it looks at: what can is not even imported."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import envguard

ROOT = Path(envguard.__file__).parent
LOADING = frozenset(
    {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "torch", "triton", "imp", "runpy", "joblib"}
)
INSIDE = ("probe", "runtime")
"""What runs inside the target, where the user asked for it."""
FILES = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in INSIDE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_that_loads_code_is_imported(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_bytes())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert not {name.partition(".")[0] for name in names} & LOADING
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("exec", "eval", "compile", "__import__")
