"""Settings that hide failures, in a program's text."""

from __future__ import annotations

import pytest

from envguard.formats.hiding import hiding

NESTED, SUPPRESS = "error_on_nested_fx_trace = False", "suppress_errors = True"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch\ntorch._dynamo.config.suppress_errors = True\n", ((2, SUPPRESS),)),
        ("config.error_on_nested_fx_trace = False", ((1, NESTED),)),
        ("with torch._dynamo.config.patch(error_on_nested_fx_trace=False): pass", ((1, NESTED),)),
        ("config.patch({'suppress_errors': True})", ((1, SUPPRESS),)),
        ("setattr(config, 'suppress_errors', True)", ((1, SUPPRESS),)),
        ("mock.patch('torch._dynamo.config.suppress_errors', True)", ((1, SUPPRESS),)),
        ("config['suppress_errors'] = True", ((1, SUPPRESS),)),
        ("config.suppress_errors = False", ()),
        ("config.error_on_nested_fx_trace = True", ()),
        ("# config.suppress_errors = True", ()),
        ("'''config.suppress_errors = True'''", ()),
        ("config.suppress_errors = flag", ()),
        ("config.suppress_errors = 1", ()),
        ("{**suppress_errors}", ()),
        ("suppress_errors = (", ()),
        ("suppress_errors\0", ()),
        ("x = 1", ()),
    ],
)
def test_hiding(text: str, expected: tuple[tuple[int, str], ...]) -> None:
    assert hiding(text) == expected
