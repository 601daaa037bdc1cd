"""Signs in torch's own source: what a build does, whatever its version says. Texts in, no file is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envguard.model.hazards import Signs

FLAG = "fx/_symbolic_trace.py"
FRAMES = "_dynamo/convert_frame.py"
SETTINGS = "utils/_config_module.py"
DYNAMO = "_dynamo/config.py"
FLEX = "_higher_order_ops/flex_attention.py"
MASKS = "nn/attention/flex_attention.py"
MARKS = "fx/traceback.py"
FILES = (FLAG, FRAMES, SETTINGS, DYNAMO, FLEX, MASKS, MARKS)
"""Read below the torch folder."""

_PROCESS = re.compile(r"^_is_fx_tracing_flag\s*=\s*False\b", re.MULTILINE)
_THREAD = re.compile(r"^_is_fx_tracing_tls\s*=\s*threading\.local\(", re.MULTILINE)
_BACKWARD = re.compile(r"""super\(\).__init__\(\s*["']flex_attention_backward["']([^)]*)\)""")
_ONE_DICT = re.compile(r"^current_meta\b[^=\n]*=\s*\{\}", re.MULTILINE)
_LIMIT = re.compile(r"^recompile_limit\s*=\s*(\d+)", re.MULTILINE)


def signs(texts: Mapping[str, str]) -> Signs:
    """What the files of ``FILES`` say; one that is missing leaves its sign None."""
    backward = _BACKWARD.search(texts.get(FLEX, ""))
    limit = _LIMIT.search(texts.get(DYNAMO, ""))
    return Signs(
        flag=_flag(texts.get(FLAG, "")),
        masked=_names(texts.get(FRAMES), "_compile_session_context("),
        thread_settings=_names(texts.get(SETTINGS), "ContextVar("),
        flex_backward_cacheable="cacheable=True" in backward[1] if backward else None,
        recompile_limit=int(limit[1]) if limit else None,
        shared_marks=_shared_marks(texts),
    )


def _flag(text: str) -> str | None:
    process, thread = bool(_PROCESS.search(text)), bool(_THREAD.search(text))
    if process == thread:
        return None
    return "process" if process else "thread"


def _shared_marks(texts: Mapping[str, str]) -> bool | None:
    if MASKS not in texts or MARKS not in texts:
        return None
    return "traceback.annotate(" in texts[MASKS] and _ONE_DICT.search(texts[MARKS]) is not None


def _names(text: str | None, word: str) -> bool | None:
    return None if text is None else word in text
