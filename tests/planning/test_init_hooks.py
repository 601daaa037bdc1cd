"""The hook's place in .pre-commit-config.yaml: every byte stays, and YAML sees one more entry."""

from __future__ import annotations

import re

import pytest
import yaml

from envguard.planning.init_hooks import ENTRY, with_hook

OURS = yaml.safe_load(ENTRY)[0]
OTHER = """\
repos:
  - repo: https://e.invalid/black
    rev: v1
    hooks:
      - id: black
"""
FILES = {
    "usual": OTHER,
    "list at the margin": "repos:\n- repo: local\n  hooks:\n  - id: x\n    name: x\n    entry: x\n",
    "keys behind": OTHER + "default_stages: [pre-commit]\nci:\n  skip: [x]\n",
    "keys before": "minimum_pre_commit_version: '3'\n" + OTHER,
    "margin and keys behind": "repos:\n- repo: local\n  hooks: []\nfail_fast: true\n",
    "comments": "# head\nrepos:  # all\n  # first\n"
    + OTHER.partition("\n")[2]
    + "\n# behind\n\nfail_fast: true\n",
    "comment at the end": OTHER + "\n  # - repo: old\n",
    "no line end": OTHER.rstrip("\n"),
    "document marks": "---\n" + OTHER + "...\n",
    "empty list": "repos: []\nfail_fast: true\n",
    "empty list with a comment": "repos: []  # none yet\n",
    "no entry": "repos:\n",
    "no entry, keys behind": "repos:\n\nfail_fast: true\n",
    "quoted": OTHER.replace("repos", '"repos"'),
    "a block text with a dash": OTHER + "        args: [-x]\n        entry: |\n          - not an item\n",
    "deeper": OTHER.replace("\n  ", "\n      "),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_one_more_entry_and_nothing_else(text: str, end: str) -> None:
    before = text.replace("\n", end)
    after = with_hook(before)
    assert after is not None
    expected = yaml.safe_load(before)
    expected["repos"] = [*(expected["repos"] or []), OURS]
    assert yaml.safe_load(after) == expected
    kept = iter(after.splitlines())
    for line in before.splitlines():
        if "[]" not in line or line.startswith(" "):
            assert line in kept, line
    assert with_hook(after) == after
    assert not re.search(r"(?<!\r)\n", after) if end == "\r\n" else "\r" not in after


@pytest.mark.parametrize("text", [None, "", "\n \n"], ids=["none", "empty", "blank"])
def test_a_file_of_its_own(text: str | None) -> None:
    made = with_hook(text)
    assert yaml.safe_load(made or "") == {"repos": [OURS]}


CANT = {
    "a flow list": "repos: [{repo: local, hooks: []}]\n",
    "an anchor": "repos: &all\n  - repo: local\n    hooks: []\n",
    "no repos": "fail_fast: true\n",
    "no list": "repos:\n  a: b\n",
}


@pytest.mark.parametrize("text", CANT.values(), ids=CANT.keys())
def test_what_can_not_be_added_to_is_left(text: str) -> None:
    assert with_hook(text) is None


@pytest.mark.parametrize("line", ["id: envguard-lint", 'id: "envguard-verify"'])
def test_a_hook_of_ours_is_enough(line: str) -> None:
    text = OTHER + f"  - repo: https://e.invalid/envguard\n    hooks:\n      - {line}\n"
    assert with_hook(text) == text


FILENAMES = {
    "lockfiles/good-5t3d.toml": True,
    "sub/lockfiles/x.toml": True,
    "pyproject.toml": True,
    "a/pyproject.toml": True,
    "uv.lock": True,
    "pylock.toml": True,
    "pylock.dev.toml": True,
    "requirements.txt": True,
    "requirements-dev.txt": True,
    "environment.yml": True,
    "Dockerfile": True,
    "train.py": False,
    "lockfiles/deep/x.toml": False,
    "mypyproject.toml": False,
}


@pytest.mark.parametrize(("path", "meant"), FILENAMES.items())
def test_which_files_start_it(path: str, meant: bool) -> None:
    assert bool(re.search(OURS["hooks"][0]["files"], path)) == meant
