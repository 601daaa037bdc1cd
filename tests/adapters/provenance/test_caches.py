"""Where the caches are."""

from __future__ import annotations

from pathlib import Path

import pytest

from envguard.adapters.provenance.caches import pip_cache_folder, uv_cache_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.platform", "linux")
    for folder in ("named", "set", "xdg/uv", "xdg/pip", ".cache/uv", ".cache/pip"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def _uv_toml(folder: Path, text: str) -> None:
    (folder / "uv").mkdir(parents=True, exist_ok=True)
    (folder / "uv" / "uv.toml").write_text(text)


@pytest.mark.parametrize(
    ("variables", "uv", "pip"),
    [
        pytest.param({"UV_CACHE_DIR": "named", "PIP_CACHE_DIR": "named"}, "named", "named", id="named"),
        pytest.param({"XDG_CACHE_HOME": "xdg"}, "xdg/uv", "xdg/pip", id="XDG"),
        pytest.param({}, ".cache/uv", ".cache/pip", id="default"),
        pytest.param({"UV_CACHE_DIR": "none", "PIP_CACHE_DIR": "none"}, None, None, id="not there"),
        pytest.param({"UV_CACHE_DIR": "", "PIP_CACHE_DIR": ""}, ".cache/uv", ".cache/pip", id="empty"),
    ],
)
def test_places(home: Path, variables: dict[str, str], uv: str | None, pip: str | None) -> None:
    environ = {name: value and str(home / value) for name, value in variables.items()} | {"HOME": str(home)}
    assert uv_cache_folder(environ) == (uv and home / uv)
    assert pip_cache_folder(environ) == (pip and home / pip)


def test_nothing_is_known() -> None:
    assert uv_cache_folder({}) is None
    assert pip_cache_folder({}) is None


def test_a_relative_name_is_made_absolute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert uv_cache_folder({"UV_CACHE_DIR": "named"}) == home / "named"


def test_uv_toml_names_it(home: Path) -> None:
    _uv_toml(home / ".config", f'cache-dir = "{home}/set"\n')
    assert uv_cache_folder({"HOME": str(home)}) == home / "set"
    assert uv_cache_folder({"HOME": str(home), "UV_CACHE_DIR": str(home / "named")}) == home / "named"


@pytest.mark.parametrize("text", ["cache-dir = 5\n", "= broken", "", 'cache-dir = ""\n'])
def test_a_uv_toml_that_names_none(home: Path, text: str) -> None:
    _uv_toml(home / "config", text)
    assert uv_cache_folder({"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}) == home / ".cache/uv"


@pytest.mark.parametrize(
    ("platform", "variable", "uv", "pip"),
    [
        pytest.param("darwin", "HOME", ".cache/uv", "Library/Caches/pip", id="macOS"),
        pytest.param("win32", "LOCALAPPDATA", "uv/cache", "pip/Cache", id="Windows"),
    ],
)
def test_other_systems(
    home: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, uv: str, pip: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    for folder in (uv, pip):
        (home / folder).mkdir(parents=True, exist_ok=True)
    assert uv_cache_folder({variable: str(home)}) == home / uv
    assert pip_cache_folder({variable: str(home)}) == home / pip
