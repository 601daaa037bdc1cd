"""The example: its parts against references, and whole on the CPU, with threads and with processes."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.conftest import Programs
from tests.runtime.conftest import real as real

EXAMPLE = Path(__file__).parents[2] / "examples" / "dflash"
CHECKS = Path(__file__).parent / "programs" / "checks.py"
NAMES = re.findall(r"^def ((?!main)\w+)\(\) -> None:", CHECKS.read_text(), re.M)


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "config", raising=False)
    module = importlib.import_module("config")
    monkeypatch.delitem(sys.modules, "config")
    return module


@pytest.mark.parametrize(
    ("devices", "placed"),
    [
        pytest.param(["cuda:0", "cuda:1"], "0 1 0 1 0 1 0 1", id="two-devices"),
        pytest.param([f"cuda:{index}" for index in range(8)], "0 1 2 3 4 5 6 7", id="one-a-role"),
    ],
)
def test_roles_take_devices_in_turn(config: Any, devices: list[str], placed: str) -> None:
    roles = config.roles("5t3d", devices)

    assert [role.name for role in roles][-4:] == ["target-4", "drafter-0", "drafter-1", "drafter-2"]
    assert " ".join(role.device[-1] for role in roles) == placed


@pytest.mark.parametrize("text", ["", "5t", "t3d", "0t1d", "5t3d1x", "100t1d"])
def test_a_configuration_that_is_none(config: Any, text: str) -> None:
    with pytest.raises(ValueError, match="not a configuration"):
        config.roles(text, ["cpu"])


@pytest.fixture(scope="module")
def checked(torch_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("checks")
    environ = {"ENVGUARD_GUARD": "off", "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
    ended = Programs(folder, torch_environment / "bin" / "python", environ=environ).run(CHECKS)
    assert ended.code == 0, ended.err
    answer: dict[str, str] = json.loads(ended.out.splitlines()[-1])
    return answer


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_part(checked: dict[str, str], name: str) -> None:
    assert checked[name] == ""


def trained(real: Programs, *arguments: str) -> tuple[Any, Any]:
    """Whatever else the machine has to do: about a minute where it has nothing."""
    result = real.folder / "result.json"
    start = ("--devices", "cpu", "--deadline", "1400", "--json", str(result))
    ended = real.run(EXAMPLE / "train.py", *start, *arguments, timeout=1500)
    assert ended.code == 0, ended.out + ended.err
    return json.loads(result.read_text()), ended


@pytest.mark.torch
@pytest.mark.slow
def test_drafters_learn_in_threads_under_the_guard_and_a_second_start_compiles_nothing(real: Programs) -> None:
    cold, ended = trained(real, "--config", "2t1d")

    (drafter,) = (worker for worker in cold["workers"] if worker["name"] == "drafter-0")
    assert sum(drafter["losses"][-5:]) < 0.95 * sum(drafter["losses"][:5])
    assert drafter["acceptance"] > 1.3 > cold["untrained"]
    log = ended.log
    assert log["guard"]["flag"] in ("guard", "torch") and log["hazards"] == []
    assert log["first_steps"]["passed"] == 3 and log["guard"]["after_warm"] == "warning"
    assert log["totals"]["dense_calls"] == 0 and log["totals"]["compiles_after_warm"] == 0
    assert {row["thread"] for row in log["throughput"]} == {"target-0", "target-1", "drafter-0"}

    _, again = trained(real, "--config", "2t1d", "--steps", "3", "--pretraining", "1")
    assert again.log["totals"]["autograd_misses"] == 0 < again.log["totals"]["autograd_hits"]
    assert again.log["totals"]["graph_misses"] == 0


@pytest.mark.nightly
@pytest.mark.torch
@pytest.mark.slow
def test_drafters_learn_in_processes(real: Programs) -> None:
    result, _ = trained(real, "--processes", "--steps", "4", "--pretraining", "2")

    assert [worker["name"] for worker in result["workers"]] == ["drafter-0", "target-0"]
    assert all(worker["error"] is None for worker in result["workers"])
    assert {row["thread"] for log in real.logs() for row in log["throughput"]} == {"MainThread"}


@pytest.mark.nightly
@pytest.mark.torch
@pytest.mark.slow
def test_without_the_guard_there_is_no_log(real: Programs) -> None:
    _, ended = trained(real, "--no-guard", "--steps", "2", "--pretraining", "1")

    assert ended.log == {}


@pytest.mark.torch
@pytest.mark.slow
def test_a_worker_that_fails_ends_the_others(real: Programs) -> None:
    broken = "import workers\ndef fails(*_): raise RuntimeError('on purpose')\nworkers._draft = fails\n"
    program = f"import sys\nsys.path.insert(0, {str(EXAMPLE)!r})\n{broken}import train\n" + (
        "sys.exit(train.main(['--devices', 'cpu', '--steps', '2', '--pretraining', '1']))"
    )

    ended = real.run(program, timeout=1500, ENVGUARD_GUARD="off")

    assert ended.code == 1, ended.err
    assert "drafter-0 (cpu) failed: RuntimeError: on purpose" in ended.out
