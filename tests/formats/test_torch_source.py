"""Signs in torch's source, as the builds have them."""

from __future__ import annotations

import pytest

from envguard.formats import torch_source
from envguard.formats.torch_source import DYNAMO, FLAG, FLEX, FRAMES, MARKS, MASKS, SETTINGS
from envguard.model.hazards import Signs

PROCESS = "import os\n_is_fx_tracing_flag = False\n"
BACKWARD = 'super().__init__("flex_attention_backward"'
ONE_DICT = "current_meta: dict[str, Any] = {}\n"
ANNOTATES = '    with torch.fx.traceback.annotate({"fallback_to_eager": True}):\n'
THREAD = "import threading\n_is_fx_tracing_tls = threading.local()\n"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({FLAG: PROCESS}, Signs(flag="process")),
        ({FLAG: THREAD}, Signs(flag="thread")),
        ({FLAG: PROCESS + THREAD}, Signs()),
        ({FLAG: "    _is_fx_tracing_flag = False\n"}, Signs()),
        ({FRAMES: "stack.enter_context(torch.compiler._compile_session_context())"}, Signs(masked=True)),
        ({FRAMES: "pass"}, Signs(masked=False)),
        ({SETTINGS: "self.value = ContextVar(name)"}, Signs(thread_settings=True)),
        ({SETTINGS: ""}, Signs(thread_settings=False)),
        ({FLEX: f"{BACKWARD}, cacheable=True)"}, Signs(flex_backward_cacheable=True)),
        ({FLEX: f"{BACKWARD})"}, Signs(flex_backward_cacheable=False)),
        ({FLEX: 'super().__init__("flex_attention", cacheable=True)'}, Signs()),
        ({DYNAMO: "recompile_limit = 8\n"}, Signs(recompile_limit=8)),
        ({DYNAMO: "accumulated_recompile_limit = 256\n"}, Signs()),
        ({MASKS: ANNOTATES, MARKS: ONE_DICT}, Signs(shared_marks=True)),
        ({MASKS: ANNOTATES, MARKS: "current_meta = _State().meta\n"}, Signs(shared_marks=False)),
        ({MASKS: "", MARKS: ONE_DICT}, Signs(shared_marks=False)),
        ({MASKS: ANNOTATES}, Signs()),
        ({}, Signs()),
    ],
    ids=["process", "thread", "both", "indented", "masked", "unmasked", "by thread", "for all", "cacheable",
         "not cacheable", "forward only", "limit", "another limit", "one dict", "a dict each",
         "no marks", "half unread", "nothing"],
)  # fmt: skip
def test_signs(texts: dict[str, str], expected: Signs) -> None:
    assert torch_source.signs(texts) == expected
