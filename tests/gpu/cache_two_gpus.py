"""The compile cache on two GPUs: what envguard predicts, held against what torch does. Run by hand, not by pytest.

    python tests/gpu/cache_two_gpus.py OUT

envguard is run from the checkout (PYTHONPATH is set to it), with the interpreter that runs this script, which must
have torch and envguard's dependencies. ``OUT/results.json`` holds every row; ``OUT/fixtures`` small texts of entries
(the opcodes' text arguments; nothing is ever unpickled) for tests without a GPU. A step that fails is told and left.
``FAKE=1``: without GPUs, on the CPU, for trying out the script itself. ``ONLY=REGEX``: steps of such names alone.
"""

# ruff: noqa: T201

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pickletools
import re
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
FAKE = os.environ.get("FAKE") == "1"
ONLY = os.environ.get("ONLY", "")
DEVICES = ("cpu",) if FAKE else ("cuda:0", "cuda:1")
DEADLINE = 1500.0 if FAKE else 340.0
"""Seconds for all of it: a step that would begin later is left out."""
STEP = 600.0 if FAKE else 110.0
FLEX = (
    "lengths=128,heads=2,head-size=16,dtype=float32,masks=causal,backward=false"
    if FAKE
    else "lengths=1024,heads=4,head-size=64,dtype=bfloat16,masks=causal+sliding,backward=true"
)

WORKLOAD = """
import json, os, sys, time
import torch
from torch._dynamo.utils import counters
device = os.environ.get("DEVICE", "cuda:0")
if device.startswith("cuda"): torch.cuda.set_device(device)
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.line = torch.nn.Linear(256, 256)
    def forward(self, x): return torch.nn.functional.gelu(self.line(x))
began = time.time()
model = torch.nn.Sequential(*[Block() for _ in range(2)]).to(device)
compiled = torch.compile(model)
compiled(torch.randn(8, 256, device=device)).sum().backward()
seen = {**counters["aot_autograd"], **counters["inductor"]}
pick = lambda word: sum(seen.get(k, 0) for k in (f"autograd_cache_{word}", f"fxgraph_cache_{word}"))
print("RESULT " + json.dumps({"hits": pick("hit"), "misses": pick("miss"), "bypasses": pick("bypass"),
    "seconds": round(time.time() - began, 2)}))
"""

RANKS = """
import os, sys
import torch, torch.distributed as dist
mode, cuda = sys.argv[1], torch.cuda.is_available() and os.environ.get("FAKE") != "1"
rank = int(os.environ["LOCAL_RANK"])
device = f"cuda:{rank}" if cuda else "cpu"
if cuda: torch.cuda.set_device(device)
dist.init_process_group("nccl" if cuda else "gloo")
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.line = torch.nn.Linear(1024 if cuda else 64, 1024 if cuda else 64)
    def forward(self, x): return torch.nn.functional.gelu(self.line(x))
model = torch.nn.Sequential(*[Block() for _ in range(4)]).to(device)
if mode == "ddp":
    model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=5)
else:
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cuda" if cuda else "cpu", (dist.get_world_size(),))
    for block in model: fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
compiled = torch.compile(model)
for step in range(10_000):  # a run that would go on: the recipe's steps end it
    compiled(torch.randn(8, 1024 if cuda else 64, device=device)).sum().backward()
    optimizer.step(); optimizer.zero_grad()
"""


