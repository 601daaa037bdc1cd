"""What is predicted of a compile cache, held against what real torch then does: a table, each row really run."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from envguard.adapters.cache.sections import traces
from envguard.adapters.interpreter import Interpreters
from envguard.adapters.prober import EnvironmentProber
from envguard.formats.cache_trace import CacheEvent, graphs_of, read_trace
from envguard.model.cache_prediction import Prediction, predict
from envguard.model.facts import Facts
from envguard.model.observed import Value
from envguard.model.target import Level, Target
from envguard.operations.cache import trace
from tests.environments import clean_environ

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.online]

WORKLOAD = """
import json, os, torch
from torch._dynamo.utils import counters
from torch._inductor.codecache import torch_key

if os.environ.get("W_DETERMINISTIC"): torch.use_deterministic_algorithms(True)
if os.environ.get("W_CONFIG"): torch._inductor.config.epilogue_fusion = False
length = int(os.environ.get("W_LENGTH", "16"))
dtype = getattr(torch, os.environ.get("W_DTYPE", "float32"))
grad = not os.environ.get("W_NO_GRAD")
twice = bool(os.environ.get("W_CODE"))

@torch.compile
def function(left, right):
    product = left @ right
    return product @ product.T if twice else product

left, right = (torch.ones(shape, dtype=dtype, requires_grad=grad) for shape in ((length, 8), (8, 4)))
answer = function(left, right)
if grad: answer.sum().backward()
seen = {**counters["aot_autograd"], **counters["inductor"]}
print(json.dumps({"torch-key": torch_key().hex(), "threads": torch.get_num_threads(),
    "hits": seen.get("autograd_cache_hit", 0) + seen.get("fxgraph_cache_hit", 0),
    "autograd": seen.get("autograd_cache_hit", 0), "graphs": seen.get("fxgraph_cache_hit", 0)}))
