from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from envguard.adapters.interpreter import Interpreters
from envguard.errors import EnvguardError, ProbeFailedError, TargetBrokenError, TargetInvalidError
from envguard.model.observed import Absent, Unobserved, Value
from tests.fakes.torch_module import put_torch
from tests.pythons import fake, told_by, too_old, venv, versions

REAL = Path(sys.executable)


def counting(file: Path) -> Path:
    """A Python that writes a line for each start; its own name stays that of the real one."""
    return fake(file, f'echo started >> "{file}.log"\nexec "{REAL}" "$@"')


def starts(python: Path) -> int:
    log = Path(f"{python}.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A venv; its interpreter."""
    return venv(tmp_path / "env", REAL)


def kept(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.json"))


def test_a_venv_is_looked_at_through_its_link(environment: Path) -> None:
    assert environment.is_symlink()
    layout, interpreter = Interpreters().look(environment)
    assert layout.python == environment
    assert layout.prefix == environment.parent.parent
    assert layout.is_venv
    assert interpreter.version == "{}.{}.{}".format(*sys.version_info)


def test_a_relative_path_is_taken_from_the_working_folder(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(environment.parent)
    assert Interpreters().look(Path("python"))[0].python == environment


def test_start_up_code_never_runs(environment: Path) -> None:
    site = next(environment.parent.parent.glob("lib/python3*/site-packages"))
    canary = site / "canary"
    code = f"import pathlib; pathlib.Path({str(canary)!r}).touch()\n"
    (site / "x.pth").write_text(code)
    (site / "sitecustomize.py").write_text(code)
    (site / "json.py").write_text(code)
    assert told_by(environment, "1") == 1
    assert canary.exists()
    canary.unlink()
    before = sorted(site.rglob("*"))
    Interpreters().look(environment)
    assert sorted(site.rglob("*")) == before


class TestCache:
    def test_the_second_look_starts_no_child(self, environment: Path, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        first = Interpreters(cache).look(environment)
        entry = kept(cache)[0]
        text = entry.read_text()
        head, _, answer = text.partition("\n")
        assert len(kept(cache)) == 1
        assert entry.stat().st_mode & 0o777 == 0o600
        # nothing but the entry can be the source of an answer that no interpreter would give
        told = answer.replace('"cpython"', '"kept"')
        from envguard.model.digest import Digest

        entry.write_text(f"{head.split()[0]} {Digest.of(told.encode()).hex}\n{told}")
        assert Interpreters(cache).look(environment)[1].implementation == "kept"
        assert first[1].implementation == sys.implementation.name

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda text: "", id="empty"),
            pytest.param(lambda text: text[: len(text) // 2], id="cut"),
            pytest.param(lambda text: text.replace("cpython", "cpythom", 1), id="one-letter"),
            pytest.param(lambda text: text.partition("\n")[2], id="no-head"),
            pytest.param(lambda text: "\udcff", id="not-text"),
        ],
    )
    def test_a_damaged_entry_is_ignored_and_replaced(self, damage, environment: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        cache = tmp_path / "cache"
        wanted = Interpreters(cache).look(environment)
        entry = kept(cache)[0]
        whole = entry.read_bytes()
        damaged = damage(whole.decode()).encode("utf-8", "surrogateescape")
        assert damaged != whole
        entry.write_bytes(damaged)
        assert Interpreters(cache).look(environment) == wanted
        assert entry.read_bytes() == whole

    def test_an_entry_that_is_a_folder_is_ignored(self, environment: Path, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        wanted = Interpreters(cache).look(environment)
        entry = kept(cache)[0]
        entry.unlink()
        entry.mkdir()
        assert Interpreters(cache).look(environment) == wanted

    def test_a_cache_that_can_t_be_made_costs_nothing_but_time(self, environment: Path, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        cache = tmp_path / "file" / "cache"
        assert Interpreters(cache).look(environment)[0].is_venv
        assert not cache.exists()

    def test_another_pyvenv_cfg_is_seen(self, environment: Path, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        assert not Interpreters(cache).look(environment)[0].system_site
        settings = environment.parent.parent / "pyvenv.cfg"
        settings.write_text(settings.read_text().replace("packages = false", "packages = TRUE"))
        assert Interpreters(cache).look(environment)[0].system_site
        assert len(kept(cache)) == 1

    def test_another_interpreter_behind_the_link_is_seen(self, environment: Path, tmp_path: Path) -> None:
        others = [
            python
            for python, version in versions().items()
            if version >= (3, 9) and version != tuple(sys.version_info[:2])
        ]
        if not others:
            pytest.skip("only one Python here")
        cache = tmp_path / "cache"
        before = Interpreters(cache).look(environment)[1]
        environment.unlink()
        environment.symlink_to(others[0])
        assert Interpreters(cache).look(environment)[1].version != before.version

    @pytest.mark.parametrize("name", ["PYTHONNOUSERSITE", "PYTHONUSERBASE", "HOME"])
    def test_a_variable_that_matters_is_seen(self, name: str, environment: Path, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        Interpreters(cache, environ={**os.environ, name: "/one"}).look(environment)
        head = kept(cache)[0].read_text().split()[0]
        Interpreters(cache, environ={**os.environ, name: "/two"}).look(environment)
        assert kept(cache)[0].read_text().split()[0] != head

    def test_pythonpath_and_pth_files_are_read_at_every_look(self, environment: Path, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        one = Interpreters(cache, environ={**os.environ, "PYTHONPATH": "/one"}).look(environment)[0]
        entry = kept(cache)[0].read_bytes()
        (one.libraries[0] / "x.pth").write_text(str(tmp_path))
        two = Interpreters(cache, environ={**os.environ, "PYTHONPATH": "/two"}).look(environment)[0]
        assert one.path[0].path == Path("/one")
        assert two.path[0].path == Path("/two")
        assert tmp_path in [entry.path for entry in two.path]
        assert kept(cache)[0].read_bytes() == entry

    def test_a_launcher_is_asked_every_time(self, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        shim = counting(tmp_path / "shim")
        layout, _ = Interpreters(cache).look(shim)
        Interpreters(cache).look(shim)
        assert starts(shim) == 2
        assert kept(cache) == []
        assert layout.python == REAL

    def test_the_default_is_envguards_own_cache_folder(self, environment: Path) -> None:
        Interpreters().look(environment)
        assert kept(Path(os.environ["ENVGUARD_CACHE_DIR"]) / "interpreters")


def refused(python: Path, **options: float) -> EnvguardError:
    with pytest.raises(EnvguardError) as caught:
        Interpreters(**options).look(python)  # type: ignore[arg-type]
    error = caught.value
    assert error.hint
    assert "Traceback" not in error.message
    return error


def _parts(folder: str, names: list[str]) -> set[str]:
    """What a copied standard library can do without."""
    return {name for name in names if name in ("test", "site-packages", "__pycache__", "idlelib", "ensurepip")}


class TestRefusals:
    def test_nothing_there(self, tmp_path: Path) -> None:
        error = refused(tmp_path / "python")
        assert isinstance(error, TargetInvalidError)
        assert "no such" in error.message
        assert error.where == str(tmp_path / "python")

    def test_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert isinstance(refused(tmp_path / "file" / "python"), TargetInvalidError)

    def test_a_folder(self, tmp_path: Path) -> None:
        error = refused(tmp_path)
        assert isinstance(error, TargetInvalidError)
        assert "folder" in error.message

    def test_a_path_with_a_zero_byte(self) -> None:
        assert isinstance(refused(Path("/a\0b")), TargetInvalidError)

    def test_a_dangling_link(self, tmp_path: Path) -> None:
        link = tmp_path / "python"
        link.symlink_to(tmp_path / "gone" / "python3.12")
        error = refused(link)
        assert isinstance(error, TargetBrokenError)
        assert str(tmp_path / "gone" / "python3.12") in error.message

    def test_a_circle_of_links(self, tmp_path: Path) -> None:
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        error = refused(tmp_path / "a")
        assert isinstance(error, TargetBrokenError)
        assert "circle" in error.message

    def test_a_text_file(self, tmp_path: Path) -> None:
        file = tmp_path / "python"
        file.write_text("hello")
        error = refused(file)
        assert isinstance(error, TargetInvalidError)
        assert "not executable" in error.message

    def test_an_executable_text_file(self, tmp_path: Path) -> None:
        file = tmp_path / "python"
        file.write_text("hello")
        file.chmod(0o755)
        error = refused(file)
        assert isinstance(error, TargetInvalidError)
        assert "not a program" in error.message

    def test_a_script_whose_program_is_missing(self, tmp_path: Path) -> None:
        file = tmp_path / "python"
        file.write_text("#!/not/there\n")
        file.chmod(0o755)
        error = refused(file)
        assert isinstance(error, TargetBrokenError)
        assert "missing" in error.message

    @pytest.mark.parametrize(
        "script",
        [
            pytest.param("exit 0", id="silent"),
            pytest.param("exit 7", id="error"),
            pytest.param('echo "$@"', id="echo"),
            pytest.param("echo hello", id="talks"),
        ],
    )
    def test_another_program(self, script: str, tmp_path: Path) -> None:
        error = refused(fake(tmp_path / "python", script))
        assert isinstance(error, TargetInvalidError)
        assert error.message == "this is not a Python interpreter"

    def test_a_crash(self, tmp_path: Path) -> None:
        error = refused(fake(tmp_path / "python", "kill -SEGV $$"))
        assert isinstance(error, TargetBrokenError)
        assert "SIGSEGV" in error.message

    def test_an_unheard_of_signal(self, tmp_path: Path) -> None:
        error = refused(fake(tmp_path / "python", "kill -40 $$"))
        assert isinstance(error, TargetBrokenError)
        assert "40" in error.message or "SIGRT" in error.message

    def test_a_hang(self, tmp_path: Path) -> None:
        pids = tmp_path / "pids"
        error = refused(fake(tmp_path / "python", f"sleep 600 & echo $! > {pids}\nwait"), timeout=0.5)
        assert isinstance(error, ProbeFailedError)
        assert "0.5 s" in error.message
        pid = int(pids.read_text())
        assert not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()

    @pytest.mark.parametrize(
        "answer",
        [
            pytest.param('printf "%s{}%s" "$5" "$6"', id="empty-answer"),
            pytest.param('printf "%srubbish%s" "$5" "$6"', id="no-json"),
        ],
    )
    def test_rubbish_between_the_markers(self, answer: str, tmp_path: Path) -> None:
        error = refused(fake(tmp_path / "python", answer))
        assert isinstance(error, ProbeFailedError)
        assert str(tmp_path / "python") in (error.where or "")

    def test_half_an_answer(self, tmp_path: Path) -> None:
        script = 'test "$1" = -V && echo Python 3.12.1 || printf "%s{" "$5"'
        error = refused(fake(tmp_path / "python", script))
        assert isinstance(error, ProbeFailedError)
        assert "without an answer" in error.message

    def test_a_python_without_its_standard_library(self, tmp_path: Path) -> None:
        script = 'test "$1" = -V && echo Python 3.12.1 || { echo "No module named encodings" >&2; exit 1; }'
        error = refused(fake(tmp_path / "python", script))
        assert isinstance(error, TargetBrokenError)
        assert error.message == "the interpreter doesn't start: No module named encodings"

    def test_a_python_that_ends_without_a_word(self, tmp_path: Path) -> None:
        error = refused(fake(tmp_path / "python", 'test "$1" = -V && echo Python 3.12.1 || exit 9'))
        assert isinstance(error, TargetBrokenError)
        assert "(exit 9)" in error.message

    def test_python_2_knows_no_isolation(self, tmp_path: Path) -> None:
        script = 'test "$1" = -V && echo Python 2.7.18 >&2 || { echo "Unknown option: -I" >&2; exit 2; }'
        error = refused(fake(tmp_path / "python", script))
        assert isinstance(error, TargetInvalidError)
        assert error.message == "the target is Python 2.7.18"

    @pytest.mark.parametrize("python", too_old())
    def test_a_real_old_python(self, python: Path) -> None:
        error = refused(python)
        assert isinstance(error, TargetInvalidError)
        assert error.message.startswith("the target is Python ")
        assert error.where == str(python)

    def test_a_venv_whose_base_went_after_the_last_look(self, tmp_path: Path) -> None:
        """A venv of copies, of which the base Python's standard library was removed."""
        base = tmp_path / "base"
        version = "python{}.{}".format(*sys.version_info)
        shutil.copytree(Path(sys.base_prefix) / "lib" / version, base / "lib" / version, ignore=_parts)
        (base / "bin").mkdir()
        shutil.copy(os.path.realpath(REAL), base / "bin" / version)
        environment = tmp_path / "env"
        (environment / "bin").mkdir(parents=True)
        (environment / "pyvenv.cfg").write_text(f"home = {base / 'bin'}\n")
        python = environment / "bin" / "python"
        python.symlink_to(base / "bin" / version)
        if Interpreters().look(python)[0].base_prefix != base:
            pytest.skip("this Python finds its standard library elsewhere")
        shutil.rmtree(base / "lib")
        try:  # what was kept doesn't hold any more: this Python is broken, or falls back on where it was built for
            layout, _ = Interpreters().look(python)
        except TargetBrokenError:
            return
        assert layout.base_prefix != base

    def test_nothing_is_kept_of_a_failure(self, tmp_path: Path) -> None:
        cache = tmp_path / "cache"
        with pytest.raises(EnvguardError):
            Interpreters(cache).look(fake(tmp_path / "python", "exit 1"))
        assert not cache.exists()


class TestNoise:
    def test_what_is_printed_around_the_answer_is_dropped(self, tmp_path: Path) -> None:
        python = fake(tmp_path / "python", f'echo "<start:{"0" * 32}>{{}}"\n"{REAL}" "$@"\necho "<end:x>" after')
        assert Interpreters().look(python)[0].python == REAL

    def test_a_non_ascii_path_comes_through(self, tmp_path: Path) -> None:
        inside = venv(tmp_path / "caf\u00e9 \U0001f40d", REAL)
        for environ in ({**os.environ, "LC_ALL": "C"}, dict(os.environ)):
            layout = Interpreters(environ=environ).look(inside)[0]
            assert layout.prefix == tmp_path / "caf\u00e9 \U0001f40d"
            assert layout.libraries[0].is_dir()

    def test_a_path_that_is_no_utf_8_comes_through(self, tmp_path: Path) -> None:
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
        (folder / "bin").mkdir(parents=True)
        (folder / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")  # venv itself can't make this one
        inside = folder / "bin" / "python"
        inside.symlink_to(os.path.realpath(REAL))
        layout = Interpreters().look(inside)[0]
        assert layout.prefix == folder
        assert Interpreters().look(inside)[0] == layout


class TestLive:
    def test_torch_is_imported_with_the_jobs_own_variables(self, tmp_path: Path) -> None:
        put_torch(tmp_path)
        live = Interpreters(environ={**os.environ, "PYTHONPATH": str(tmp_path)}).live(REAL, 60)
        assert isinstance(live, Value)
        assert live.value.build == "2.11.0+cu130"

    def test_no_torch(self, environment: Path) -> None:
        assert Interpreters().live(environment, 60) == Absent()

    def test_a_torch_that_crashes(self, tmp_path: Path) -> None:
        put_torch(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        live = Interpreters(environ={**os.environ, "PYTHONPATH": str(tmp_path)}).live(REAL, 60)
        assert isinstance(live, Unobserved)
        assert "SIGSEGV" in live.reason

    def test_a_torch_that_hangs(self, tmp_path: Path) -> None:
        put_torch(tmp_path, "import time; time.sleep(600)")
        live = Interpreters(environ={**os.environ, "PYTHONPATH": str(tmp_path)}).live(REAL, 1)
        assert isinstance(live, Unobserved)
        assert "1 s" in live.reason

    def test_a_torch_that_ends_the_process(self, tmp_path: Path) -> None:
        put_torch(tmp_path, "import os; os._exit(4)")
        live = Interpreters(environ={**os.environ, "PYTHONPATH": str(tmp_path)}).live(REAL, 60)
        assert isinstance(live, Unobserved)


def test_a_look_from_the_cache_imports_nothing_heavy(environment: Path) -> None:
    Interpreters().look(environment)
    program = (
        "import json, sys; from pathlib import Path; from envguard.adapters.interpreter import Interpreters; "
        f"Interpreters().look(Path({str(environment)!r})); print(json.dumps(sorted(sys.modules)))"
    )
    ended = subprocess.run([REAL, "-c", program], capture_output=True, check=True, timeout=60)
    heavy = {"subprocess", "ctypes", "requests", "rich", "packaging", "shutil", "tempfile", "asyncio"}
    assert not heavy & set(json.loads(ended.stdout))
