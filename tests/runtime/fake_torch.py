"""A torch of a few lines, with the parts that the guard looks at; what it does with the flag is as 2.9 to 2.13."""

from __future__ import annotations

from pathlib import Path

TRACING = """
import torch

_is_fx_tracing_flag = False


def is_fx_tracing():
    return _is_fx_tracing_flag


def is_fx_symbolic_tracing():
    return _is_fx_tracing_flag and not torch.compiler.is_compiling()


class Tracer:
    def __init__(self):
        pass

    def trace(self, root):
        global _is_fx_tracing_flag
        old_is_fx_tracing_flag = _is_fx_tracing_flag
        _is_fx_tracing_flag = True
        try:
            return root()
        finally:
            _is_fx_tracing_flag = old_is_fx_tracing_flag
"""
BY_THREAD = """
import threading
import torch

_is_fx_tracing_tls = threading.local()


def is_fx_symbolic_tracing():
    return getattr(_is_fx_tracing_tls, "flag", False) and not torch.compiler.is_compiling()


class Tracer:
    def trace(self, root):
        old = getattr(_is_fx_tracing_tls, "flag", False)
        _is_fx_tracing_tls.flag = True
        try:
            return root()
        finally:
            _is_fx_tracing_tls.flag = old
"""
FILES = {
    "__init__.py": """
import types
__version__ = "2.11.0+cu130"
version = types.SimpleNamespace(git_version="0" * 40, cuda="13.0")
compiler = types.SimpleNamespace(is_compiling=lambda: False)
cuda = types.SimpleNamespace(is_initialized=lambda: False)


class Tensor:
    def __init__(self, *shape):
        self.shape = shape


nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
import torch.fx._symbolic_trace
import multiprocessing.util
""",
    "fx/__init__.py": "",
    "fx/_symbolic_trace.py": TRACING,
    "_dynamo/__init__.py": "from torch._dynamo import callback, config, convert_frame, utils\n",
    "_dynamo/config.py": "error_on_nested_fx_trace = True\nsuppress_errors = False\ndisable = False\n",
    "_dynamo/utils.py": "import collections\ncounters = collections.defaultdict(collections.Counter)\n",
    "_dynamo/convert_frame.py": "def _compile(code, *more):\n    return code.co_name\n",
    "_dynamo/callback.py": """
import contextlib
import enum


class CallbackTrigger(enum.Enum):
    DYNAMO = 1
    LAZY_BACKWARD = 2


class CompilationCallbackHandler:
    @contextlib.contextmanager
    def install_callbacks(self, trigger, compile_id):
        yield


callback_handler = CompilationCallbackHandler()
""",
    "_higher_order_ops/__init__.py": "",
    "_higher_order_ops/flex_attention.py": "def math_attention(query, key, value):\n    return 'dense'\n",
}


def write(folder: Path, **changes: str) -> Path:
    """Write it below a folder that goes into a search path; ``changes`` by file, with ``_`` for ``/``."""
    for name, text in {**FILES, **changes}.items():
        path = folder / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
