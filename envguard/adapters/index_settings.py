"""Find and read the settings that say where wheels can be had from: envguard's, uv's and pip's."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envguard.errors import SettingsInvalidError
from envguard.formats import index_settings, pip_settings, uv_settings
from envguard.formats.index_settings import Sources, Wish, Wishes

_CAP = 4 << 20


def read(
    *,
    find_links: Sequence[str | Path] = (),
    own: object = None,
    own_where: str = "pyproject.toml: tool.envguard.index",
    project: Path | None = None,
    prefix: Path | None = None,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
    system: Path = Path("/etc"),
) -> Sources:
    """All places, in this order: ``find_links`` as named by the user, ``own``, uv's settings, pip's settings.

    ``own`` is the value of ``[tool.envguard.index]``; ``project`` the folder from which uv's settings are looked
    for upwards (the working folder when left out); ``prefix`` the target environment, whose pip.conf counts;
    ``system`` the folder of settings for the whole machine. SettingsInvalidError names file and key.
    """
    environ = os.environ if environ is None else environ
    home = Path.home() if home is None else home
    here = (Path.cwd() if project is None else project).absolute()
    tools = [Wishes(find_links=tuple(Wish(str(text), "--find-links", Path.cwd()) for text in find_links))]
    if own is not None:
        tools.append(uv_settings.own(own, own_where, here))
    tools.append(_uv(environ, here, home, system))
    tools.append(_pip(environ, here, home, system, prefix))
    tools.append(index_settings.certificates(environ, here))
    sources = index_settings.combine(tools, default=default_index(), home=home, environ=environ)
    _refuse_missing(sources, tools, home)
    return sources


def default_index() -> str:
    """The default index's address, as the library that speaks its protocol knows it."""
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    return PYPI_SIMPLE_ENDPOINT


def _refuse_missing(sources: Sources, tools: Sequence[Wishes], home: Path) -> None:
    """A folder that the user named must be there; one that settings name may be missing, as with pip."""
    for wish in tools[0].find_links:
        if "://" not in wish.text and not index_settings.local_path(wish, home).exists():
            raise SettingsInvalidError(f"there is no {wish.text}", where=wish.where)
    if sources.certificates is not None and not sources.certificates.exists():
        wish = next(tool.certificates for tool in tools if tool.certificates)
        raise SettingsInvalidError(f"there are no certificates at {sources.certificates}", where=wish.where)


def _uv(environ: Mapping[str, str], here: Path, home: Path, system: Path) -> Wishes:
    wishes = uv_settings.variables(environ, here)
    for path, table in _uv_tables(environ, here, home, system):
        where = f"{path}: tool.uv" if path.name == "pyproject.toml" else str(path)
        wishes = wishes.then(uv_settings.table(table, where, path.parent))
    return wishes


def _uv_tables(
    environ: Mapping[str, str], here: Path, home: Path, system: Path
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    named = environ.get("UV_CONFIG_FILE")
    if named:
        yield from _uv_file(here / named)
    elif environ.get("UV_NO_CONFIG", "").lower() in ("", "0", "false"):
        yield from _uv_project(here)
        yield from _uv_file(_config_home(environ, home) / "uv" / "uv.toml")
        shared = [folder / "uv" / "uv.toml" for folder in _config_folders(environ, system)]
        yield from _uv_file(next((path for path in shared if path.exists()), system / "uv" / "uv.toml"))


def _uv_project(here: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The nearest folder with settings of uv's: its uv.toml, else its pyproject.toml."""
    for folder in (here, *here.parents):
        found = [*_uv_file(folder / "uv.toml")]
        if not found:
            path = folder / "pyproject.toml"
            tool = (_toml(path) or {}).get("tool")
            table = tool.get("uv") if isinstance(tool, dict) else None
            found = [(path, table)] if isinstance(table, dict) else []
        if found:
            yield from found
            return


def _uv_file(path: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    table = _toml(path)
    if table is not None:
        yield path, table


def _pip(environ: Mapping[str, str], here: Path, home: Path, system: Path, prefix: Path | None) -> Wishes:
    contents = [(str(path), path, _text(path)) for path in _pip_files(environ, here, home, system, prefix)]
    files = [(where, pip_settings.read(text, where)) for where, path, text in contents if text is not None]
    return pip_settings.wishes(files, environ, here)


def _pip_files(
    environ: Mapping[str, str], here: Path, home: Path, system: Path, prefix: Path | None
) -> Iterator[Path]:
    """pip's files, the ones that count most last."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    for folder in reversed(_config_folders(environ, system)):
        yield folder / "pip" / "pip.conf"
    yield system / "pip.conf"
    if not (named and (here / named).exists()):
        yield home / ".pip" / "pip.conf"
        yield _config_home(environ, home) / "pip" / "pip.conf"
    if prefix is not None:
        yield prefix / "pip.conf"
    if named:
        yield here / named


def _config_home(environ: Mapping[str, str], home: Path) -> Path:
    named = environ.get("XDG_CONFIG_HOME")
    return Path(named) if named else home / ".config"


def _config_folders(environ: Mapping[str, str], system: Path) -> list[Path]:
    named = [Path(part) for part in environ.get("XDG_CONFIG_DIRS", "").split(":") if part]
    return named or [system / "xdg"]


def _toml(path: Path) -> dict[str, Any] | None:
    text = _text(path)
    if text is None:
        return None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsInvalidError(f"not TOML: {error}", where=str(path)) from None
    except RecursionError:
        raise SettingsInvalidError("not TOML: nested too deeply", where=str(path)) from None
    except ValueError:  # int() takes no more than some thousand digits
        raise SettingsInvalidError("not TOML: a number of too many digits", where=str(path)) from None


def _text(path: Path) -> str | None:
    """A settings file's text; None where there is none."""
    try:
        with path.open("rb") as stream:
            content = stream.read(_CAP + 1)
        if len(content) > _CAP:
            raise SettingsInvalidError(f"longer than {_CAP >> 20} MiB", where=str(path))
        return content.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise SettingsInvalidError(f"can't be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise SettingsInvalidError("not UTF-8", where=str(path)) from None