class Trial:
    """Runs steps one after another, and keeps what each came to."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.began = time.monotonic()
        self.results: dict[str, Any] = {"fake": FAKE, "steps": {}, "rows": []}
        self.project = out / "project"
        self.environ = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("TORCHINDUCTOR", "TRITON_C"))
            },
            "PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
            "PYTHONDONTWRITEBYTECODE": "1",
            **{
                f"ENVGUARD_{kind}_DIR": str(out / "envguard" / kind.lower()) for kind in ("DATA", "CACHE", "STATE")
            },
        }

    def step(self, name: str, do: Callable[[], Any], *, always: bool = False) -> Any:
        """One step; what it raises is kept, and the next goes on."""
        if ONLY and not re.search(ONLY, name):
            return None
        spent = time.monotonic() - self.began
        if spent > DEADLINE and not always:
            self.results["steps"][name] = {"left": f"no time ({spent:.0f} s spent)"}
            return None
        began = time.monotonic()
        try:
            answer = do()
            self.results["steps"][name] = {"ok": True, "answer": answer}
        except Exception as problem:
            answer = None
            self.results["steps"][name] = {"ok": False, "problem": f"{type(problem).__name__}: {problem}"[-3000:]}
            traceback.print_exc()
        self.results["steps"][name]["seconds"] = round(time.monotonic() - began, 1)
        print(
            f"[{time.monotonic() - self.began:6.1f} s] {name}: {json.dumps(self.results['steps'][name])[:600]}",
            flush=True,
        )
        self.write()
        return answer

    def write(self) -> None:
        """Everything so far."""
        (self.out / "results.json").write_text(json.dumps(self.results, indent=1) + "\n")

    def envguard(self, *arguments: str, codes: tuple[int, ...] = (0,), **environ: str) -> Any:
        """Call envguard; the answer as JSON where it is JSON."""
        command = [sys.executable, "-m", "envguard", *arguments]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=self.project,
            env={**self.environ, **environ},
            timeout=STEP,
            check=False,
        )
        log = self.out / "logs"
        log.mkdir(exist_ok=True)
        with (log / "envguard.log").open("a") as stream:
            stream.write(
                f"$ envguard {' '.join(arguments)}   [{ended.returncode}]\n{ended.stdout}{ended.stderr}\n"
            )
        if ended.returncode not in codes:
            raise RuntimeError(f"exit {ended.returncode}: {ended.stdout[-1200:]} {ended.stderr[-1200:]}")
        try:
            return json.loads(ended.stdout)
        except ValueError:
            return ended.stdout

    def work(self, cache: Path, device: str, **environ: str) -> dict[str, Any]:
        """The plain workload on one device with one cache."""
        (self.out / "work.py").write_text(WORKLOAD)
        began = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", self.out / "work.py"],
            capture_output=True,
            text=True,
            cwd=self.project,
            env={**self.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "DEVICE": device, **environ},
            timeout=STEP,
            check=False,
        )
        found = re.search(r"^RESULT (.*)$", ended.stdout, re.MULTILINE)
        if found is None:
            raise RuntimeError(ended.stderr[-2000:])
        return {**json.loads(found[1]), "wall": round(time.monotonic() - began, 1)}

    def row(self, name: str, predicted: int | None, recorded: int, seen: dict[str, Any]) -> dict[str, Any]:
        """A row of the table: prediction against outcome."""
        row = {
            "name": name,
            "recorded": recorded,
            "predicted": predicted,
            "hits": seen["hits"],
            "misses": seen["misses"],
            "bypasses": seen["bypasses"],
            "seconds": seen.get("seconds"),
            "agree": extent(predicted, recorded) == extent(seen["hits"], recorded),
        }
        self.results["rows"].append(row)
        return row

    def predict(self, device: str, **environ: str) -> tuple[int, int]:
        """What cache explain says of a device: (hits, recorded)."""
        answer = self.envguard(
            "cache", "explain", "lockfiles/plain.toml", "--devices", device, "--python", sys.executable, "--format", "json",
            codes=(0, 1, 4), **environ,
        )  # fmt: skip
        (entry,) = answer["prediction"]["devices"]
        return entry["hits"], entry["recorded"]


def extent(hits: int | None, recorded: int) -> str:
    """How many of the recorded keys hit, in a word."""
    if hits is None:
        return "unknown"
    return "none" if not hits else "all" if hits >= recorded else "some"


def main(out: Path) -> int:
    """All steps."""
    out.mkdir(parents=True, exist_ok=True)
    trial = Trial(out)
    trial.project.mkdir(exist_ok=True)
    git = ["git", "-c", "user.name=trial", "-c", "user.email=trial@example.invalid"]
    trial.step("machine", machine)
    trial.step("git", lambda: subprocess.run(["git", "init", "-q", "."], cwd=trial.project, check=True).returncode)
    trial.step("snapshot", lambda: snapshot(trial, "plain"))
    more = plain_rows(trial)
    trial.step("warm both devices", lambda: warm(trial, "flex", "--devices", ",".join(DEVICES), "--flex", FLEX))
    trial.step(
        "save, load",
        lambda: save_and_load(trial, git),
    )
    for mode in ("ddp", "fsdp2"):
        trial.step(f"warmup of two ranks, {mode}", functools.partial(ranks, trial, mode))
    if not FAKE:
        trial.step(
            "warmup of threads",
            lambda: warm(trial, "threads", "--launch", "threads", "--flex", FLEX, "--devices", "0,1"),
        )
        trial.step("no such device", lambda: trial.envguard("warmup", "lockfiles/flex.toml", "--devices", "7", "--python", sys.executable, codes=(1, 3)) or "refused")  # fmt: skip
    more()
    trial.step("fixtures", lambda: fixtures(trial), always=True)
    agree = sum(row["agree"] for row in trial.results["rows"])
    failed = [name for name, step in trial.results["steps"].items() if not step.get("ok")]
    trial.results["summary"] = {"rows": len(trial.results["rows"]), "agree": agree, "failed": failed}
    trial.write()
    table(trial.results["rows"])
    print(f"{agree} of {len(trial.results['rows'])} rows: prediction = outcome; failed steps: {failed or 'none'}")
    shutil.rmtree(out / "envguard" / "cache", ignore_errors=True)
    return 0 if not failed and agree == len(trial.results["rows"]) else 1


def machine() -> dict[str, Any]:
    """What this runs on, by torch's own word."""
    code = (
        "import json, sys, torch; print(json.dumps({'python': sys.version.split()[0], 'torch': torch.__version__, "
        "'commit': torch.version.git_version, 'gpus': [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]}))"
    )
    answer: dict[str, Any] = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    return answer


