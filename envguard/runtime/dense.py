"""Dense attention: flex_attention without torch.compile builds its whole scores matrix. Here that is an error.

Torch warns of it once a process, and not while anything compiles; so the function that builds the matrix is asked.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from typing import Any

from envguard.runtime import modes, tally
from envguard.runtime.errors import DenseAttentionError

MESSAGE = "flex_attention called without torch.compile"
SOURCE = "torch._higher_order_ops.flex_attention"
_WARNER = "torch.nn.attention.flex_attention"
_WARNING = "flex_attention_performance"


class _Allowed(threading.local):
    deep = 0


ALLOWED = _Allowed()


def guard(module: Any) -> bool:
    """Follow ``math_attention``. Answers whether this build has it."""
    original = getattr(module, "math_attention", None)
    if not callable(original):
        return False

    @functools.wraps(original)
    def math_attention(query: Any, key: Any, *arguments: Any, **named: Any) -> Any:
        if _is_real(query):
            called(query, key)
        return original(query, key, *arguments, **named)

    module.math_attention = math_attention
    return True


def called(query: Any, key: Any) -> None:
    """Real tensors came to the dense function. DenseAttentionError where it is an error."""
    tally.add("dense_calls")
    what = "flex_attention ran without torch.compile (%s): its scores %s would take %.3g GiB" % (
        tally.where(),
        " × ".join(str(size) for size in (*query.shape[:-1], key.shape[-2])),
        query.shape[0] * query.shape[1] * query.shape[2] * key.shape[-2] * 4 / 2**30,
    )
    chosen = "count" if ALLOWED.deep or modes.mode() == "observe" else modes.dense()
    if not ALLOWED.deep:
        tally.hazard("dense-attention", "flex_attention ran without torch.compile")
    if chosen == "error":
        raise DenseAttentionError(
            what + ". Compile it: torch.compile(flex_attention); where a dense call is meant: with guard.dense():"
        )
    if chosen == "warning":
        warnings.warn(what, RuntimeWarning, stacklevel=3)


def by_warning() -> None:
    """For a build whose dense function isn't known: torch's own warning becomes an error, shown before or not."""
    warnings.filterwarnings("error", message=MESSAGE)
    shown = getattr(sys.modules.get(_WARNER), "_WARNINGS_SHOWN", None)
    if shown is not None:
        shown.discard(_WARNING)


class Dense:
    """A block in which dense calls are meant: they are counted and nothing more."""

    def __enter__(self) -> Dense:
        ALLOWED.deep += 1
        return self

    def __exit__(self, *error: object) -> None:
        ALLOWED.deep -= 1


def _is_real(tensor: Any) -> bool:
    """Whether this is a tensor with bytes; while torch traces, it passes fake ones of other classes."""
    torch: Any = sys.modules["torch"]
    return type(tensor) is torch.Tensor or type(tensor) is torch.nn.Parameter