"""
RECORDED = 3
"""Keys of the workload: one of autograd, forward and backward graph."""


class Nobody:
    """Progress that is told to nobody."""

    def step(self, what: str, done: int, total: int | None, unit: str = "") -> None:
        """Nothing."""


@dataclass
class Ground:
    """An environment with a warm cache, to be copied and changed."""

    environment: Path
    folder: Path
    script: Path
    warm: Path
    recorded: Facts
    first: Mapping[str, object]

    def row(self, name: str) -> Row:
        """A row that changes nothing yet: a copy of the warm cache."""
        folder = self.folder / "rows" / name.replace(" ", "-")
        folder.mkdir(parents=True)
        shutil.copytree(self.warm, folder / "cache")
        environ = clean_environ(TORCHINDUCTOR_CACHE_DIR=str(folder / "cache"))
        return Row(self.environment, self.script, folder, environ)

    def another(self, name: str) -> Path:
        """The environment at another path, made of the same files by hardlinks; change files by replacing them."""
        there = self.folder / "environments" / name
        there.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-al", self.environment, there], check=True)
        return there


@dataclass
class Row:
    """One start."""

    environment: Path
    script: Path
    folder: Path
    environ: dict[str, str]
    working_folder: Path | None = None
    traced: bool = False
    user: int | None = None
    """Whose process it is; None: this one's."""

    @property
    def cache(self) -> Path:
        """Its copy of the cache."""
        return self.folder / "cache"

    def facts(self, level: Level = Level.METADATA) -> Facts:
        """What envguard sees before the start."""
        prober = EnvironmentProber(Interpreters(), self.environ, self.working_folder or self.folder, texts=True)
        target = Target(self.environment / "bin" / "python", "test")
        return prober.facts(target, level, baseline=lambda _: None, progress=Nobody())

    def run(self) -> dict[str, object]:
        """Start it."""
        if self.traced:
            self.environ["TORCH_TRACE"] = str(self.folder / "trace")
        ended = subprocess.run(
            [self.environment / "bin" / "python", "-W", "ignore", self.script],
            env=self.environ,
            cwd=self.working_folder or self.folder,
            capture_output=True,
            text=True,
            check=False,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
        answer: dict[str, object] = json.loads(ended.stdout.splitlines()[-1])
        return answer

    def events(self) -> list[CacheEvent]:
        """What its trace says."""
        found: list[CacheEvent] = []
        for file in traces(self.folder / "trace"):
            with file.open("rb") as stream:
                found.extend(read_trace(stream))
        return found


@pytest.fixture(scope="module")
def ground(good: Path) -> Iterator[Ground]:
    """Warm once. Readable by another user, so not in pytest's private folder."""
    folder = Path(tempfile.mkdtemp(prefix="envguard-cache-"))
    folder.chmod(0o755)
    try:
        script = folder / "train.py"
        script.write_text(WORKLOAD)
        warm = folder / "warm"
        environ = clean_environ(TORCHINDUCTOR_CACHE_DIR=str(warm))
        row = Row(good, script, folder, environ, traced=True)
        first = row.run()
        environ.pop("TORCH_TRACE")
        yield Ground(good, folder, script, warm, row.facts(Level.FAST), first)
    finally:
        shutil.rmtree(folder)


Change = Callable[[Ground, Row], None]


def _set(**environ: str) -> Change:
    return lambda ground, row: row.environ.update(environ)


def _replace(path: str, change: Callable[[bytes], bytes]) -> Change:
    """A file of torch with other bytes, in a copy of the environment."""

    def do(ground: Ground, row: Row) -> None:
        row.environment = ground.another(row.folder.name)
        (file,) = row.environment.glob(f"lib/python*/site-packages/{path}")
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(change(content))

    return do


def _another_path(ground: Ground, row: Row) -> None:
    row.environment = ground.another("moved")


def _touched(ground: Ground, row: Row) -> None:
    _replace("torch/_inductor/lowering.py", lambda content: content)(ground, row)


def _cwd(ground: Ground, row: Row) -> None:
    row.working_folder = row.folder / "elsewhere"
    row.working_folder.mkdir()


def _script(ground: Ground, row: Row) -> None:
    row.script = Path(shutil.copy(ground.script, row.folder / "other_name.py"))


def _relative(ground: Ground, row: Row) -> None:
    row.environ["TORCHINDUCTOR_CACHE_DIR"] = "cache"


def _through_link(ground: Ground, row: Row) -> None:
    (row.folder / "link").symlink_to(row.cache)
    row.environ["TORCHINDUCTOR_CACHE_DIR"] = str(row.folder / "link")


def _user(ground: Ground, row: Row) -> None:
    """The cache is another user's, and the start goes by another name."""
    row.environ.update(USER="nobody", LOGNAME="nobody")
    if os.geteuid() == 0:
        for path in (row.cache, *row.cache.rglob("*")):
            os.chown(path, 65534, 65534)


def _another_python(ground: Ground, row: Row) -> None:
    """The same files under another patch release of the same minor."""
    row.environment = ground.another(row.folder.name)
    python = row.environment / "bin" / "python"
    python.unlink()
    python.symlink_to(_other_python())
    settings = row.environment / "pyvenv.cfg"
    lines = [line for line in settings.read_text().splitlines() if not line.startswith("home")]
    settings.unlink()
    settings.write_text("\n".join([f"home = {_other_python().parent}", *lines, ""]))


def _other_python() -> Path:
    name = f"python3.{sys.version_info.minor}"
    for folder in ("/usr/bin", "/usr/local/bin", *os.environ["PATH"].split(os.pathsep)):
        python = Path(folder) / name
        if python.exists():
            said = subprocess.run([python, "--version"], capture_output=True, text=True, check=False)
            if said.returncode == 0 and said.stdout.split()[-1] != platform.python_version():
                return python
    pytest.skip(f"there is one {name} here")


def _as_another_user(ground: Ground, row: Row) -> None:
    """A process of somebody else's, with a cache of his own; the interpreter must be one that he can reach."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a process of another user's")
    _another_python(ground, row)
    _user(ground, row)
    _home(ground, row)
    row.user = 65534


def _half(ground: Ground, row: Row) -> None:
    shutil.rmtree(row.cache / "aotautograd")


def _truncated(ground: Ground, row: Row) -> None:
    (entry,) = row.cache.glob("aotautograd/*/*")
    entry.write_bytes(entry.read_bytes()[:-1000])


def _truncated_graph(ground: Ground, row: Row) -> None:
    entry = sorted(row.cache.glob("fxgraph/*/*/*"))[0]
    entry.write_bytes(b"")


def _empty(ground: Ground, row: Row) -> None:
    shutil.rmtree(row.cache)
    row.cache.mkdir()


def _missing(ground: Ground, row: Row) -> None:
    shutil.rmtree(row.cache)


def _junk(ground: Ground, row: Row) -> None:
    (row.cache / "fxgraph" / "notes").mkdir()
    (row.cache / "aotautograd" / "README").write_text("x")
    for key in row.cache.glob("aotautograd/a*"):
        (key / ".1.2.tmp").write_bytes(b"half")


def _only_relocatable(ground: Ground, row: Row) -> None:
    for path in row.cache.iterdir():
        if path.name not in ("fxgraph", "aotautograd"):
            shutil.rmtree(path)


def _home(ground: Ground, row: Row) -> None:
    (row.folder / "home").mkdir()
    row.environ.update(HOME=str(row.folder / "home"), XDG_CACHE_HOME=str(row.folder / "home"))


def _tmpdir(ground: Ground, row: Row) -> None:
    (row.folder / "tmp").mkdir()
    row.environ["TMPDIR"] = str(row.folder / "tmp")


def _same_threads(ground: Ground, row: Row) -> None:
    row.environ["OMP_NUM_THREADS"] = str(ground.first["threads"])


def _startup(ground: Ground, row: Row) -> None:
    row.environment = ground.another(row.folder.name)
    (site,) = row.environment.glob("lib/python*/site-packages")
    (site / "sitecustomize.py").write_text("import os\nos.environ['TORCHINDUCTOR_MAX_AUTOTUNE'] = '1'\n")


def _other_build(ground: Ground, row: Row) -> None:
    """The same version from another commit, as a re-upload brings it."""

    def commit(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        return b"".join(b"git_version = 'f00d'\n" if line.startswith(b"git_version") else line for line in lines)

    _replace("torch/version.py", commit)(ground, row)


ONE_THREAD = "CPU threads"
ROWS: dict[str, tuple[Change, str, str | None]] = {
    "nothing": (lambda ground, row: None, "all", None),
    "other environment path": (_another_path, "all", None),
    "another Python of the same minor": (_another_python, "all", None),
    "a process of another user": (_as_another_user, "all", None),
    "other HOME": (_home, "all", None),
    "other TMPDIR": (_tmpdir, "all", None),
    "other working folder": (_cwd, "all", None),
    "other script name": (_script, "all", None),
    "relative cache path": (_relative, "all", None),
    "cache through a link": (_through_link, "all", None),
    "another user": (_user, "all", None),
    "only fxgraph and aotautograd": (_only_relocatable, "all", None),
    "foreign and temporary files": (_junk, "all", None),
    "PYTHONHASHSEED": (_set(PYTHONHASHSEED="7"), "all", None),
    "TORCH_LOGS": (_set(TORCH_LOGS="inductor"), "all", None),
    "compile threads": (_set(TORCHINDUCTOR_COMPILE_THREADS="1"), "all", None),
    "as many threads as without": (_same_threads, "all", None),
    "max autotune as without": (_set(TORCHINDUCTOR_MAX_AUTOTUNE="0"), "all", None),
    "size asserts as without": (_set(TORCHINDUCTOR_SIZE_ASSERTS="1"), "all", None),
    "a touched file": (_touched, "all", None),
    "comment in a file no key holds": (
        _replace("torch/__init__.py", lambda content: content + b"# x\n"),
        "all",
        None,
    ),
    "OMP_NUM_THREADS": (_set(OMP_NUM_THREADS="1"), "none", ONE_THREAD),
    "MKL_NUM_THREADS": (_set(MKL_NUM_THREADS="1"), "none", ONE_THREAD),
    "max autotune": (_set(TORCHINDUCTOR_MAX_AUTOTUNE="1"), "none", "TORCHINDUCTOR_MAX_AUTOTUNE"),
    "size asserts": (_set(TORCHINDUCTOR_SIZE_ASSERTS="0"), "none", "TORCHINDUCTOR_SIZE_ASSERTS"),
    "min chunk size": (_set(TORCHINDUCTOR_CPP_MIN_CHUNK_SIZE="1024"), "none", "TORCHINDUCTOR_CPP_MIN_CHUNK_SIZE"),
    "file lock timeout": (_set(TORCHINDUCTOR_FILE_LOCK_TIMEOUT="60"), "none", "TORCHINDUCTOR_FILE_LOCK_TIMEOUT"),
    "cache key tag": (_set(TORCH_COMPILE_CACHE_KEY_TAG="x"), "none", "TORCH_COMPILE_CACHE_KEY_TAG"),
    "caches off": (
        _set(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1"),
        "none",
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
    ),
    "graph cache off": (_set(TORCHINDUCTOR_FX_GRAPH_CACHE="0"), "none", "TORCHINDUCTOR_FX_GRAPH_CACHE"),
    "autograd cache off": (_set(TORCHINDUCTOR_AUTOGRAD_CACHE="0"), "some", None),
    "comment in a file of torch": (
        _replace("torch/_inductor/lowering.py", lambda content: content + b"# x\n"),
        "none",
        "torch/_inductor/lowering.py differs",
    ),
    "another build of the same version": (_other_build, "none", "torch/version.py differs"),
    "half a cache": (_half, "some", None),
    "a truncated entry": (_truncated, "some", None),
    "an empty entry of a graph": (_truncated_graph, "some", None),
    "an empty cache": (_empty, "none", None),
    "no cache": (_missing, "none", None),
}
"""What is changed → how many of the recorded keys hit, and what is named as the reason."""

WORKLOADS: dict[str, tuple[Change, str]] = {
    "sequence length": (_set(W_LENGTH="24"), "example_inputs[0]"),
    "dtype": (_set(W_DTYPE="float64"), "example_inputs[0]"),
    "no gradients": (_set(W_NO_GRAD="1"), "fx_kwargs[is_inference]"),
    "determinism set in code": (_set(W_DETERMINISTIC="1"), "deterministic_algorithms_settings"),
    "a setting made in code": (_set(W_CONFIG="1"), "inductor_config[epilogue_fusion]"),
    "the model's code": (_set(W_CODE="1"), "gm"),
    "a variable set at start-up": (_startup, "inductor_config[max_autotune]"),
}
"""What only the workload decides → the component that explains the miss after the run."""


@dataclass(frozen=True)
class Outcome:
    """A row's prediction, and what happened."""

    prediction: Prediction
    answer: Mapping[str, object]
    events: list[CacheEvent] = field(default_factory=list)


Started = dict[str, "Future[Outcome]"]


@pytest.fixture(scope="module")
def started(ground: Ground, request: pytest.FixtureRequest) -> Iterator[Started]:
    """All rows, two at a time: the table is long, and a start is mostly imports."""
    wanted = {item.callspec.params["name"] for item in request.session.items if _is_row(item)}  # type: ignore[attr-defined]

    def start(name: str, change: Change, traced: bool) -> Outcome:
        row = ground.row(name)
        row.traced = traced
        change(ground, row)
        edited = row.environment != ground.environment
        prediction = predict(ground.recorded, row.facts(Level.FAST if edited else Level.METADATA))
        return Outcome(prediction, row.run(), row.events() if traced else [])

    with ThreadPoolExecutor(2) as pool:
        futures = {name: pool.submit(start, name, row[0], False) for name, row in ROWS.items() if name in wanted}
        futures |= {
            name: pool.submit(start, name, row[0], True) for name, row in WORKLOADS.items() if name in wanted
        }
        yield futures
        for future in futures.values():
            future.cancel()


OFTEN = frozenset(
    {
        "other environment path",
        "another Python of the same minor",
        "OMP_NUM_THREADS",
        "max autotune",
        "cache key tag",
        "comment in a file of torch",
        "half a cache",
        "a truncated entry",
        "no cache",
        "sequence length",
        "the model's code",
    }
)
"""Rows of every run; the whole table is the nightly one's: ``pytest -m "torch" tests/e2e/test_cache_prediction.py``."""


def _often(rows: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.nightly]) for name in rows]


