from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from envguard.adapters.target import choose
from envguard.errors import EnvguardError, TargetBrokenError, TargetInvalidError, UsageError
from envguard.model.target import Target
from tests.pythons import fake


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """An empty working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def environment(folder: Path, *, name: str = "python", settings: bool = True) -> Path:
    python = fake(folder / "bin" / name, "exit 0")
    if settings:
        (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return python


def raises(kind: type[EnvguardError], *arguments: object) -> EnvguardError:
    with pytest.raises(kind) as caught:
        choose(*arguments)  # type: ignore[arg-type]
    assert "--python" in (caught.value.hint or "")
    return caught.value


class TestOrder:
    def test_each_yields_to_the_one_before(self, here: Path, tmp_path: Path) -> None:
        named, configured, conda, virtual = (
            environment(tmp_path / name) for name in ("named", "configured", "conda", "virtual")
        )
        local = environment(here / ".venv")
        environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "VIRTUAL_ENV": str(tmp_path / "virtual")}
        assert choose(named, configured, here, environ) == Target(named, "--python")
        assert choose(None, configured, here, environ) == Target(configured, "configured")
        assert choose(None, None, here, environ) == Target(local, ".venv")
        (here / ".venv").rename(here / "other")
        assert choose(None, None, here, environ) == Target(conda, "CONDA_PREFIX")
        del environ["CONDA_PREFIX"]
        assert choose(None, None, here, environ) == Target(virtual, "VIRTUAL_ENV")
        del environ["VIRTUAL_ENV"]
        raises(UsageError, None, None, here, environ)

    def test_envguards_own_environment_is_not_meant(self, here: Path, tmp_path: Path) -> None:
        python = environment(tmp_path / "tool")
        link = tmp_path / "link"
        link.symlink_to(tmp_path / "tool")
        environ = {"VIRTUAL_ENV": str(link)}
        raises(UsageError, None, None, here, environ, tmp_path / "tool")
        assert choose(None, None, here, environ, tmp_path).python == link / "bin" / "python"
        assert choose(python, None, here, environ, tmp_path / "tool").python == python

    def test_the_default_own_environment_is_this_pythons(self, here: Path) -> None:
        raises(UsageError, None, None, here, {"VIRTUAL_ENV": sys.prefix})

    @pytest.mark.parametrize("name", ["base", "root"])
    def test_condas_base_comes_last(self, name: str, here: Path, tmp_path: Path) -> None:
        conda, virtual = environment(tmp_path / "conda", settings=False), environment(tmp_path / "virtual")
        environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "CONDA_DEFAULT_ENV": name}
        assert choose(None, None, here, environ) == Target(conda, "CONDA_PREFIX")
        environ["VIRTUAL_ENV"] = str(tmp_path / "virtual")
        assert choose(None, None, here, environ) == Target(virtual, "VIRTUAL_ENV")

    def test_an_empty_variable_is_none(self, here: Path) -> None:
        raises(UsageError, None, None, here, {"VIRTUAL_ENV": "", "CONDA_PREFIX": ""})

    def test_a_conda_environment_without_python_is_passed_over(self, here: Path, tmp_path: Path) -> None:
        (tmp_path / "conda").mkdir()
        virtual = environment(tmp_path / "virtual")
        environ = {"CONDA_PREFIX": str(tmp_path / "conda"), "VIRTUAL_ENV": str(tmp_path / "virtual")}
        assert choose(None, None, here, environ).python == virtual

    @pytest.mark.parametrize("kind", ["folder", "file"])
    def test_a_dot_venv_that_is_no_environment_is_passed_over(self, kind: str, here: Path, tmp_path: Path) -> None:
        (here / ".venv").mkdir() if kind == "folder" else (here / ".venv").write_text("name")
        virtual = environment(tmp_path / "virtual")
        assert choose(None, None, here, {"VIRTUAL_ENV": str(tmp_path / "virtual")}).python == virtual

    def test_a_dot_venv_that_lost_its_interpreter_is_told(self, here: Path) -> None:
        environment(here / ".venv").unlink()
        error = raises(TargetBrokenError, None, None, here, {})
        assert error.where == str(here / ".venv")

    def test_a_dangling_interpreter_is_chosen_so_that_it_is_told(self, here: Path) -> None:
        (here / ".venv" / "bin").mkdir(parents=True)
        link = here / ".venv" / "bin" / "python"
        link.symlink_to("/not/there")
        assert choose(None, None, here, {}) == Target(link, ".venv")


class TestNamed:
    def test_links_are_not_resolved(self, here: Path, tmp_path: Path) -> None:
        python = environment(tmp_path / "env")
        link = here / "python3.12"
        link.symlink_to(python)
        assert choose(link, None, here, {}).python == link

    def test_an_environment_folder(self, here: Path, tmp_path: Path) -> None:
        python = environment(tmp_path / "env")
        assert choose(tmp_path / "env", None, here, {}).python == python

    def test_a_folder_with_another_name_for_it(self, here: Path, tmp_path: Path) -> None:
        python = environment(tmp_path / "env", name="python3", settings=False)
        assert choose(tmp_path / "env", None, here, {}).python == python

    def test_a_windows_environment(self, here: Path, tmp_path: Path) -> None:
        python = fake(tmp_path / "env" / "Scripts" / "python.exe", "exit 0")
        assert choose(tmp_path / "env", None, here, {}).python == python

    def test_a_relative_path_is_taken_from_the_working_folder(self, here: Path) -> None:
        python = environment(here / "deep" / "env")
        assert choose(Path("deep/env"), None, here, {}).python == python
        assert choose(Path("deep/env/bin/python"), None, here, {}).python == python

    def test_a_name_that_is_an_environment_here(self, here: Path) -> None:
        python = environment(here / "env")
        assert choose(Path("env"), None, here, {"PATH": os.defpath}).python == python

    def test_a_command_on_the_path(self, here: Path, tmp_path: Path) -> None:
        python = fake(tmp_path / "tools" / "python3.12", "exit 0")
        environ = {"PATH": f"/not/there:{tmp_path / 'tools'}"}
        assert choose(Path("python3.12"), None, here, environ) == Target(python, "--python")

    def test_a_folder_of_that_name_does_not_hide_the_command(self, here: Path, tmp_path: Path) -> None:
        python = fake(tmp_path / "tools" / "python", "exit 0")
        (here / "python").mkdir()
        assert choose(Path("python"), None, here, {"PATH": str(tmp_path / "tools")}).python == python

    def test_a_program_here_and_one_on_the_path_are_not_guessed_between(self, here: Path, tmp_path: Path) -> None:
        fake(tmp_path / "tools" / "python", "exit 0")
        local = fake(here / "python", "exit 0")
        environ = {"PATH": str(tmp_path / "tools")}
        error = raises(UsageError, Path("python"), None, here, environ)
        assert str(local) in (error.where or "")
        assert choose(local, None, here, environ).python == local

    def test_the_same_program_here_and_on_the_path(self, here: Path, tmp_path: Path) -> None:
        local = fake(here / "python", "exit 0")
        assert choose(Path("python"), None, here, {"PATH": str(here)}).python == local

    def test_a_program_here_only(self, here: Path) -> None:
        local = fake(here / "mypython", "exit 0")
        assert choose(Path("mypython"), None, here, {"PATH": "/not/there"}).python == local

    def test_what_is_not_there_is_left_to_the_look(self, here: Path) -> None:
        assert choose(Path("no-such"), None, here, {"PATH": "/not/there"}).python == here / "no-such"

    def test_home(self, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        python = environment(tmp_path / "env")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert choose(None, Path("~/env"), here, {}) == Target(python, "configured")

    def test_a_home_of_nobody_is_taken_as_it_is(self, here: Path) -> None:
        assert choose(Path("~no-such-user/env"), None, here, {}).python == here / "~no-such-user" / "env"

    def test_a_folder_that_is_no_environment(self, here: Path, tmp_path: Path) -> None:
        error = raises(TargetInvalidError, tmp_path, None, here, {"PATH": ""})
        assert error.where == str(tmp_path)

    def test_the_folder_of_scripts_itself(self, here: Path, tmp_path: Path) -> None:
        python = environment(tmp_path / "env")
        error = raises(TargetInvalidError, tmp_path / "env" / "bin", None, here, {})
        assert str(python) in (error.hint or "")

    def test_an_environment_that_lost_its_interpreter(self, here: Path, tmp_path: Path) -> None:
        environment(tmp_path / "env").unlink()
        raises(TargetBrokenError, tmp_path / "env", None, here, {})
