"""Environment variables."""

from __future__ import annotations

import pytest

from envguard.checks.variables import CHECK
from envguard.model.drift import Outcome
from envguard.model.facts import Facts, Variable, VariableKind, Variables
from envguard.model.observed import Value
from tests.builders import facts
from tests.checks.lines import lines

KEY, NUMERICS, NOTE, PRESENCE = (
    VariableKind.KEY,
    VariableKind.NUMERICS,
    VariableKind.NOTE,
    VariableKind.PRESENCE,
)


def having(kind: VariableKind = KEY, source: str = "shell", **values: str) -> Facts:
    entries = tuple(Variable(name, kind, value) for name, value in values.items())
    return facts(variables=Value(Variables(source, entries)))


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        pytest.param(having(), having(A="1"), "drift A not set → 1: enters compile-cache keys", id="key, set now"),
        pytest.param(having(A="1"), having(), "drift A 1 → not set: enters compile-cache keys", id="key, gone"),
        pytest.param(having(A="1"), having(A="2"), "drift A 1 → 2: enters compile-cache keys", id="key, changed"),
        pytest.param(
            having(NUMERICS, A="1"), having(NUMERICS, A="0"), "drift A 1 → 0: changes results", id="numerics"
        ),
        pytest.param(having(NOTE, A="1"), having(NOTE, A="2"), "note A 1 → 2: can matter", id="note"),
        pytest.param(
            having(), having(PRESENCE, A="sha256:aa"), "note A not set → set: holds paths", id="presence, set now"
        ),
        pytest.param(
            having(PRESENCE, A="sha256:aa"), having(), "note A set → not set: holds paths", id="presence, gone"
        ),
        pytest.param(
            having(PRESENCE, A="sha256:aa"),
            having(PRESENCE, A="sha256:bb"),
            "note A set → set to something else: holds paths",
            id="presence, changed",
        ),
        pytest.param(
            having(PRESENCE, A="sha256:aa"),
            having(KEY, A="/home/ada"),
            "drift A set → set to something else: enters compile-cache keys",
            id="another kind: the graver counts, the value stays hidden",
        ),
        pytest.param(
            having(), having(A=""), "drift A not set → set, empty: enters compile-cache keys", id="empty"
        ),
        pytest.param(
            having(),
            having(A="x" * 61),
            f"drift A not set → {'x' * 59}…: enters compile-cache keys",
            id="a long value",
        ),
        pytest.param(
            having(),
            having(A="x" * 60),
            f"drift A not set → {'x' * 60}: enters compile-cache keys",
            id="a value of the greatest length",
        ),
        pytest.param(
            having(source="process", A="1"),
            having(),
            "drift A 1 → not set: enters compile-cache keys; recorded from a process, held against this shell",
            id="seen in other places",
        ),
        pytest.param(
            having(A="1"),
            having(source="process"),
            "drift A 1 → not set: enters compile-cache keys; recorded from a shell, held against a process",
            id="seen in other places, the other way round",
        ),
    ],
)
def test_one_variable(was: Facts, now: Facts, line: str) -> None:
    assert lines(CHECK, was, now) == [line]


def test_equal_values_and_order() -> None:
    assert CHECK.run(having(A="1", B="2"), having(B="2", A="1", source="process")).outcome is Outcome.MATCH
    assert [line.split()[1] for line in lines(CHECK, having(), having(B="1", A="1"))] == ["A", "B"]


@pytest.mark.parametrize(
    ("was", "now", "hint"),
    [
        (having(), having(A="1"), "unset A"),
        (having(A="8"), having(A="1"), "export A=8"),
        (having(A="a b;c"), having(), None),
        (having(PRESENCE, A="sha256:aa"), having(), None),
    ],
)
def test_hint(was: Facts, now: Facts, hint: str | None) -> None:
    (finding,) = CHECK.run(was, now).findings
    assert finding.hint == hint
    assert finding.key == "variables.A"