def _is_row(item: pytest.Item) -> bool:
    return item.fspath == __file__ and "name" in getattr(getattr(item, "callspec", None), "params", {})


def _extent(hits: object) -> str:
    return "none" if not hits else "all" if hits == RECORDED else "some"


def test_the_torch_key_from_outside_is_torchs_own(ground: Ground) -> None:
    assert isinstance(ground.recorded.factors, Value)
    assert ground.recorded.factors.value.torch_key == ground.first["torch-key"]
    assert ground.recorded.factors.value.threads == ground.first["threads"]
    assert ground.recorded.factors.value.unseen == ()


def test_the_workload_leaves_three_keys_of_the_cpu(ground: Ground) -> None:
    assert isinstance(ground.recorded.keys, Value)
    keys = ground.recorded.keys.value
    assert [entry.device for entry in keys.devices] == ["cpu"]
    assert len(keys.of("cpu")) == RECORDED
    assert not keys.damaged
    assert {graph.key for graph in keys.graphs} == {
        name.removeprefix("fxgraph/") for name in keys.names if name.startswith("fxgraph/")
    }


@pytest.mark.parametrize("name", _often(ROWS))
def test_prediction_is_outcome(started: Started, name: str) -> None:
    expected, named = ROWS[name][1:]
    outcome = started[name].result()
    why = next((device.why for device in outcome.prediction.devices if device.why), None)
    print(  # noqa: T201 - the table, with -s
        f"\n{name:<36} predicted {outcome.prediction.hits} of {RECORDED}, "
        f"hit {outcome.answer['hits']}{f'   ({why})' if why else ''}"
    )
    assert _extent(outcome.prediction.hits) == expected
    assert _extent(outcome.answer["hits"]) == expected
    assert (named or "") in str(why or "")


