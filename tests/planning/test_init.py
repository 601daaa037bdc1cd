"""What init proposes for a project."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from envguard.planning.init import (
    GITLAB,
    HOOKS,
    IGNORED,
    SETTINGS,
    WORKFLOW,
    Change,
    Host,
    Project,
    Proposal,
    propose,
)

EMPTY = Project({}, "lockfiles/x.toml", in_git=True, host=Host.GITHUB, version="1.2.3")


def changes(project: Project) -> dict[str, Change]:
    return {change.path: change for change in propose(project).changes}


def after(project: Project) -> Project:
    return replace(project, files={**project.files, **{path: one.after for path, one in changes(project).items()}})


@pytest.mark.parametrize("host", [*Host, None], ids=str)
@pytest.mark.parametrize(
    "files",
    [
        {},
        {SETTINGS: '[project]\nname = "x"\n', HOOKS: "repos: []\n", IGNORED: "/dist/\n", GITLAB: "stages: [x]\n"},
        {IGNORED: "# windows\r\n*.pyc", GITLAB: "x:\r\n  script: y"},
    ],
    ids=["empty", "usual", "windows"],
)
def test_a_second_time_there_is_nothing_left(host: Host | None, files: dict[str, str]) -> None:
    project = replace(EMPTY, host=host, files=files)
    assert changes(project)
    assert propose(after(project)).changes == ()


def test_what_a_new_project_gets() -> None:
    found = changes(EMPTY)
    assert set(found) == {SETTINGS, HOOKS, WORKFLOW, IGNORED}
    assert all(change.before is None for change in found.values())
    job = yaml.safe_load(found[WORKFLOW].after)["jobs"]["lint"]
    assert job["steps"][-2:] == [
        {"run": "python -m pip install envguard==1.2.3"},
        {"run": "envguard lint --format github"},
    ]
    assert found[IGNORED].after == ".venv\n.venv.before-*\n"


def test_a_workflow_that_is_there_stays() -> None:
    assert WORKFLOW not in changes(replace(EMPTY, files={WORKFLOW: "mine"}))


def test_a_job_is_added_behind_the_others() -> None:
    text = "stages: [build]\nbuild:\n  script: make"
    added = changes(replace(EMPTY, host=Host.GITLAB, files={GITLAB: text}))[GITLAB].after
    assert added.startswith(text + "\n\nenvguard:\n")
    parsed = yaml.safe_load(added)
    assert parsed["build"] == {"script": "make"}
    assert parsed["envguard"]["script"][0] == "python -m pip install envguard==1.2.3"


@pytest.mark.parametrize(
    "text", ["envguard:\n  script: x\n", "envguard lint job:\n  script: x\n", "x:\n  script: envguard lint\n"]
)
def test_a_job_of_ours_is_enough(text: str) -> None:
    assert GITLAB not in changes(replace(EMPTY, host=Host.GITLAB, files={GITLAB: text}))


def test_only_missing_lines_are_ignored_anew() -> None:
    found = changes(replace(EMPTY, files={IGNORED: "*.pyc\n  .venv  \n"}))
    assert found[IGNORED].after == "*.pyc\n  .venv  \n.venv.before-*\n"


def test_outside_the_root_of_a_repository_only_settings() -> None:
    proposal = propose(replace(EMPTY, in_git=False))
    assert [change.path for change in proposal.changes] == [SETTINGS]
    assert "not the root of a git repository" in proposal.notes[0]


def test_what_has_to_be_done_by_hand_is_told() -> None:
    proposal = propose(replace(EMPTY, host=None, files={HOOKS: "repos: [x]\n"}))
    assert HOOKS not in {change.path for change in proposal.changes}
    assert "id: envguard-lint" in proposal.notes[0]
    assert "no job is written" in proposal.notes[1]


def test_nothing_is_an_empty_proposal() -> None:
    assert propose(after(EMPTY)) == Proposal(())
