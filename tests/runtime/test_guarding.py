"""Settings, dense calls and late compiles, with the small torch."""

from __future__ import annotations

import pytest

from tests.runtime.conftest import Programs

GUARD = "import torch._dynamo\nfrom envguard.runtime import guard\nconfig = torch._dynamo.config\n"
COMPILE = "torch._dynamo.convert_frame._compile((lambda: 0).__code__)\n"
BACKWARD = (
    "with torch._dynamo.callback.callback_handler.install_callbacks("
    "torch._dynamo.callback.CallbackTrigger.LAZY_BACKWARD, '0'): pass\n"
)
TELL = "except Exception as error: print(type(error).__name__, error)\n"


@pytest.mark.parametrize(
    "variable",
    ["TORCHDYNAMO_DISABLE=1", "TORCH_COMPILE_DISABLE=1", "TORCHDYNAMO_SUPPRESS_ERRORS=0"],
)
def test_a_variable_that_hides_failures_ends_the_import(programs: Programs, variable: str) -> None:
    name, _, value = variable.partition("=")

    programs.environ[name] = value

    ended = programs.run("import torch")

    assert ended.code == 1 and f"{variable} is refused" in ended.err
    assert ended.log["hazards"][0]["detail"] == variable


def test_a_variable_that_is_off_is_fine(programs: Programs) -> None:
    assert programs.run("import torch", TORCHDYNAMO_DISABLE="0", TORCH_COMPILE_DISABLE="0").code == 0


@pytest.mark.parametrize(
    "setting", ["error_on_nested_fx_trace = False", "suppress_errors = True", "disable = True"]
)
@pytest.mark.parametrize(
    "call", ["guard.first_step('cpu')", "guard.warm()", COMPILE.strip()], ids=["step", "warm", "compile"]
)
def test_a_setting_that_hides_failures_is_refused(programs: Programs, setting: str, call: str) -> None:
    ended = programs.run(f"{GUARD}config.{setting}\ntry: {call}\n{TELL}print(config.suppress_errors)")

    assert ended.out.startswith(f"GuardRefusedError torch._dynamo.config.{setting} is refused (thread MainThread")
    if call.startswith("torch"):
        assert ended.out.endswith("False\n")  # torch would swallow the refusal


def test_observed_it_is_only_noted(programs: Programs) -> None:
    ended = programs.run(
        f"{GUARD}config.suppress_errors = True\nguard.warm()\n{COMPILE}", ENVGUARD_GUARD="observe"
    )

    assert (ended.code, ended.err) == (0, "")
    assert {hazard["hazard"] for hazard in ended.log["hazards"]} == {"dangerous-setting", "compile-after-warm"}
    assert ended.log["end"]["settings"] == ["torch._dynamo.config.suppress_errors = True"]


@pytest.mark.parametrize("what", [COMPILE, BACKWARD], ids=["frame", "backward"])
class TestAfterWarm:
    def test_error(self, programs: Programs, what: str) -> None:
        ended = programs.run(f"{GUARD}{what}guard.warm('error')\ntry:\n    {what}{TELL}")

        assert ended.out.startswith("CompileAfterWarmError ")
        assert "(thread MainThread, device cpu)" in ended.out and "called from " in ended.out
        assert ended.log["totals"]["compiles_after_warm"] == 1

    def test_warning(self, programs: Programs, what: str) -> None:
        ended = programs.run(f"{GUARD}guard.warm()\n{what}print('on')")

        assert ended.out == "on\n" and "was compiled after guard.warm()" in ended.err

    def test_count(self, programs: Programs, what: str) -> None:
        ended = programs.run(f"{GUARD}guard.warm()\n{what}print('on')", ENVGUARD_AFTER_WARM="count")

        assert (ended.out, ended.err) == ("on\n", "")
        assert ended.log["totals"]["compiles_after_warm"] == 1


def test_an_unknown_word_for_warm_is_refused_and_one_in_a_variable_told(programs: Programs) -> None:
    ended = programs.run(f"{GUARD}try: guard.warm('loud')\n{TELL}guard.warm()", ENVGUARD_AFTER_WARM="loud")

    assert ended.out.startswith("ValueError") and "ENVGUARD_AFTER_WARM=loud" in ended.err
    assert ended.log["guard"]["after_warm"] == "warning"


DENSE = (
    "from envguard.runtime import guard\nimport torch, torch._higher_order_ops.flex_attention as flex\n"
    "real, fake = torch.Tensor(2, 4, 1024, 64), type('FakeTensor', (torch.Tensor,), {})(2, 4, 1024, 64)\n"
)


class TestDense:
    def test_real_tensors_are_an_error(self, programs: Programs) -> None:
        ended = programs.run(f"{DENSE}try: flex.math_attention(real, real, real)\n{TELL}")

        assert ended.out.startswith(
            "DenseAttentionError flex_attention ran without torch.compile (thread MainThread"
        )
        assert "2 × 4 × 1024 × 1024 would take 0.0312 GiB" in ended.out
        assert ended.log["totals"]["dense_calls"] == 1

    def test_the_fake_ones_of_a_trace_are_not(self, programs: Programs) -> None:
        ended = programs.run(f"{DENSE}print(flex.math_attention(fake, fake, fake))")

        assert ended.out == "dense\n" and ended.log["totals"]["dense_calls"] == 0

    @pytest.mark.parametrize("word", ["warning", "count"])
    def test_it_can_be_less(self, programs: Programs, word: str) -> None:
        ended = programs.run(f"{DENSE}print(flex.math_attention(real, real, real))", ENVGUARD_DENSE=word)

        assert ended.out == "dense\n" and ("RuntimeWarning" in ended.err) == (word == "warning")

    def test_where_it_is_meant_it_is_counted(self, programs: Programs) -> None:
        ended = programs.run(f"{DENSE}with guard.dense(): print(flex.math_attention(real, real, real))")

        assert ended.out == "dense\n"
        assert (ended.log["totals"]["dense_calls"], ended.log["hazards"]) == (1, [])

    def test_a_build_without_that_function_falls_back_on_torch_s_warning(self, programs: Programs) -> None:
        file = programs.path[0] / "torch/_higher_order_ops/flex_attention.py"
        file.write_text("")
        ended = programs.run(
            "import torch, torch._higher_order_ops.flex_attention, warnings\n"
            "try: warnings.warn('flex_attention called without torch.compile() - this will use')\n"
            f"{TELL}"
        )

        assert ended.out.startswith("UserWarning") and ended.log["guard"]["followed"] == {"dense calls": False}


def test_a_build_that_compiles_elsewhere_goes_uncounted_and_the_log_says_so(programs: Programs) -> None:
    (programs.path[0] / "torch/_dynamo/convert_frame.py").write_text("")
    (programs.path[0] / "torch/_dynamo/utils.py").write_text("counters = {}\n")

    ended = programs.run("import torch._dynamo")

    assert (ended.code, ended.err) == (0, "")
    assert ended.log["guard"]["followed"] == {
        "backward compiles": True,
        "cache counters": False,
        "compiles": False,
    }


def test_the_caller_s_device_goes_into_the_counts(programs: Programs) -> None:
    ended = programs.run(f"{GUARD}with guard.first_step(3):\n    {COMPILE}")

    assert ended.log["counts"] == [{"device": "cuda:3", "thread": "MainThread", "compiles": 1}]
    assert ended.log["first_steps"]["passed"] == 1
