from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import envguard
from tests.pythons import supported, told_by, too_old, venv

PROBES = Path(envguard.__file__).parent / "probe"
STATIC = PROBES / "static.py"


def answer(python: Path, *flags: str) -> Any:
    ended = subprocess.run(
        [python, *(flags or ("-I", "-S", "-B")), STATIC, "<<", ">>"], capture_output=True, check=True, timeout=60
    )
    text = ended.stdout.decode("ascii")
    assert text.startswith("<<")
    assert text.endswith(">>")
    return json.loads(text[2:-2])


def sections(python: Path) -> Any:
    return {name: section["ok"] for name, section in answer(python)["sections"].items()}


@pytest.mark.parametrize("script", sorted(PROBES.glob("*.py")), ids=lambda path: path.stem)
def test_probes_import_the_standard_library_only(script: Path) -> None:
    tree = ast.parse(script.read_text(), feature_version=(3, 9))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add((node.module or "").partition(".")[0])
    assert imported <= sys.stdlib_module_names
    assert "site" not in imported


@pytest.mark.parametrize("script", ["static", "live"])
def test_only_sys_is_imported_before_the_version_gate(script: str) -> None:
    body = ast.parse((PROBES / f"{script}.py").read_text(), feature_version=(3, 6)).body
    gate = next(number for number, node in enumerate(body) if isinstance(node, ast.If))
    assert ast.unparse(body[gate]).startswith("if sys.version_info < (3, 9):")
    before = [ast.unparse(node) for node in body[1:gate]]
    assert before == ["import sys"]


@pytest.mark.parametrize("python", supported())
def test_tells_what_the_interpreter_tells_itself(python: Path) -> None:
    told = sections(python)
    wanted = told_by(
        python, "[sys.implementation.name, sys.version_info[:3], sysconfig.get_config_var('SOABI')]", "-I"
    )
    interpreter = told["interpreter"]
    assert interpreter["implementation"] == wanted[0]
    assert interpreter["version"] == ".".join(str(part) for part in wanted[1])
    assert interpreter["soabi"] == wanted[2]
    assert told["paths"]["prefix"] == told_by(python, "sys.prefix", "-I")
    assert told["paths"]["base_prefix"] == told_by(python, "sys.base_prefix", "-I")
    assert told["paths"]["standard_library"] == told_by(python, "sys.path", "-I", "-S")


@pytest.mark.parametrize("python", supported())
def test_site_folders_are_those_of_site(python: Path) -> None:
    told = sections(python)
    wanted = told_by(python, "site.getsitepackages()", "-I")
    assert told["sites"]["first"] + told["sites"]["last"] == wanted
    assert told["user_site"]["folder"] == told_by(python, "site.getusersitepackages()")


@pytest.mark.parametrize("options", [(), ("--system-site-packages",)], ids=["plain", "system-site"])
@pytest.mark.parametrize("python", supported())
def test_a_venv_is_told_with_its_own_folders(python: Path, options: tuple[str, ...], tmp_path: Path) -> None:
    inside = venv(tmp_path / "env", python, *options)
    told = sections(inside)
    scheme = "'venv' if 'venv' in sysconfig.get_scheme_names() else 'posix_prefix'"
    installed = told_by(inside, f"sysconfig.get_paths({scheme})", "-I")
    paths = told["paths"]
    assert paths["prefix"] == str(tmp_path / "env")
    assert paths["executable"] == str(inside)
    assert [paths[key] for key in ("purelib", "platlib", "scripts", "data")] == [
        installed[key] for key in ("purelib", "platlib", "scripts", "data")
    ]
    version = told_by(inside, "'%d.%d' % sys.version_info[:2]", "-I")
    assert paths["headers"] == str(tmp_path / "env" / "include" / "site" / f"python{version}")
    assert told["sites"]["is_venv"] is True
    assert told["sites"]["system_site"] is bool(options)
    assert told["user_site"]["enabled"] is bool(options)
    own = told_by(inside, "site.getsitepackages([sys.prefix])", "-I")
    assert told["sites"]["first"] == own
    if options:
        assert told["sites"]["last"] == told_by(inside, "site.getsitepackages([sys.base_prefix])", "-I")


@pytest.mark.parametrize("python", too_old())
def test_an_old_python_is_told_as_such(python: Path) -> None:
    if told_by_old(python) < (3,):
        pytest.skip("Python 2 knows no -I; tests/adapters/test_interpreter.py has it")
    failure = answer(python)["failure"]
    assert failure["kind"] == "too-old"
    assert failure["detail"].startswith("3.")


def told_by_old(python: Path) -> tuple[int, ...]:
    from tests.pythons import versions

    return versions()[python]


