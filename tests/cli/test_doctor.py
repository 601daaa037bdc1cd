"""``envguard doctor``, called as a user calls it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from envguard.cli.main import main

SCHEMAS = Path(__file__).parents[2] / "docs" / "schema"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--python", sys.executable, "--threads", "cpu", "--format", "json"])

    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads((SCHEMAS / "doctor-1.json").read_text()))
    assert document["exit_code"] == code and document["lock"] is None
    assert document["schema"] == "envguard-doctor-1"


def test_text_sums_up(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--python", sys.executable])

    assert "may apply" in capsys.readouterr().out.splitlines()[-1]


def test_a_thread_s_device_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--python", sys.executable, "--threads", "gpu0"]) == 2
    assert "not a device: 'gpu0'" in capsys.readouterr().err


def test_a_lock_that_is_not_there_is_an_error() -> None:
    assert main(["doctor", "missing.toml", "--python", sys.executable]) == 2
