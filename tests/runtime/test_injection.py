"""The folder on PYTHONPATH: nothing without torch, the guard with it, and no other start-up code is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.conftest import Programs


def other_python(minor: str) -> Path | None:
    """An installed Python of that minor version."""
    named = shutil.which(f"python{minor}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*pyenv.glob(f"{minor}.*/bin/python"), *([Path(named)] if named else [])]
    return found[0] if found else None


LOADED = "import sys; print(sorted(name for name in sys.modules if 'envguard' in name)); "
FINDERS = "print([type(finder).__name__ for finder in sys.meta_path if not isinstance(finder, type)])"


def test_without_torch_nothing_is_loaded_but_the_hook(programs: Programs) -> None:
    heavy = "('typing', 'json', 'ast', 'signal', 'collections', 'importlib.util')"
    program = (
        "import sys; print(sorted(n for n in sys.modules if 'envguard' in n));"
        f"print([n for n in {heavy} if n in sys.modules])"
    )
    guarded, plain = programs.run(program), programs.run(program, PYTHONPATH="")

    assert guarded.out.splitlines() == ["['envguard.runtime.hook']", *plain.out.splitlines()[1:]]
    assert (guarded.err, guarded.log) == ("", {})


def test_the_hook_goes_away_when_all_it_waits_for_was_imported(programs: Programs) -> None:
    ended = programs.run(f"import sys, torch._dynamo, torch._higher_order_ops.flex_attention; {FINDERS}")

    assert "Awaiting" not in ended.out
    assert ended.log["guard"]["followed"] == {
        "backward compiles": True, "cache counters": True, "compiles": True, "dense calls": True,
    }  # fmt: skip


def test_off_is_off(programs: Programs) -> None:
    ended = programs.run(f"{LOADED} import torch; {FINDERS}", ENVGUARD_GUARD="off")

    assert ended.out.splitlines()[0] == "[]" and "Awaiting" not in ended.out
    assert ended.log == {}


@pytest.mark.parametrize("form", ["sitecustomize.py", "sitecustomize/__init__.py"], ids=["module", "package"])
def test_another_sitecustomize_runs_as_if_ours_were_not_there(programs: Programs, form: str) -> None:
    file = programs.folder / "other" / form
    file.parent.mkdir(parents=True)
    file.write_text("import sys\nmark = sys.modules[__name__] is not None\nprint('other', __name__, __file__)\n")
    programs.path.append(programs.folder / "other")

    ended = programs.run("import sitecustomize; print(sitecustomize.__file__, sitecustomize.mark)")

    assert ended.out == f"other sitecustomize {file}\n{file} True\n"


def test_an_error_in_another_sitecustomize_is_told_by_python_as_ever(programs: Programs) -> None:
    (programs.folder / "other").mkdir()
    (programs.folder / "other/sitecustomize.py").write_text("1 / 0\n")
    programs.path.append(programs.folder / "other")

    ended = programs.run("print('on')")

    assert ended.out == "on\n" and "ZeroDivisionError" in ended.err


def test_the_runtime_can_be_imported_with_only_the_folder_on_the_path(programs: Programs) -> None:
    ended = programs.run(
        "from envguard.runtime import guard; guard.install(); print(guard.report()['guard']['flag'])"
    )

    assert (ended.out, ended.err) == ("guard\n", "")


def test_there_is_one_guard_where_envguard_is_installed_too(programs: Programs) -> None:
    other = programs.folder / "other/envguard/runtime"
    other.mkdir(parents=True)
    (other.parent / "__init__.py").write_text("mine = True\n")
    (other / "__init__.py").write_text("")
    (other / "guard.py").write_text("raise RuntimeError('a second guard')\n")
    programs.path.append(programs.folder / "other")

    ended = programs.run(
        "import envguard, torch\nfrom envguard.runtime import guard\n"
        "print(envguard.mine, guard.report()['schema'])"
    )

    assert (ended.out, ended.err) == ("True envguard-run-1\n", "")


@pytest.mark.parametrize("minor", ["3.9", "3.10", "3.12", "3.13"])
def test_older_and_newer_pythons(programs: Programs, minor: str) -> None:
    python = other_python(minor)
    if python is None:
        pytest.skip(f"no Python {minor} here")
    programs.python = python

    ended = programs.run(
        "import torch._dynamo, torch._higher_order_ops.flex_attention\nfrom envguard.runtime import guard\n"
        "with guard.first_step(0): pass\nguard.warm('count')\n"
        "torch.fx._symbolic_trace.Tracer().trace(lambda: None)\n"
    )

    assert (ended.code, ended.err) == (0, "")
    assert ended.log["guard"]["flag"] == "guard" and ended.log["totals"]["fx_traces"] == 1
    assert ended.log["python"].startswith(minor)


def test_compile_workers_are_let_be(programs: Programs) -> None:
    worker = programs.path[0] / "torch/_inductor/compile_worker"
    worker.mkdir(parents=True)
    (worker.parent / "__init__.py").write_text("")
    (worker / "__init__.py").write_text("")
    (worker / "__main__.py").write_text(
        "from envguard.runtime import guard\nlog = guard.report()\n"
        "print(log['guard']['flag'], log['process']['role'])"
    )

    ended = subprocess.run(
        [sys.executable, "-m", "torch._inductor.compile_worker"],
        capture_output=True, text=True, env=programs.variables(), check=True,
    )  # fmt: skip

    assert ended.stdout == "not seen compile-worker\n"
    assert programs.logs() == []


def test_a_module_that_fails_to_import_can_be_imported_again(programs: Programs) -> None:
    file = programs.path[0] / "torch/_dynamo/utils.py"
    good = file.read_text()
    file.write_text("raise ImportError('not now')\n")

    ended = programs.run(
        "import importlib, pathlib, torch\ntry: import torch._dynamo\nexcept ImportError as error: print(error)\n"
        f"pathlib.Path({str(file)!r}).write_text({good!r})\nimportlib.invalidate_caches()\n"
        "import torch._dynamo.utils as utils; print(type(utils.counters['inductor']).__name__)"
    )

    assert (ended.out, ended.err) == ("not now\n_Watched\n", "")


FORK = """
import os, sys, torch._dynamo
torch._dynamo.utils.counters['inductor']['fxgraph_cache_miss'] += 2
pid = os.fork()
if pid == 0:
    from envguard.runtime import guard
    guard_counts = guard.report()['totals']['graph_misses']
    torch._dynamo.utils.counters['inductor']['fxgraph_cache_miss'] += 1
    print(guard_counts, guard.report()['totals']['graph_misses'], flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


def test_a_forked_child_counts_for_itself(programs: Programs) -> None:
    ended = programs.run(FORK)

    assert (ended.out, ended.err) == ("0 1\n", "")
    assert ended.log["totals"]["graph_misses"] == 2


CHILDREN = """
import multiprocessing, os, sys
import torch._dynamo

def work(number):
    if number:
        import torch._dynamo
        torch._dynamo.convert_frame._compile(work.__code__)

if __name__ == '__main__':
    method = multiprocessing.get_context(sys.argv[1])
    children = [method.Process(target=work, args=(number,)) for number in range(2)]
    for child in children: child.start()
    for child in children: child.join()
    assert [child.exitcode for child in children] == [0, 0]
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_that_did_something_have_logs_of_their_own(programs: Programs, method: str) -> None:
    program = programs.folder / "program.py"
    program.write_text(CHILDREN)

    ended = programs.run(program, method)

    assert (ended.code, ended.err) == (0, "")
    logs = programs.logs()
    assert sorted((log["process"]["role"], log["totals"]["compiles"]) for log in logs) == [
        ("child", 1),
        ("run", 0),
    ]
    assert ended.log["process"]["role"] == "run"


def test_ranks_have_a_log_each(programs: Programs) -> None:
    program = "import subprocess, sys, os, torch\n" + (
        "for rank in '01': subprocess.run([sys.executable, '-c', 'import torch'], check=True,"
        " env={**os.environ, 'RANK': rank, 'WORLD_SIZE': '2', 'LOCAL_RANK': rank})"
    )

    ended = programs.run(program)

    assert ended.err == ""
    names = sorted(
        path.name.split(".")[1] for path in programs.folder.glob("run.*.json") if path.name != "run.json"
    )
    assert names == ["rank0", "rank1"]
    assert sorted(str(log["process"]["rank"]) for log in programs.logs()) == ["0", "1", "None"]


def test_no_file_of_the_runtime_is_newer_syntax_than_python_3_9() -> None:
    import ast

    folder = Path(__file__).parents[2] / "envguard/runtime"
    files = sorted(folder.rglob("*.py"))
    assert len(files) > 10
    for file in files:
        ast.parse(file.read_text(), feature_version=(3, 9))
        assert os.access(file, os.R_OK)