@pytest.mark.parametrize("name", _often(WORKLOADS))
def test_what_the_workload_decides_is_explained_after_the_run(ground: Ground, started: Started, name: str) -> None:
    """Not visible from outside before (nothing differs, all keys are there), and named by the trace afterwards."""
    outcome = started[name].result()
    assert outcome.prediction.changes == ()
    assert outcome.prediction.hits == RECORDED
    assert outcome.answer["hits"] == 0
    assert isinstance(ground.recorded.keys, Value)
    keys = ground.recorded.keys.value
    traced = trace(outcome.events, keys.graphs, keys.names)
    told = [difference for one in traced.explanations for difference in one.differences]
    print(f"\n{name:<36} not visible from outside; after the run: {told[0]}")  # noqa: T201
    assert WORKLOADS[name][1] in [difference.component for difference in told], told
    assert not any(one.recorded for one in traced.explanations)


def test_the_fingerprint_is_the_workloads(ground: Ground) -> None:
    """Equal for two cold starts in different folders, another for another sequence length."""
    fingerprints = []
    for name, environ in (("cold one", {}), ("cold two", {}), ("cold longer", {"W_LENGTH": "24"})):
        row = ground.row(name)
        _missing(ground, row)
        row.environ.update(environ)
        row.run()
        keys = row.facts().keys
        assert isinstance(keys, Value)
        fingerprints.append(keys.value.fingerprint)
    assert isinstance(ground.recorded.keys, Value)
    assert fingerprints[0] == fingerprints[1] == ground.recorded.keys.value.fingerprint
    assert fingerprints[2] != fingerprints[0]


def test_two_traces_explain_each_other_with_texts(ground: Ground) -> None:
    row = ground.row("tag with trace")
    row.traced = True
    row.environ["TORCH_COMPILE_CACHE_KEY_TAG"] = "tagged"
    row.run()
    first = replace_folder(ground)
    (difference,) = {
        difference for one in trace(row.events(), graphs_of(first)).explanations for difference in one.differences
    }
    assert (difference.component, difference.now) == ("cache_key_tag", "tagged")
    assert not difference.of_workload


def replace_folder(ground: Ground) -> list[CacheEvent]:
    """The events of the first, cold start."""
    found: list[CacheEvent] = []
    for file in traces(ground.folder / "trace"):
        with file.open("rb") as stream:
            found.extend(read_trace(stream))
    return found


def test_other_facts_of_one_environment_differ_in_nothing(ground: Ground) -> None:
    again = Row(ground.environment, ground.script, ground.folder, clean_environ())
    again.environ["TORCHINDUCTOR_CACHE_DIR"] = str(ground.warm)
    assert replace(again.facts(), files=ground.recorded.files).factors == ground.recorded.factors
