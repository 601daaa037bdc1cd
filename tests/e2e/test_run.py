"""A run as a new user starts one, on real torch: no change to the script; ranks with another build are named."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Place

pytestmark = [pytest.mark.torch, pytest.mark.slow]

TRAIN = """\
import torch
model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
step = torch.compile(lambda batch: model(batch).pow(2).mean())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(5):
    loss = step(torch.randn(8, 16))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item() > 0)
"""
RANK = """\
import torch.distributed as dist
dist.init_process_group("gloo")
print("step of rank", dist.get_rank(), flush=True)
dist.destroy_process_group()
"""


def logs(place: Place) -> list[Path]:
    """Folders of runs, in order."""
    return sorted((Path(place.environ["ENVGUARD_STATE_DIR"]) / "runs" / "good").iterdir())


def test_a_script_of_ten_lines(place: Place, good: Path, tmp_path: Path) -> None:
    """Twice: compiled, then all from the cache; the good one is recorded, and a cold third is held against it."""
    assert len(TRAIN.splitlines()) == 10
    (place.folder / "train.py").write_text(TRAIN)
    command = ("run", "lockfiles/good.toml", "--python", good, "--cache")
    for _ in range(2):
        ended = place.run(*command, tmp_path / "cache", "--", "python", "train.py")
        assert (ended.code, ended.out) == (0, "True\n"), ended.err
        assert "preflight:" in ended.err and "run log:" in ended.err
    cold, warm = logs(place)[-2:]

    counted = [json.loads(next(folder.glob("run.*.json")).read_text())["totals"] for folder in (cold, warm)]
    assert counted[0]["autograd_misses"] > 0 and counted[0]["autograd_hits"] == 0
    assert counted[1]["autograd_misses"] == 0 and counted[1]["autograd_hits"] == counted[0]["autograd_misses"]
    assert counted[1]["fx_traces"] == 0

    recording = ("snapshot", "-o", "run.toml", "--python", good, "--offline", "--no-archive", "--run")
    taken = place.run(*recording, warm)
    assert taken.code == 0, taken.err
    assert place.run("verify", "run.toml", "--python", good, "--run", warm).code == 0
    held = place.run("verify", "run.toml", "--python", good, "--run", cold)
    assert held.code == 1 and "a start that compiles" in held.out


def test_a_rank_with_another_build_is_named_before_the_first_step(
    place: Place, good: Path, tmp_path: Path
) -> None:
    library = next(good.glob("lib/python*/site-packages"))
    shadow = tmp_path / "shadow" / "torch"
    shadow.mkdir(parents=True)
    for entry in (library / "torch").iterdir():
        if entry.name not in ("version.py", "__pycache__"):
            (shadow / entry.name).symlink_to(entry)
    text = (library / "torch" / "version.py").read_text()
    commit = text.partition("git_version = '")[2].partition("'")[0]
    assert len(commit) == 40
    (shadow / "version.py").write_text(text.replace(commit, "0123456789" * 4))
    (place.folder / "rank.py").write_text(RANK)
    start = place.folder / "start.sh"
    start.write_text(
        f'#!/bin/sh\n[ "$RANK" = 2 ] && PYTHONPATH="$PYTHONPATH:{shadow.parent}" && export PYTHONPATH\n'
        "exec python rank.py\n"
    )
    start.chmod(0o755)

    ended = subprocess.run(
        [
            *(place.tool, "run", "lockfiles/good.toml", "--python", good, "--force", "variables", "--"),
            *("torchrun", "--standalone", "--nproc-per-node", "4", "--no-python", start),
        ],
        capture_output=True,
        text=True,
        cwd=place.folder,
        env={**place.environ, "OMP_NUM_THREADS": "1"},
        timeout=240,
        check=False,
    )

    assert ended.returncode == 1, ended.stderr
    assert "step of rank" not in ended.stdout
    reports = [line for line in ended.stderr.splitlines() if line.startswith("envguard: ranks differ: ")]
    assert len(reports) == 1
    assert reports[0].startswith(f"envguard: ranks differ: rank 2 ({os.uname().nodename}): ")
    assert f"torch commit 0123456789, others {commit[:10]}" in reports[0]
    assert not any(f"rank {other} (" in reports[0] for other in (0, 1, 3))
