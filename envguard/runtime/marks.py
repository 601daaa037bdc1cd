"""Annotations of traced code, which torch (up to 2.15) keeps in one dict for the whole process.

Making a block mask annotates (2.13): it puts an entry into that dict and takes it out again. Another thread that
traces puts another dict in its place meanwhile, so the entry is missed: ``KeyError: 'custom'`` in a thread that
compiles nothing. Here what was put into a dict is taken out of the same one.
"""

from __future__ import annotations

import ast
import types
from typing import Any

MODULE = "torch.fx.traceback"
_NAME = "annotate"

_AS_WRITTEN = """
def annotate(annotation_dict):
    global current_meta
    has_custom = "custom" in current_meta
    old_custom = copy.copy(current_meta.get("custom", {}))
    try:
        if not has_custom:
            current_meta["custom"] = EMPTY
        current_meta["custom"].update(annotation_dict)
        yield
    finally:
        if has_custom:
            current_meta["custom"] = old_custom
        else:
            del current_meta["custom"]
"""
_KNOWN = tuple(_AS_WRITTEN.replace("EMPTY", empty) for empty in ("{}", "dict[str, Any]()"))
_STEADY = """
def annotate(annotation_dict):
    mine = current_meta
    has_custom = "custom" in mine
    old_custom = copy.copy(mine.get("custom", {}))
    try:
        mine.setdefault("custom", {}).update(annotation_dict)
        yield
    finally:
        if has_custom:
            mine["custom"] = old_custom
        else:
            mine.pop("custom", None)
"""


def steady(module: Any) -> bool:
    """Give ``annotate`` code that keeps to one dict. False, and nothing changed, where it isn't the known one."""
    generator = getattr(getattr(module, _NAME, None), "__wrapped__", None)
    try:
        with open(module.__file__, encoding="utf-8") as text:
            source = text.read()
    except (OSError, TypeError, UnicodeDecodeError):
        return False
    if not isinstance(generator, types.FunctionType) or not known(source):
        return False
    if generator.__code__.co_name != _NAME or generator.__code__.co_freevars:
        return False
    whole = compile(_STEADY, module.__file__, "exec", dont_inherit=True)
    generator.__code__ = next(part for part in whole.co_consts if isinstance(part, types.CodeType))
    return True


def known(source: str) -> bool:
    """Whether a source of the module annotates as is known."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == _NAME]
    return len(found) == 1 and _body(found[0]) in [_body(_function(text)) for text in _KNOWN]


def _function(text: str) -> ast.FunctionDef:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - it was written so above
    return function


def _body(function: ast.FunctionDef) -> list[str]:
    """Its statements, without the docstring."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return [ast.dump(statement) for statement in statements]
