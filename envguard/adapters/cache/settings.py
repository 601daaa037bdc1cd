"""Variables that enter cache keys, as the target's own configuration files read them.

``torch/_inductor/config.py`` says which variable each setting is read from, what holds without it, and which
settings no key holds. Parsed, never run: so a variable that says what holds anyway is no difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from envguard.adapters.hashing import read_file
from envguard.model.digest import Digest

_CAP = 4 << 20
_LONGEST = 200
_FILES = ("_inductor/config.py", "_functorch/config.py")
_IGNORED = "_cache_config_ignore_prefix"
_PLAIN = ("TORCH", "TRITON_", "ENABLE_", "CUTEDSL_", "CUTLASS_", "CXX", "AOT_", "PARTITIONER_", "FAKE_")

_ALWAYS = (
    "TORCH_COMPILE_CACHE_KEY_TAG",
    "TORCH_COMPILE_OVERRIDE_INDUCTOR_CONFIGS",
    "TORCH_COMPILE_JOB_ID",
)
"""Read elsewhere in torch (``compiler/config.py``, ``_dynamo/config.py``): in keys, or in what is compiled."""

_TRITON = (
    "DISABLE_LLVM_OPT", "DISABLE_PTXAS_OPT", "DISABLE_MMA_V3", "DISABLE_MMA_V5", "LLVM_IR_ENABLE_DUMP",
    "LLVM_ENABLE_TIMING", "MLIR_ENABLE_DUMP", "MLIR_ENABLE_TIMING", "NVPTX_ENABLE_DUMP", "PTXAS_OPTIONS",
    "TRITON_DEFAULT_FP_FUSION", "TRITON_DISABLE_LINE_INFO", "TRITON_ENABLE_ASAN", "TRITON_OVERRIDE_ARCH",
    "TRITON_F32_DEFAULT", "USE_IR_LOC",
)  # fmt: skip
"""Triton's own, which invalidate its keys (its ``GetEnv.hpp``)."""

_OFF = {
    "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    "TORCH_COMPILE_FORCE_DISABLE_CACHES": "1",
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
    "TORCH_COMPILE_DISABLE": "1",
    "TORCHDYNAMO_DISABLE": "1",
}
"""Switches that turn the caches, or compilation, off: no key holds them, and nothing is looked up."""


_COMPUTED = "\0computed"
"""A default that isn't plain: any value may then make a difference."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a variable is read: ``flag`` is the text it is compared with, ``default`` what holds without it."""

    flag: str | None
    default: str | None


def settings(torch: Path, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Variables that are set and make a difference to keys, by name, of this environment. OSError."""
    known = {name: Setting(None, None) for name in (*_ALWAYS, *_TRITON)}
    for file in _FILES:
        known |= read_settings(read_file(str(torch / file), cap=_CAP, follow=True))
    found = {name: value for name, setting in known.items() if (value := _effective(environ.get(name), setting))}
    found |= {name: off for name, off in _OFF.items() if environ.get(name) == off}
    return tuple((name, _shown(name, found[name])) for name in sorted(found))


def read_settings(source: bytes) -> dict[str, Setting]:
    """The variables that a configuration file reads into settings that keys hold."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    ignored = tuple(_ignored(tree))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: dict[str, Setting] = {}
    for name, value in _assigned(tree.body, ""):
        if not name.startswith(ignored) if ignored else True:
            for variable in _variables(value, functions):
                found.setdefault(variable, _setting(value, variable))
    return found


def _effective(value: str | None, setting: Setting) -> str | None:
    """The value that makes a difference, None when it makes none."""
    if value is None:
        return None
    if setting.flag is not None:
        return (
            None
            if (value == setting.flag) == (setting.default == setting.flag)
            else ("1" if value == "1" else "0")
        )
    return None if value.strip() == setting.default else value or "(empty)"


def _shown(name: str, value: str) -> str:
    """As a lock may hold it: no path, no address, nothing of a variable that is none of torch's own."""
    if not name.startswith((*_PLAIN, *_TRITON)) or len(value) > _LONGEST or any(mark in value for mark in "/\\@"):
        return str(Digest.of(value.encode("utf-8", "surrogateescape")))
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _assigned(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.expr]]:
    """Every setting with its full name: those of classes are ``triton.cudagraphs``."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _assigned(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            yield prefix + node.target.id, node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, node.value


def _ignored(tree: ast.Module) -> Iterator[str]:
    for name, value in _assigned(tree.body, ""):
        if name == _IGNORED and isinstance(value, ast.List):
            yield from (entry.value for entry in value.elts if _is_text(entry))  # type: ignore[attr-defined]


def _variables(value: ast.expr, functions: Mapping[str, ast.FunctionDef]) -> Iterator[str]:
    """Names of variables that an expression reads, also by a function of the same file."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            yield from _read_by(node)
            if isinstance(node.func, ast.Name) and node.func.id in functions:
                for inner in ast.walk(functions[node.func.id]):
                    if isinstance(inner, ast.Call):
                        yield from _read_by(inner)


def _read_by(call: ast.Call) -> Iterator[str]:
    if _is_environ(call.func) and call.args and _is_text(call.args[0]):
        yield call.args[0].value  # type: ignore[attr-defined]
    for keyword in call.keywords:
        if keyword.arg in ("env_name_default", "env_name_force"):
            yield from (str(ast.literal_eval(node)) for node in ast.walk(keyword.value) if _is_text(node))


def _is_environ(function: ast.expr) -> bool:
    return ast.unparse(function) in ("os.environ.get", "os.getenv", "environ.get", "getenv")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _setting(value: ast.expr, variable: str) -> Setting:
    """How the variable is read, where the expression is one of the plain forms."""
    for node in ast.walk(value):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and _reads(node.left, variable):
            compared, default = _constant(node.comparators[0]), _default(node.left)
            if isinstance(node.ops[0], ast.Eq) and compared in ("0", "1"):
                return Setting(compared, default) if default != _COMPUTED else Setting(None, None)
        if isinstance(node, ast.Call) and any(keyword.arg == "default" for keyword in node.keywords):
            default = next(_constant(entry.value) for entry in node.keywords if entry.arg == "default")
            return Setting(None, {"True": "1", "False": "0"}.get(default or "", default))
    return Setting(None, next((_default(node) for node in ast.walk(value) if _reads(node, variable)), None))


def _reads(node: ast.AST, variable: str) -> bool:
    return isinstance(node, ast.Call) and _is_environ(node.func) and variable in _read_by(node)


def _default(node: ast.AST) -> str | None:
    """What holds without the variable; None when nothing is said."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    default = node.args[1]
    if isinstance(default, ast.IfExp) and ast.unparse(default.test) == "is_fbcode()":
        default = default.orelse
    return _constant(default) or (_COMPUTED if not isinstance(default, ast.Constant) else "")


def _constant(node: ast.expr) -> str | None:
    return str(node.value) if isinstance(node, ast.Constant) else None
