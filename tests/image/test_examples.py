"""What starts the image elsewhere: the arguments it gives are ones that the Dockerfile takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def arguments() -> set[str]:
    return set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))


def devcontainer() -> dict[str, Any]:
    lines = (ROOT / ".devcontainer" / "devcontainer.json").read_text().splitlines()
    document: dict[str, Any] = json.loads("\n".join(line for line in lines if not line.startswith("//")))
    return document


def test_devcontainer() -> None:
    document = devcontainer()
    build = document["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (ROOT / ".devcontainer" / build["context"]).resolve() == ROOT
    assert set(build["args"]) <= arguments()
    assert document["hostRequirements"] == {"gpu": "optional"}
    assert (
        f'useradd --uid "${{USER_ID}}" --create-home {document["remoteUser"]}' in (ROOT / "Dockerfile").read_text()
    )


def test_compose() -> None:
    document = yaml.safe_load((ROOT / "examples" / "compose.yaml").read_text())
    service = document["services"]["train"]
    assert (ROOT / "examples" / service["build"]["context"]).resolve() == ROOT
    assert set(service["build"]["args"]) <= arguments()
    device = service["deploy"]["resources"]["reservations"]["devices"][0]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    volumes = [entry.split(":")[1] for entry in service["volumes"]]
    made = re.search(
        r"install --directory --owner=envguard (.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE
    )
    assert made is not None
    assert set(volumes) <= set(made[1].split())


def test_both_verify_what_the_image_verifies() -> None:
    words = ["envguard", "verify", "--python", "/opt/envguard/env", "/opt/envguard/lock.toml"]
    assert f"CMD {json.dumps(words)}" in (ROOT / "Dockerfile").read_text()
    assert devcontainer()["postStartCommand"] == words
    assert " ".join(words) in (ROOT / "examples" / "compose.yaml").read_text()
