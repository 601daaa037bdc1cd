from __future__ import annotations

import sys

import pytest

from envguard.cli.main import main

START = ["warmup", "--rehearse", "--python", sys.executable]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--topology", "many", "--devices", "cpu"], "not a topology: 'many'", id="topology"),
        pytest.param(["--topology", "2t1d", "--devices", "gpu"], "not a device: 'gpu'", id="device"),
        pytest.param(["--topology", "2t1d"], "which devices the threads share is not told", id="no-devices"),
        pytest.param(["missing.toml"], "missing.toml", id="no-lock"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main([*START, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_target_without_torch_can_not_be_rehearsed(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*START, "--topology", "1t1d", "--devices", "cpu", "-q"])

    assert code == 3
    told = capsys.readouterr()
    assert "error[rehearsal-failed]" in told.err and "No module named 'torch'" in told.err
    assert told.out == ""
