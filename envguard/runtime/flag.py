"""The FX tracing flag, per thread, for builds of torch in which it is one for the whole process.

``Tracer.trace`` raises the flag, and every call of a compiled function asks for it. Two threads that trace at once
also put it back in the wrong order, so that it stays up. Torch 2.14 keeps it per thread itself.

A build is known by what its own source does with the flag, statement by statement, not by its version.
"""

from __future__ import annotations

import ast
import functools
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from envguard.runtime.errors import GuardRefusedError

MODULE = "torch.fx._symbolic_trace"
FLAG = "_is_fx_tracing_flag"
OWN = "_is_fx_tracing_tls"
_PLACE = "_envguard_thread"

_RETURNS = "return _is_fx_tracing_flag"
_BUT_NOT_COMPILING = "return _is_fx_tracing_flag and not torch.compiler.is_compiling()"
_TRACE = (
    "global _is_fx_tracing_flag",
    "old_is_fx_tracing_flag = _is_fx_tracing_flag",
    "_is_fx_tracing_flag = True",
    "_is_fx_tracing_flag = old_is_fx_tracing_flag",
)
_KNOWN = (
    {"": ("_is_fx_tracing_flag = False",), "is_fx_tracing": (_RETURNS,), "Tracer.trace": _TRACE},
    {
        "": ("_is_fx_tracing_flag = False",),
        "is_fx_tracing": (_RETURNS,),
        "is_fx_symbolic_tracing": (_BUT_NOT_COMPILING,),
        "Tracer.trace": _TRACE,
    },
)
"""Every statement that names the flag, by the function it stands in: torch 2.8, and 2.9 to 2.13."""


class _PerThread(threading.local):
    """Whether this thread is inside ``Tracer.trace``."""

    tracing = False


THREAD = _PerThread()
_lock = threading.Lock()
_live = 0


class _Module(types.ModuleType):
    """The tracing module with a flag that is the asking thread's own, for those who name it from outside."""

    @property
    def _is_fx_tracing_flag(self) -> bool:
        return THREAD.tracing

    @_is_fx_tracing_flag.setter
    def _is_fx_tracing_flag(self, value: bool) -> None:
        THREAD.tracing = bool(value)


def kind(source: str) -> str | None:
    """What a source of the tracing module does: ``thread``, ``process``, or None where it isn't known."""
    tree = ast.parse(source)
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if OWN in named and FLAG not in named:
        return "thread"
    found = _mentions(tree)
    return "process" if any(found == _dumped(known) for known in _KNOWN) else None


def per_thread(module: Any, count: Callable[[], None]) -> str:
    """Make the flag of a process-wide build per thread; ``count()`` is called for each trace, in any build.

    Answers ``torch`` where the build keeps it per thread itself, else ``guard``. GuardRefusedError.
    """
    source = _source(module)
    found = kind(source)
    if found is None:
        raise GuardRefusedError(
            "this build of torch can't be guarded: %s does with the tracing flag what envguard doesn't know, so "
            "nothing was changed. Run with ENVGUARD_GUARD=observe, or one process per GPU." % module.__file__
        )
    if found == "process":
        replaced = [(function, _replacement(module, source, name)) for name, function in _readers(module)]
        _check_tracer(module)
        setattr(module, _PLACE, THREAD)
        for function, code in replaced:
            function.__code__ = code
        module.__class__ = _Module
    _wrap_tracer(module, count, found == "process")
    return "torch" if found == "thread" else "guard"


def watch(module: Any, count: Callable[[], None]) -> None:
    """Only count traces."""
    _wrap_tracer(module, count, False)


def raised() -> bool | None:
    """Whether the process's own flag is up now, whoever raised it; None where a build has none."""
    module = sys.modules.get(MODULE)
    flag: bool | None = None if module is None else vars(module).get(FLAG)
    return flag


def stuck() -> bool:
    """Whether the flag is up though nothing traces."""
    return _live == 0 and bool(raised())


def forked() -> None:
    """After a fork: only the forking thread lives on."""
    global _lock, _live
    _lock = threading.Lock()
    _live = 1 if THREAD.tracing else 0


