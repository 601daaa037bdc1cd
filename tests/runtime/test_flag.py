"""The tracing flag: which builds are known, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from envguard.runtime import flag
from tests.runtime import fake_torch
from tests.runtime.conftest import Programs

KNOWN = fake_torch.TRACING
OLDEST = KNOWN.replace("def is_fx_symbolic_tracing", "def other").replace(
    "    return _is_fx_tracing_flag and not torch.compiler.is_compiling()\n", "    return False\n"
)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        pytest.param(KNOWN, "process", id="2.9 to 2.13"),
        pytest.param(OLDEST, "process", id="2.8"),
        pytest.param(fake_torch.BY_THREAD, "thread", id="2.14"),
        pytest.param(KNOWN.replace("_is_fx_tracing_flag", "_other"), None, id="another name"),
        pytest.param(KNOWN + "\n\ndef more():\n    return _is_fx_tracing_flag\n", None, id="one more reader"),
        pytest.param(
            KNOWN.replace("_is_fx_tracing_flag = True", "_is_fx_tracing_flag = 1"), None, id="other value"
        ),
        pytest.param(KNOWN.replace("and not torch", "or torch"), None, id="other condition"),
        pytest.param(KNOWN + "\nif True:\n    _is_fx_tracing_flag = True\n", None, id="inside a block"),
        pytest.param("", None, id="empty"),
    ],
)
def test_a_build_is_known_by_what_it_does(source: str, kind: str | None) -> None:
    assert flag.kind(source) == kind


TWO_THREADS = """
import threading, torch
import torch.fx._symbolic_trace as tracing
asked = tracing.is_fx_symbolic_tracing        # as torch.compile keeps it
first_in, second_in, first_out, was_asked = (threading.Event() for _ in range(4))
seen = {}

def first():
    first_in.set(); was_asked.wait(30)

def second():
    second_in.set(); first_out.wait(30)
    seen["inside the second"] = asked()