def snapshot(trial: Trial, name: str) -> str:
    """A lock of this interpreter's environment, without looking for its wheels anywhere."""
    none = str(trial.out / "caches" / "none")
    told = trial.envguard(
        "snapshot",
        "--name",
        name,
        "--python",
        sys.executable,
        "--offline",
        "--no-archive",
        "--update",
        TORCHINDUCTOR_CACHE_DIR=none,
    )
    shutil.copy(trial.project / "lockfiles" / f"{name}.toml", trial.out / "pristine.toml")
    return str(told).strip()


def plain_rows(trial: Trial) -> Callable[[], None]:
    """A plain module, warmed on the first device, then used in other ways. Answers with what is left for the end."""
    first, other = DEVICES[0], DEVICES[-1]
    caches = trial.out / "caches"
    work = str(trial.out / "work.py")
    (trial.out / "work.py").write_text(WORKLOAD)
    one = caches / "one"
    recipe = [
        "warmup",
        "lockfiles/plain.toml",
        "--cache",
        str(one),
        "--python",
        sys.executable,
        "--format",
        "json",
    ]

    def cold() -> Any:
        wrapper = trial.out / "with_device.py"
        wrapper.write_text(
            "import os, runpy\nos.environ['DEVICE'] = os.environ['ENVGUARD_DEVICE']\n"
            f"runpy.run_path({work!r}, run_name='__main__')\n"
        )
        return slim(trial.envguard(*recipe, "--devices", first, "--", sys.executable, str(wrapper), codes=(0, 1)))

    trial.step("warm one device by a command", cold)
    at = {"TORCHINDUCTOR_CACHE_DIR": str(one), "TRITON_CACHE_DIR": str(one / "triton")}

    def use(
        name: str, device: str, predicted_for: str, *, copied: bool = False, **environ: str
    ) -> Callable[[], Any]:
        def do() -> Any:
            cache = caches / name.replace(" ", "-")
            if copied:
                shutil.rmtree(cache, ignore_errors=True)
                shutil.copytree(one, cache, symlinks=True)
            else:
                cache = one
            where = {**at, "TORCHINDUCTOR_CACHE_DIR": str(cache), "TRITON_CACHE_DIR": str(cache / "triton")}
            hits, recorded = trial.predict(predicted_for, **{**where, **environ})
            seen = trial.work(cache, device, TRITON_CACHE_DIR=str(cache / "triton"), **environ)
            return trial.row(name, hits, recorded or 3, seen)

        return do

    trial.step("used again on the same device", use("the same device", first, first))
    trial.step("used on another path", use("another path", first, first, copied=True))
    if other != first:
        trial.step("used on the other device", use("the other device", other, other, copied=True))
        masked = {"CUDA_VISIBLE_DEVICES": "1"}
        trial.step(
            "the other GPU, seen as the first",
            use("the other GPU seen as index 0", first, first, copied=True, **masked),
        )
        trial.step("then both are warmed", lambda: slim(trial.envguard(*recipe, "--devices", "0,1", "--", sys.executable, str(trial.out / "with_device.py"), codes=(0, 1))))  # fmt: skip
        trial.step("used on the other device, warmed", use("the other device, warmed", other, other))
        trial.step("used on the first device, warmed", use("the first device, warmed", first, first))

    def extra() -> None:
        trial.step("max autotune", use("max autotune", first, first, copied=True, TORCHINDUCTOR_MAX_AUTOTUNE="1"))
        trial.step("a key tag", use("a cache key tag", first, first, copied=True, TORCH_COMPILE_CACHE_KEY_TAG="x"))
        if not FAKE:
            trial.step(
                "a Triton variable",
                use("TRITON_DEFAULT_FP_FUSION", first, first, copied=True, TRITON_DEFAULT_FP_FUSION="0"),
            )

    return extra


