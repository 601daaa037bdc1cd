"""docs/reliability.md names tests that are there, for every row, and every place that writes files."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import envguard

ROOT = Path(envguard.__file__).parent.parent
TEXT = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
WANTED = [*(f"T{n}" for n in range(1, 15)), *(f"F{n}" for n in range(1, 40)), *(f"C{n}" for n in range(1, 11))]
ROWS = {
    cells[0]: cells
    for line in TEXT.splitlines()
    if (cells := [cell.strip() for cell in line.strip("|").split(" | ")]) and re.fullmatch(r"[TFC]\d+", cells[0])
}
_NODE = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")


@functools.cache
def collected() -> frozenset[str]:
    """Node ids of the files that are named, without parameters."""
    files = sorted({node.partition("::")[0] for node in _NODE.findall(TEXT)})
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return frozenset(line.partition("[")[0] for line in ended.stdout.splitlines() if "::" in line)


def test_every_row_is_there_once() -> None:
    assert list(ROWS) == WANTED
    assert len(re.findall(r"(?m)^\| [TFC]\d+ \|", TEXT)) == len(WANTED)


@pytest.mark.parametrize("row", WANTED)
def test_a_row_names_tests_or_says_why_not(row: str) -> None:
    cells = ROWS[row]
    assert len(cells) == 4
    assert all(cells)
    nodes = _NODE.findall(cells[3])
    if not nodes:
        assert re.match(r"No test: \w.{20,}", cells[3]), "neither a test nor a reason"
    assert [node for node in nodes if node not in collected()] == []


def _opens_to_write(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    words = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    if name in ("write_bytes", "write_text"):
        return True
    if name in ("open", "fdopen", "ZipFile"):
        texts = [word for word in words if isinstance(word, str) and re.fullmatch(r"[wax]b?\+?|[wax]b", word)]
        return bool(texts) or "O_CREAT" in ast.unparse(node)
    return False


def test_every_write_is_known() -> None:
    """A new place that writes files goes through the layer, or into the table with its reason."""
    found = {
        path.relative_to(ROOT / "envguard").as_posix()
        for path in (ROOT / "envguard").rglob("*.py")
        if path.relative_to(ROOT / "envguard").parts[0] in ("adapters", "operations", "cli")
        and any(map(_opens_to_write, ast.walk(ast.parse(path.read_bytes()))))
    }
    assert found, "the search finds nothing"
    known = set(
        re.findall(r"`((?:adapters|operations|cli)/[\w/]+\.py)`", TEXT.partition("## Who writes files")[2])
    )
    assert found - known == set()
