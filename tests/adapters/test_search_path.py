from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from envguard.adapters.interpreter import Interpreters
from envguard.adapters.search_path import complete, pth_lines
from envguard.formats.probe import Static
from envguard.model.facts import Interpreter
from envguard.model.target import Layout
from tests.pythons import supported, told_by, venv


def seen(
    tmp_path: Path,
    *,
    first: tuple[Path, ...] = (),
    user: Path | None = None,
    last: tuple[Path, ...] = (),
    libraries: tuple[Path, ...] = (),
) -> Static:
    layout = Layout(
        python=tmp_path / "bin" / "python",
        prefix=tmp_path,
        base_prefix=tmp_path,
        libraries=libraries,
        scripts=tmp_path / "bin",
        headers=tmp_path / "include",
        path=(),
        is_venv=True,
        system_site=bool(last),
    )
    interpreter = Interpreter("cpython", "3.12.3", "main", "cpython-312", "linux_x86_64", "glibc 2.39")
    return Static(interpreter, layout, (tmp_path / "stdlib",), first, user, last)


def listed(layout: Layout, root: Path) -> list[tuple[str, str]]:
    return [(os.path.relpath(entry.path, root), entry.source) for entry in layout.path]


def folder(path: Path, **files: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / f"{name}.pth").write_text(text)
    return path


def test_order_and_reasons(tmp_path: Path) -> None:
    for name in ("lib", "named", "own", "users", "base"):
        folder(tmp_path / name)
    first = folder(tmp_path / "site", b=f"{tmp_path}/lib\n", a="import sys; sys.exit(3)\n../own\n")
    user = folder(tmp_path / "user", x="../users\n")
    last = folder(tmp_path / "system", y="../base\n../lib\n")
    layout = complete(
        seen(tmp_path, first=(first,), user=user, last=(last,)),
        {"PYTHONPATH": f"{tmp_path}/named:{tmp_path}/gone"},
    )
    assert listed(layout, tmp_path) == [
        ("named", "PYTHONPATH"),
        ("gone", "PYTHONPATH"),
        ("stdlib", "standard library"),
        ("site", "site-packages"),
        ("own", ".pth"),
        ("lib", ".pth"),
        ("user", "user site"),
        ("users", ".pth"),
        ("system", "site-packages"),
        ("base", ".pth"),
    ]


def test_a_folder_counts_where_it_comes_first(tmp_path: Path) -> None:
    site = folder(tmp_path / "site", x=".\n../site\n")
    layout = complete(seen(tmp_path, first=(site,), last=(site,)), {"PYTHONPATH": f"{tmp_path}/site/../site"})
    assert listed(layout, tmp_path) == [("site", "PYTHONPATH"), ("stdlib", "standard library")]


def test_an_empty_part_of_pythonpath_is_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert listed(complete(seen(tmp_path), {"PYTHONPATH": ":/x"}), tmp_path)[0] == (".", "PYTHONPATH")
    assert listed(complete(seen(tmp_path), {"PYTHONPATH": ""}), tmp_path) == [("stdlib", "standard library")]


def test_a_site_folder_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    layout = complete(seen(tmp_path, first=(tmp_path / "gone",), user=tmp_path / "user"), {})
    assert listed(layout, tmp_path) == [("stdlib", "standard library")]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        pytest.param(b"# a comment\n\n   \n/a\n", ["/a"], id="comments-and-blanks"),
        pytest.param(b"import os\nimport\tos\n/a\n", ["/a"], id="import-lines-are-left-out"),
        pytest.param(b"imports\n", ["imports"], id="a-folder-called-imports"),
        pytest.param(b"\xef\xbb\xbf/a  \r\n/b", ["/a", "/b"], id="mark-blanks-at-the-end-and-returns"),
        pytest.param(b"/caf\xe9\n", ["/caf\udce9"], id="not-utf-8"),
        pytest.param(b"/a\0b\n/c\n", ["/c"], id="zero-byte"),
    ],
)
def test_pth_lines(content: bytes, lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "x.pth").write_bytes(content)
    assert list(pth_lines(tmp_path)) == lines