def loaded() -> dict[str, Any]:
    """The probe's functions, without running it."""
    tree = ast.parse(STATIC.read_text())
    tree.body = [node for node in tree.body if ast.unparse(node) != "main()"]
    names: dict[str, Any] = {"__name__": "static"}
    exec(compile(tree, str(STATIC), "exec"), names)
    return names


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        pytest.param("3.12.3 (main, Jan  1 2026, 10:00:00) [GCC 13.2.0]", "main, GCC 13.2.0", id="plain"),
        pytest.param(
            "3.11.7 | packaged by conda-forge | (main, Dec 23 2023, 14:43:09) [GCC 12.3.0]",
            "packaged by conda-forge, main, GCC 12.3.0",
            id="conda",
        ),
        pytest.param(
            "3.13.0 (tags/v3.13.0:60403a5, Oct  7 2024, 09:38:07) [MSC v.1941 64 bit (AMD64)]",
            "tags/v3.13.0:60403a5, MSC v.1941 64 bit (AMD64)",
            id="parentheses-in-the-compiler",
        ),
        pytest.param(
            "3.13.0 experimental free-threading build (main, Oct  8 2024, 01:04:00) [Clang 18.1.8 ]",
            "experimental free-threading build, main, Clang 18.1.8",
            id="free-threading",
        ),
        pytest.param(
            "3.10.14 (39dc8d3c85a7, Aug 27 2024, 14:33:33)\n[PyPy 7.3.17 with GCC 10.2.1 20210130]",
            "39dc8d3c85a7, PyPy 7.3.17 with GCC 10.2.1 20210130",
            id="pypy",
        ),
        pytest.param("3.12.3 something else", "something else", id="unknown-shape"),
        pytest.param("3.12.3", "3.12.3", id="nothing-but-a-version"),
    ],
)
def test_build_leaves_out_the_date(version: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version", version)
    assert loaded()["build"]() == wanted


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"a": ["b", 1, True, False, None, {}]}, id="all-kinds"),
        pytest.param({'quo"te\\': "line\nbreak\t\x00\x7f"}, id="escapes"),
        pytest.param(["caf\u00e9", "\U0001f40d", "\udcff", "/\udce9/x"], id="not-ascii"),
    ],
)
def test_its_json_is_json(value: object) -> None:
    text = loaded()["dump"](value)
    assert text.isascii()
    assert json.loads(text) == value


def test_a_section_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    probe = loaded()

    def broken() -> None:
        raise RuntimeError("no \u00e9")

    probe["SECTIONS"] = (broken, probe["paths"])
    monkeypatch.setattr(sys, "argv", ["static.py", "", ""])
    probe["main"]()
    told = json.loads(capsys.readouterr().out)["sections"]
    assert told["broken"] == {"error": "RuntimeError: no \u00e9"}
    assert "ok" in told["paths"]


def test_musl_is_asked_by_its_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = tmp_path / "lib" / "ld-musl-x86_64.so.1"
    loader.parent.mkdir()
    loader.write_text(
        "#!/bin/sh\nprintf 'musl libc (x86_64)\\nVersion 1.2.4\\nDynamic Program Loader\\n' >&2\nexit 1\n"
    )
    loader.chmod(0o755)
    maps = tmp_path / "maps"
    maps.write_text(f"7f00-7f01 r-xp 00000000 00:00 1 {loader}\n")
    probe = loaded()

    def redirected(path: str, **options: Any) -> Any:
        return open(maps if path == "/proc/self/maps" else path, **options)

    def no_glibc(name: str) -> str:
        raise ValueError("unrecognized configuration name")

    probe["open"] = redirected
    monkeypatch.setattr(probe["os"], "confstr", no_glibc)
    assert probe["libc"]() == "musl 1.2.4"
    maps.write_text("7f00-7f01 r-xp 00000000 00:00 1 /lib/ld-linux-x86-64.so.2\n")
    assert probe["libc"]() == "unknown"


@pytest.mark.parametrize(
    ("platform", "largest", "wanted"),
    [
        pytest.param("linux-x86_64", 2**63 - 1, "linux_x86_64", id="64-bit"),
        pytest.param("linux-x86_64", 2**31 - 1, "linux_i686", id="32-bit-python-on-64-bit-kernel"),
        pytest.param("macosx-14.2-arm64", 2**63 - 1, "macosx_14_2_arm64", id="macos"),
    ],
)
def test_platform_tag(platform: str, largest: int, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = loaded()
    monkeypatch.setattr(probe["sysconfig"], "get_platform", lambda: platform)
    monkeypatch.setattr(sys, "maxsize", largest)
    assert probe["platform_tag"]() == wanted