one = threading.Thread(target=lambda: tracing.Tracer().trace(first))
one.start(); first_in.wait(30)
two = threading.Thread(target=lambda: tracing.Tracer().trace(second))
two.start(); second_in.wait(30)
seen["main while both trace"] = asked()
was_asked.set(); one.join(); first_out.set(); two.join()
seen["main afterwards"] = asked()
print(seen, vars(tracing)["_is_fx_tracing_flag"], tracing._is_fx_tracing_flag)
"""


def test_interleaved_traces_raise_it_for_others_and_leave_it_up(programs: Programs) -> None:
    ended = programs.run(TWO_THREADS, ENVGUARD_GUARD="off")

    assert ended.out == (
        "{'main while both trace': True, 'inside the second': False, 'main afterwards': True} True True\n"
    )


def test_with_the_guard_each_thread_has_its_own(programs: Programs) -> None:
    ended = programs.run(TWO_THREADS)

    assert ended.out == (
        "{'main while both trace': False, 'inside the second': True, 'main afterwards': False} False False\n"
    )
    assert ended.log["guard"]["flag"] == "guard"
    assert ended.log["end"] | {"settings": []} == {
        "how": "exit", "detail": None, "flag_raised": False, "flag_stuck": False, "settings": [],
    }  # fmt: skip


def test_observed_it_is_told_that_it_stuck(programs: Programs) -> None:
    ended = programs.run(TWO_THREADS, ENVGUARD_GUARD="observe")

    assert "'main afterwards': True" in ended.out
    assert ended.log["end"]["flag_stuck"] is True
    assert [hazard["hazard"] for hazard in ended.log["hazards"]] == ["sticky-flag"]


def test_who_sets_it_from_outside_sets_its_own_threads(programs: Programs) -> None:
    ended = programs.run(
        "import threading, torch, torch.fx._symbolic_trace as tracing\n"
        "def trace():\n"
        "    before = tracing._is_fx_tracing_flag\n"
        "    tracing._is_fx_tracing_flag = False\n"  # what torch does around a higher-order operator
        "    print(before, tracing.is_fx_symbolic_tracing())\n"
        "    tracing._is_fx_tracing_flag = before\n"
        "    print(tracing.is_fx_symbolic_tracing())\n"
        "tracing.Tracer().trace(trace)\n"
        "threading.Thread(target=lambda: setattr(tracing, '_is_fx_tracing_flag', True)).start()\n"
        "print(tracing.is_fx_symbolic_tracing())\n"
    )

    assert (ended.out, ended.err) == ("True False\nTrue\nFalse\n", "")


def test_compiling_hides_it_as_before(programs: Programs) -> None:
    ended = programs.run(
        "import torch, torch.fx._symbolic_trace as t\ntorch.compiler.is_compiling = lambda: True\n"
        "print(t.Tracer().trace(lambda: (t.is_fx_tracing(), t.is_fx_symbolic_tracing())))"
    )

    assert ended.out == "(True, False)\n"


def test_a_build_that_keeps_it_by_thread_is_left_as_it_is(programs: Programs) -> None:
    fake_torch.write(programs.path[0], **{"fx/_symbolic_trace.py": fake_torch.BY_THREAD})

    ended = programs.run(
        "import torch, torch.fx._symbolic_trace as t; t.Tracer().trace(int); print(type(t).__name__)"
    )

    assert ended.out == "module\n"
    assert (ended.log["guard"]["flag"], ended.log["totals"]["fx_traces"]) == ("torch", 1)
    assert ended.log["end"]["flag_raised"] is None


class TestUnknownBuild:
    EDITED = KNOWN.replace("and not torch", "or torch")
    PROGRAM = (
        "import torch, torch.fx._symbolic_trace as t; print(type(t).__name__, t.is_fx_tracing.__code__.co_names)"
    )

    @pytest.fixture(autouse=True)
    def _edit(self, programs: Programs) -> None:
        fake_torch.write(programs.path[0], **{"fx/_symbolic_trace.py": self.EDITED})

    def test_it_is_said_and_nothing_is_changed(self, programs: Programs) -> None:
        ended = programs.run(self.PROGRAM)

        assert ended.out == "module ('_is_fx_tracing_flag',)\n"
        assert "can't be guarded" in ended.err and "_symbolic_trace.py" in ended.err
        assert ended.log["guard"]["flag"] == "unguarded"
        assert [hazard["hazard"] for hazard in ended.log["hazards"]] == ["unknown-build"]

    def test_strict_ends_the_program(self, programs: Programs) -> None:
        ended = programs.run(self.PROGRAM, ENVGUARD_GUARD="strict")

        assert ended.code == 1 and ended.out == "" and "GuardRefusedError" in ended.err

    def test_by_hand_it_is_refused(self, programs: Programs) -> None:
        ended = programs.run(
            "import sys; sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != 'Awaiting'];"
            f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
            "from envguard.runtime import guard\n"
            "try: guard.install()\nexcept guard.GuardRefusedError as error: print(error)\n"
        )

        assert "can't be guarded" in ended.out and ended.err == ""


@pytest.mark.parametrize(
    "change",
    [
        "tracing.is_fx_symbolic_tracing = lambda: False",
        "tracing.Tracer.trace = lambda self, root: root()",
        "tracing.is_fx_tracing.__code__ = (lambda: True).__code__",
        "tracing.__file__ = '/nowhere/_symbolic_trace.py'",
    ],
    ids=["function", "trace", "code", "no source"],
)
def test_what_somebody_else_replaced_is_refused(programs: Programs, change: str) -> None:
    fake_torch.write(
        programs.path[0],
        **{"__init__.py": fake_torch.FILES["__init__.py"] + f"tracing = fx._symbolic_trace\n{change}\n"},
    )

    ended = programs.run("import torch; print(type(torch.tracing).__name__)")

    assert ended.out == "module\n"
    assert "envguard: " in ended.err and ended.log["guard"]["flag"] == "unguarded"