def slim(answer: Any) -> Any:
    """A warmup's answer without its lists of keys."""
    if not isinstance(answer, dict):
        return answer
    keys = {device: len(names) for device, names in answer.pop("keys", {}).items()}
    return {**answer, "keys": keys}


def warm(trial: Trial, name: str, *arguments: str) -> Any:
    """A warmup into the own cache of a lock of its own."""
    lock = trial.project / "lockfiles" / f"{name}.toml"
    text = (trial.out / "pristine.toml").read_text()
    lock.write_text(re.sub(r'(?m)^name = "plain"', f'name = "{name}"', text, count=1))
    rest = arguments[arguments.index("--") :] if "--" in arguments else ()
    own = arguments[: len(arguments) - len(rest)]
    answer = trial.envguard(
        "warmup",
        f"lockfiles/{name}.toml",
        *own,
        "--python",
        sys.executable,
        "--format",
        "json",
        *rest,
        codes=(0, 1),
    )
    return slim(answer)


def ranks(trial: Trial, mode: str) -> Any:
    """Two ranks by torchrun, ended after three optimizer steps; the second start is the proof."""
    script = trial.out / "ranks.py"
    script.write_text(RANKS)
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(script),
        mode,
    ]
    return warm(
        trial, mode, "--launch", "ranks", "--steps", "3", "--deadline", "280" if FAKE else "90", "--", *command
    )


def save_and_load(trial: Trial, git: list[str]) -> Any:
    """The flex cache into the store, its folder away, back, elsewhere; then the recipe once more: cold is warm."""
    answers: dict[str, Any] = {}
    lock = "lockfiles/flex.toml"
    answers["saved"] = {
        key: value
        for key, value in trial.envguard("cache", "save", lock, "--format", "json", codes=(0, 1)).items()
        if key != "keys"
    }
    answers["refused"] = "not-trusted" in refusal(trial, "cache", "load", lock)
    trust: tuple[str, ...] = ()
    try:
        subprocess.run([*git, "add", "-A"], cwd=trial.project, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "x"], cwd=trial.project, check=True)
    except (OSError, subprocess.CalledProcessError):
        trust = ("--trust-cache",)
    answers["git"] = not trust
    caches = trial.out / "envguard" / "data" / "caches"
    (own,) = [path for path in caches.iterdir() if path.name.startswith("flex-")]
    own.rename(caches / "away")
    began = time.monotonic()
    loaded = trial.envguard("cache", "load", lock, *trust, "--format", "json")
    answers["loaded"] = {
        "files": loaded["files"],
        "size": loaded["size"],
        "seconds": round(time.monotonic() - began, 2),
    }
    verified = trial.envguard(
        "verify",
        lock,
        "--python",
        sys.executable,
        "--metadata",
        "--format",
        "json",
        codes=(0, 1, 4),
        **loaded["variables"],
    )
    answers["verify"] = [
        result["outcome"] for result in verified.get("results", []) if result.get("check") == "compile-cache"
    ]
    again = slim(trial.envguard("warmup", lock, "--python", sys.executable, "--format", "json", codes=(0, 1)))
    answers["restored"] = again
    answers["times"] = {row["who"]: row["cold"]["seconds"] for row in again["rows"]}
    answers["restored misses"] = sum(row["cold"]["misses"] for row in again["rows"])
    elsewhere = trial.out / "elsewhere"
    there = trial.envguard("cache", "load", lock, *trust, "--to", str(elsewhere), "--format", "json")
    groups = list((elsewhere / "triton").glob("*/__grp__*"))
    leads = [path for group in groups for path in json.loads(group.read_text())["child_paths"].values()]
    answers["groups"] = {
        "lists": len(groups),
        "paths": len(leads),
        "lead there": sum(Path(path).is_file() for path in leads),
    }
    answers["elsewhere"] = there["files"]
    return answers


