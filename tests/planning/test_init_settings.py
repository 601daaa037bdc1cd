"""[tool.envguard] in pyproject.toml: added, and nothing else touched."""

from __future__ import annotations

import tomllib

import pytest

from envguard.errors import SettingsInvalidError
from envguard.planning.init_settings import name, with_lock

LOCK = "lockfiles/good.toml"
FILES = {
    "a project": '# mine\n[project]\nname = "x"   # odd  spacing\n\n[tool.ruff]\nline-length=100\n',
    "no line end": '[project]\nname = "x"',
    "an array of tables last": '[[tool.uv.index]]\nname = "a"\nurl = "https://e.invalid"\n',
    "windows": '[project]\r\nname = "x"\r\n',
    "comments only": "# nothing yet\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_table_at_the_end(text: str) -> None:
    after = with_lock(text, LOCK)
    assert after.startswith(text)
    expected = tomllib.loads(text.replace("\r\n", "\n"))
    expected.setdefault("tool", {})["envguard"] = {"lock": LOCK}
    assert tomllib.loads(after.replace("\r\n", "\n")) == expected
    assert with_lock(after, LOCK) == after
    assert ("\r\n" in after) == ("\r\n" in text)


@pytest.mark.parametrize("text", [None, ""], ids=["none", "empty"])
def test_a_file_of_its_own(text: str | None) -> None:
    assert with_lock(text, LOCK) == f'[tool.envguard]\nlock = "{LOCK}"\n'


def test_a_table_that_is_there_gets_the_key_and_keeps_its_comments() -> None:
    head = '[tool.envguard]  # ours\n# why\npython = ".venv"\n'
    text = head + '\n[tool.envguard.policy]\nstrict = true\n\n[project]\nname = "x"\n'
    after = with_lock(text, LOCK)
    assert tomllib.loads(after)["tool"]["envguard"] == {
        "lock": LOCK,
        "python": ".venv",
        "policy": {"strict": True},
    }
    for line in text.splitlines():
        assert line in after.splitlines()


def test_a_lock_that_is_named_stays() -> None:
    text = '[tool.envguard]\nlock = "other.toml"\n'
    assert with_lock(text, LOCK) == text


REFUSED = {
    "an inline table": "tool = { ruff = { line-length = 100 } }\n",
    "tool is text": 'tool = "x"\n',
    "envguard is text": '[tool]\nenvguard = "x"\n',
    "not TOML": "[tool\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_can_not_be_added_to_is_refused(text: str) -> None:
    with pytest.raises(SettingsInvalidError) as caught:
        with_lock(text, LOCK)
    assert caught.value.where == "pyproject.toml"


NAMES = {
    "project": ('[project]\nname = "a-b"\n', "a-b"),
    "poetry": ('[tool.poetry]\nname = "p"\n', "p"),
    "none": ("[tool]\n", None),
    "odd": ("[project]\nname = 1\n", None),
    "no file": (None, None),
}


@pytest.mark.parametrize(("text", "expected"), NAMES.values(), ids=NAMES.keys())
def test_names(text: str | None, expected: str | None) -> None:
    assert name(text) == expected