def _source(module: Any) -> str:
    try:
        with open(module.__file__, encoding="utf-8") as text:
            return text.read()
    except (OSError, TypeError, UnicodeDecodeError) as problem:
        raise GuardRefusedError(
            "this build of torch can't be guarded: the source of %s can't be read (%s)" % (MODULE, problem)
        ) from None


def _mentions(tree: ast.Module) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}

    def look(node: ast.AST, scope: list[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                look(child, [*scope, child.name])
            elif isinstance(child, ast.stmt) and not _blocks(child):
                if _names(child):
                    found.setdefault(".".join(scope), []).append(ast.dump(child))
            else:
                look(child, scope)

    look(tree, [])
    return found


def _blocks(statement: ast.stmt) -> bool:
    return any(isinstance(child, (ast.stmt, ast.ExceptHandler)) for child in ast.iter_child_nodes(statement))


def _names(node: ast.AST) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id == FLAG) or (isinstance(one, ast.Global) and FLAG in one.names)
        for one in ast.walk(node)
    )


def _dumped(known: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """As ``_mentions`` finds them; dumps differ between Pythons, so they are made by the one that runs."""
    dumped = {}
    for scope, statements in known.items():
        text = "def f():\n" + "".join("    %s\n" % statement for statement in statements)
        (function,) = ast.parse(text).body
        assert isinstance(function, ast.FunctionDef)  # noqa: S101 - it was written so above
        dumped[scope] = [ast.dump(statement) for statement in function.body]
    return dumped


def _readers(module: Any) -> list[tuple[str, Any]]:
    names = ("is_fx_tracing", "is_fx_symbolic_tracing")
    return [(name, vars(module)[name]) for name in names if name in vars(module)]


class _ByThread(ast.NodeTransformer):
    """Reads of the flag become reads of the thread's own."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id != FLAG:
            return node
        place = ast.Name(id=_PLACE, ctx=ast.Load())
        return ast.copy_location(ast.Attribute(value=place, attr="tracing", ctx=ast.Load()), node)


def _replacement(module: Any, source: str, name: str) -> types.CodeType:
    """The function's code with the flag by thread. The function itself stays, with all who hold it by name."""
    definition = next(
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name
    )
    as_written = _compiled(definition, module)
    code = getattr(vars(module)[name], "__code__", None)
    if code is None or (code.co_code, code.co_names) != (as_written.co_code, as_written.co_names):
        raise GuardRefusedError("%s.%s was replaced by something else; nothing was changed" % (MODULE, name))
    return _compiled(ast.fix_missing_locations(_ByThread().visit(definition)), module)


def _compiled(definition: ast.FunctionDef, module: Any) -> types.CodeType:
    """The code object of a function's definition."""
    whole = compile(ast.Module(body=[definition], type_ignores=[]), module.__file__, "exec", dont_inherit=True)
    return next(
        part for part in whole.co_consts if isinstance(part, types.CodeType) and part.co_name == definition.name
    )


def _check_tracer(module: Any) -> None:
    trace = module.Tracer.trace
    trace = getattr(trace, "_torchdynamo_orig_callable", trace)  # torch.compile has run, and wrapped it
    code = getattr(trace, "__code__", None)
    if code is None or code.co_name != "trace" or code.co_filename != module.Tracer.__init__.__code__.co_filename:
        raise GuardRefusedError("%s.Tracer.trace was replaced by something else; nothing was changed" % MODULE)


def _wrap_tracer(module: Any, count: Callable[[], None], lower: bool) -> None:
    original = module.Tracer.trace

    @functools.wraps(original)
    def trace(self: Any, *arguments: Any, **named: Any) -> Any:
        global _live
        count()
        before = THREAD.tracing
        THREAD.tracing = True
        with _lock:
            _live += 1
        try:
            return original(self, *arguments, **named)
        finally:
            THREAD.tracing = before
            with _lock:
                _live -= 1
                if lower and not _live:
                    # Interleaved traces put it back in the wrong order; whoever reads it raw is to see it down.
                    vars(module)[FLAG] = False

    module.Tracer.trace = trace
