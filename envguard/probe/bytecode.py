"""Holds compiled files against their sources, in the interpreter that would run them. Nothing is executed.

Run as ``python -I -S -B -W ignore bytecode.py START END`` with NUL-separated triples on stdin: what to do
(``code``: compile the source and compare; ``hash``: compare the hash in the header; or both words), source,
compiled file. Prints START, one word a triple (``same``, ``differs``, ``unknown``), END.
"""

import importlib.util
import marshal
import os
import sys
import types

HEADER = 16
PARTS = (
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_nlocals",
    "co_stacksize",
    "co_flags",
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_name",
    "co_qualname",
    "co_firstlineno",
    "co_exceptiontable",
)


def same(left: object, right: object) -> bool:
    """Whether two constants are one, code by all that runs, numbers by their sign and kind too."""
    if type(left) is not type(right):
        return False
    if isinstance(left, types.CodeType) and isinstance(right, types.CodeType):
        alike = all(getattr(left, part, None) == getattr(right, part, None) for part in PARTS)
        return alike and same(left.co_consts, right.co_consts)
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return len(left) == len(right) and left == right and sorted(map(repr, left)) == sorted(map(repr, right))
    if isinstance(left, (float, complex)):
        return repr(left) == repr(right)
    return left == right


def compare(source: bytes, compiled: bytes, name: str) -> str:
    """Compile a source as importlib does and hold it against a compiled file's code."""
    try:
        code = marshal.loads(compiled[HEADER:])  # noqa: S302 - loaded, never run; this child is made for it
    except (EOFError, TypeError, ValueError):
        return "differs"
    if not isinstance(code, types.CodeType):
        return "differs"
    level = name.rpartition(".opt-")[2][:-4] if ".opt-" in name else "0"
    try:
        fresh = compile(source, code.co_filename, "exec", dont_inherit=True, optimize=int(level))
    except (SyntaxError, ValueError):
        return "differs"
    return "same" if same(fresh, code) else "differs"


def judge(task: str, source: str, compiled: str) -> str:
    """The word for one pair."""
    try:
        with open(source, "rb") as file:
            text = file.read()
        with open(compiled, "rb") as file:
            content = file.read()
        if "hash" in task and importlib.util.source_hash(text) != content[8:HEADER]:
            return "differs"
        return compare(text, content, os.path.basename(compiled)) if "code" in task else "same"
    except Exception:
        return "unknown"


def main() -> None:
    """Answer every triple of stdin."""
    fields = sys.stdin.buffer.read().split(b"\0")
    triples = zip(fields[0::3], fields[1::3], fields[2::3])  # noqa: B905 - Python 3.9
    words = [
        judge(task.decode(), os.fsdecode(source), os.fsdecode(compiled)) for task, source, compiled in triples
    ]
    sys.stdout.write(sys.argv[1] + " ".join(words) + sys.argv[2])


main()
