"""Which settings files are found, and what happens when they can't be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envguard.adapters import index_settings
from envguard.errors import SettingsInvalidError
from envguard.formats.index_settings import Sources


class World:
    """A home, a machine's settings folder and a project, all empty."""

    def __init__(self, root: Path) -> None:
        self.home, self.system, self.project = root / "home", root / "etc", root / "work" / "deep"
        for folder in (self.home, self.system, self.project):
            folder.mkdir(parents=True)
        self.environ: dict[str, str] = {}
        self.prefix: Path | None = None

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, **more: object) -> Sources:
        return index_settings.read(
            project=self.project, prefix=self.prefix, environ=self.environ, home=self.home, system=self.system,
            **more,  # type: ignore[arg-type]
        )  # fmt: skip

    def names(self) -> list[str]:
        return [index.name for index in self.read().indexes]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def uv_index(name: str) -> str:
    return f'[[index]]\nname = "{name}"\nurl = "https://{name}.example"\n'


def pip_index(name: str) -> str:
    return f"[global]\nextra-index-url = https://{name}.example\n"


def test_nothing_anywhere(world: World) -> None:
    (index,) = world.read().indexes
    assert index.name == "default"
    assert index.address.reveal() == index_settings.default_index()


class TestUv:
    def test_project_then_user_then_machine(self, world: World) -> None:
        world.write(world.project / "uv.toml", uv_index("project"))
        world.write(world.home / ".config/uv/uv.toml", uv_index("user"))
        world.write(world.system / "uv/uv.toml", uv_index("machine"))
        assert world.names() == ["project", "user", "machine", "default"]

    def test_xdg(self, world: World, tmp_path: Path) -> None:
        world.environ = {
            "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
            "XDG_CONFIG_DIRS": f"{tmp_path / 'a'}:{tmp_path / 'b'}",
        }
        world.write(tmp_path / "xdg/uv/uv.toml", uv_index("user"))
        world.write(tmp_path / "b/uv/uv.toml", uv_index("b"))
        world.write(world.home / ".config/uv/uv.toml", uv_index("not"))
        world.write(world.system / "uv/uv.toml", uv_index("not"))
        assert world.names() == ["user", "b", "default"]

    def test_a_pyproject_above(self, world: World) -> None:
        world.write(world.project / "pyproject.toml", "[project]\nname = 'x'\n")
        world.write(
            world.project.parent / "pyproject.toml",
            '[tool.uv]\nfind-links = ["wheels"]\n[[tool.uv.index]]\nname = "above"\nurl = "https://above.example"\n',
        )
        assert world.names() == ["above", "default"]
        assert world.read().find_links == (world.project.parent / "wheels",)

    def test_uv_toml_hides_the_pyproject_beside_it(self, world: World) -> None:
        world.write(world.project / "uv.toml", uv_index("file"))
        world.write(world.project / "pyproject.toml", '[tool.uv]\nindex-url = "https://not.example"\n')
        assert world.names() == ["file", "default"]

    def test_a_named_file_is_the_only_one(self, world: World, tmp_path: Path) -> None:
        world.write(world.project / "uv.toml", uv_index("not"))
        world.environ = {"UV_CONFIG_FILE": str(world.write(tmp_path / "named.toml", uv_index("named")))}
        assert world.names() == ["named", "default"]

    def test_no_files_at_all(self, world: World) -> None:
        world.write(world.project / "uv.toml", uv_index("not"))
        world.environ = {"UV_NO_CONFIG": "1", "UV_INDEX": "yes=https://yes.example"}
        assert world.names() == ["yes", "default"]


class TestPip:
    def test_the_nearest_file_counts(self, world: World, tmp_path: Path) -> None:
        expected = ["default"]
        files = [
            world.system / "xdg/pip/pip.conf",
            world.system / "pip.conf",
            world.home / ".pip/pip.conf",
            world.home / ".config/pip/pip.conf",
            tmp_path / "venv/pip.conf",
        ]
        world.prefix = tmp_path / "venv"
        assert world.names() == expected
        for number, file in enumerate(files):
            world.write(file, pip_index(f"n{number}"))
            assert world.names() == [f"n{number}", "default"]
        world.environ["PIP_CONFIG_FILE"] = str(world.write(tmp_path / "named.conf", pip_index("named")))
        assert world.names() == ["named", "default"]
        world.environ["PIP_EXTRA_INDEX_URL"] = "https://variable.example"
        assert world.names() == ["variable", "default"]

    def test_a_named_file_replaces_the_users(self, world: World, tmp_path: Path) -> None:
        world.write(world.home / ".config/pip/pip.conf", "[global]\nfind-links = /user\n")
        world.write(world.system / "pip.conf", "[global]\ncert = \nindex-url = https://machine.example\n")
        world.environ = {"PIP_CONFIG_FILE": str(world.write(tmp_path / "named.conf", pip_index("named")))}
        assert world.names() == ["named", "default"]
        assert world.read().find_links == ()

    def test_the_null_device_turns_files_off(self, world: World) -> None:
        world.write(world.system / "pip.conf", pip_index("not"))
        world.environ = {"PIP_CONFIG_FILE": os.devnull}
        assert world.names() == ["default"]