def refusal(trial: Trial, *arguments: str) -> str:
    """What is said when it must not be done."""
    ended = subprocess.run(
        [sys.executable, "-m", "envguard", *arguments], capture_output=True, text=True, cwd=trial.project, env=trial.environ, timeout=STEP, check=False
    )  # fmt: skip
    return f"{ended.returncode} {ended.stderr}"


def fixtures(trial: Trial) -> Any:
    """Listings of every cache, hashes of components, texts of some small entries."""
    folder = trial.out / "fixtures"
    folder.mkdir(exist_ok=True)
    told: dict[str, Any] = {}
    taken = 0
    places = [*(trial.out / "caches").glob("*"), *(trial.out / "envguard" / "data" / "caches").glob("*/inductor")]
    for cache in sorted(places):
        name = cache.parent.name if cache.name == "inductor" else cache.name
        entries = sorted((*cache.glob("fxgraph/*/f*/*"), *cache.glob("aotautograd/a*/*")))
        devices: dict[str, list[str]] = {}
        components: dict[str, list[str]] = {}
        for entry in entries:
            texts = texts_of(entry.read_bytes())
            key = f"{entry.relative_to(cache).parts[0]}/{entry.parent.name}"
            devices[key] = sorted({part for text in texts for found in re.findall(r"_DeviceGuard\((\d+)\)|get_raw_stream\((\d+)\)|\]cuda:(\d+)", text) for part in found if part})  # fmt: skip
            components[key] = [text.partition(":")[0] for text in texts if re.match(r"\[[a-z2-7]{51}\] ", text)]
            if taken < 4 and name.partition("-")[0] in ("one", "ddp") and entry.stat().st_size < 200_000:
                short = "\n\f\n".join(text for text in texts if len(text) < 8_000)[:95_000]
                (folder / f"{name}-{key.replace('/', '-')[:24]}.txt").write_text(scrubbed(short, trial))
                taken += 1
        listing = [
            f"{path.relative_to(cache)} {path.stat().st_size}"
            for path in sorted(cache.rglob("*"))
            if path.is_file()
        ]
        (folder / f"{name}-listing.txt").write_text("\n".join(listing)[:95_000] + "\n")
        while len(json.dumps(components)) > 95_000:
            components.popitem()
        (folder / f"{name}-components.json").write_text(json.dumps(components))
        digest = hashlib.sha256("\n".join(sorted(devices)).encode()).hexdigest()[:16]
        told[name] = {
            "entries": len(entries),
            "files": len(listing),
            "keys digest": digest,
            "indices": sorted({i for d in devices.values() for i in d}),
        }
    for group in list((trial.out / "caches" / "one").glob("triton/**/__grp__*"))[:1]:
        (folder / "grp.json").write_text(scrubbed(group.read_text(), trial))
    for lock in (trial.project / "lockfiles").glob("*.toml"):
        text = lock.read_text()
        part = re.search(r"(?ms)^\[cache\].*?(?=^\[(indexes|policy|archive)|^\[\[(?!warmup))", text)
        (folder / f"{lock.stem}-cache.toml").write_text((part[0] if part else "")[:95_000])
    return told


def texts_of(content: bytes) -> list[str]:
    """The text arguments of a pickle's opcodes; nothing is run."""
    texts: list[str] = []
    with contextlib.suppress(Exception):
        for _, argument, _ in pickletools.genops(content):
            if isinstance(argument, str):
                texts.append(argument)
    return texts


def scrubbed(text: str, trial: Trial) -> str:
    """Without this machine's paths."""
    text = text.replace(str(trial.out), "/OUT").replace(str(CHECKOUT), "/CHECKOUT").replace(sys.prefix, "/ENV")
    return text.replace(str(Path.home()), "/HOME")


def table(rows: list[dict[str, Any]]) -> None:
    """Prediction against outcome."""
    print(f"{'row':<34} {'recorded':>8} {'predicted':>9} {'hits':>5} {'misses':>6} {'seconds':>8}  agree")
    for row in rows:
        print(
            f"{row['name']:<34} {row['recorded']:>8} {row['predicted']:>9} {row['hits']:>5} {row['misses']:>6} {row['seconds']:>8}  {row['agree']}"
        )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
