"""Settings in a program's text under which torch hides what fails to compile. The text is parsed, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

HIDING = dict((("error_on_nested_fx_trace", False), ("suppress_errors", True)))  # noqa: C406 - found by itself
"""Names of ``torch._dynamo.config``, and the value that hides."""


def hiding(text: str) -> tuple[tuple[int, str], ...]:
    """Line and setting (``suppress_errors = True``) of each place; none where the text is no Python."""
    if not any(name in text for name in HIDING):
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(sorted({(line, f"{name} = {HIDING[name]}") for line, name in _places(tree)}))


def _places(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for name, value in _set(node):
            if name in HIDING and isinstance(value, ast.Constant) and value.value is HIDING[name]:
                yield value.lineno, name


def _set(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a node sets: by assignment, keyword, dict, or a call with the name as text (setattr, mock's patch)."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((_last_name(target), value) for target in targets)
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            yield from ((_last_name(key), value) for key, value in zip(keys, values, strict=True) if key)
        case ast.Call(args=[*_, ast.Constant(value=str(name)), value]):
            yield name.rpartition(".")[2], value


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))) | ast.Constant(value=str(name)):
            return name.rpartition(".")[2]
    return ""