class TestBad:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("uv.toml", b"index = ["),
            ("uv.toml", b"\xff"),
            ("uv.toml", b"x = " + b"[" * 100_000),
            ("pyproject.toml", b"[tool.uv\n"),
            ("pyproject.toml", b"[tool.uv]\nindex-url = 1\n"),
            ("pip.conf", b"index-url = https://u:s3cret@h\n"),
            ("pip.conf", b"\xff"),
        ],
        ids=["cut", "not UTF-8", "deep", "cut pyproject", "wrong type", "no section", "pip not UTF-8"],
    )
    def test_files_are_named(self, world: World, name: str, content: bytes) -> None:
        path = (world.system if name == "pip.conf" else world.project) / name
        path.write_bytes(content)
        with pytest.raises(SettingsInvalidError) as raised:
            world.read()
        assert str(raised.value.where).startswith(str(path))
        assert raised.value.exit_code == 2
        assert "s3cret" not in f"{raised.value} {raised.value.where}"

    def test_a_file_that_is_too_long(self, world: World) -> None:
        (world.project / "uv.toml").write_bytes(b"#" * (5 << 20))
        with pytest.raises(SettingsInvalidError, match="longer than 4 MiB"):
            world.read()

    def test_a_file_that_cannot_be_read(self, world: World) -> None:
        path = world.project / "uv.toml"
        path.symlink_to(path)
        with pytest.raises(SettingsInvalidError, match="can't be read") as raised:
            world.read()
        assert raised.value.where == str(path)

    @pytest.mark.parametrize("content", ["tool = 1\n", "[tool]\nuv = 1\n", ""], ids=["tool", "uv", "empty"])
    def test_a_pyproject_of_another_shape_is_passed_over(self, world: World, content: str) -> None:
        world.write(world.project / "pyproject.toml", content)
        assert world.names() == ["default"]

    def test_folders_in_the_place_of_files(self, world: World) -> None:
        (world.project / "uv.toml").mkdir()
        (world.system / "pip.conf").mkdir()
        assert world.names() == ["default"]


class TestArguments:
    def test_find_links_come_first(self, world: World, tmp_path: Path) -> None:
        world.environ = {"UV_FIND_LINKS": str(tmp_path / "uv"), "PIP_FIND_LINKS": str(tmp_path / "pip")}
        sources = world.read(find_links=[tmp_path, "https://a.example/list.html"])
        assert sources.find_links == (tmp_path, tmp_path / "uv", tmp_path / "pip")
        assert [index.flat for index in sources.indexes] == [True, False]

    def test_a_folder_that_the_user_named_must_be_there(self, world: World, tmp_path: Path) -> None:
        with pytest.raises(SettingsInvalidError, match="missing") as raised:
            world.read(find_links=[str(tmp_path / "missing")])
        assert raised.value.where == "--find-links"

    def test_our_own_settings_come_before_uvs(self, world: World) -> None:
        world.environ = {"UV_INDEX": "uv=https://uv.example"}
        sources = world.read(own={"ours": "https://ours.example"})
        assert [index.name for index in sources.indexes] == ["ours", "uv", "default"]

    @pytest.mark.parametrize("name", ["PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
    def test_certificates_that_are_not_there_fail_closed(self, world: World, tmp_path: Path, name: str) -> None:
        world.environ = {name: str(tmp_path / "missing.pem")}
        with pytest.raises(SettingsInvalidError, match="certificates") as raised:
            world.read()
        assert raised.value.where == name
        (tmp_path / "missing.pem").write_text("")
        assert world.read().certificates == tmp_path / "missing.pem"