def test_only_pth_files_are_read_in_order_of_name(tmp_path: Path) -> None:
    folder(tmp_path, b="/b", a="/a", Z="/Z")
    (tmp_path / ".hidden.pth").write_text("/hidden")
    (tmp_path / "x.pth.bak").write_text("/bak")
    (tmp_path / "d.pth").mkdir()
    assert list(pth_lines(tmp_path)) == ["/Z", "/a", "/b"]


def test_a_line_that_is_too_long_for_a_path_is_left_out(tmp_path: Path) -> None:
    site = folder(tmp_path / "site", x="x" * 5000)
    assert listed(complete(seen(tmp_path, first=(site,)), {}), tmp_path)[1:] == [("site", "site-packages")]


def test_libraries_are_counted_by_what_they_are(tmp_path: Path) -> None:
    lib = folder(tmp_path / "lib" / "site-packages")
    (tmp_path / "lib64").symlink_to("lib")
    lib64 = tmp_path / "lib64" / "site-packages"
    base = folder(tmp_path / "base")
    layout = complete(
        seen(tmp_path, libraries=(lib, lib64), first=(lib64, lib), last=(base, tmp_path / "gone")), {}
    )
    assert layout.libraries == (lib, base)


def test_a_library_folder_that_is_not_made_yet_is_still_told(tmp_path: Path) -> None:
    assert complete(seen(tmp_path, libraries=(tmp_path / "later",)), {}).libraries == (tmp_path / "later",)


@pytest.mark.parametrize("options", [(), ("--system-site-packages",)], ids=["plain", "system-site"])
@pytest.mark.parametrize("python", supported())
def test_it_is_what_python_itself_has(python: Path, options: tuple[str, ...], tmp_path: Path) -> None:
    """With -S there and site here: PYTHONPATH, user site, ``.pth`` files, base packages, all in one order."""
    inside = venv(tmp_path / "env", python, *options)
    site = Path(told_by(inside, "site.getsitepackages([sys.prefix])[0]", "-I"))
    folder(tmp_path / "named")
    folder(site, zz="../../../../named\nnot-there\n")
    environ = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}/p:{tmp_path}/q/../p",
        "PYTHONUSERBASE": str(tmp_path / "me"),
    }
    environ.pop("PYTHONNOUSERSITE", None)
    user = Path(told_by(inside, "site.getusersitepackages()", environ=environ))
    folder(user, u=str(folder(tmp_path / "users")))
    layout, _ = Interpreters(environ=environ).look(inside)
    wanted = told_by(inside, "sys.path[1:]", environ=environ)
    told = [str(entry.path) for entry in layout.path]
    extra = [path for path in wanted if path not in told]  # what start-up code of the base Python adds
    assert all(".pth" not in path and not path.startswith(str(tmp_path)) for path in extra)
    assert told == [path for path in wanted if path in told]
    assert (str(user) in told) is bool(options)
    assert (str(tmp_path / "users") in told) is bool(options)


@pytest.mark.parametrize("value", ["1", "x"])
def test_no_user_site_when_the_variable_forbids_it(value: str, tmp_path: Path) -> None:
    python = Path(sys.base_prefix) / "bin" / "python3"
    if not python.exists():
        pytest.skip("the base Python is elsewhere")
    environ = {**os.environ, "PYTHONUSERBASE": str(tmp_path), "PYTHONNOUSERSITE": ""}
    user = Path(told_by(python, "site.getusersitepackages()", environ=environ))
    folder(user)
    assert user in [entry.path for entry in Interpreters(environ=environ).look(python)[0].path]
    forbidden = {**environ, "PYTHONNOUSERSITE": value}
    assert user not in [entry.path for entry in Interpreters(environ=forbidden).look(python)[0].path]
