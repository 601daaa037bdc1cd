"""What the guard is for, shown on GPUs: python tests/gpu/guard_two_gpus.py --out FOLDER [--devices 2].

Each part is a child with a deadline; one that fails is recorded and the next goes on. Plain lines on stdout, and
FOLDER/guard.json. envguard is taken from this checkout; what it needs that this Python lacks, from ``--deps``, by
a search path of its own, so that nothing of it is recorded.
Parts (``--parts``): race, soft, deadlock, doctor, rehearse, example, snapshot, run; and processes, warmup.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
TRAIN = ROOT / "examples" / "dflash" / "train.py"
SITE = ROOT / "envguard" / "runtime" / "site"
RACE = "FX to symbolically trace"
ALL = ("race", "soft", "deadlock", "doctor", "rehearse", "example", "snapshot", "run", "processes", "warmup")
USUAL = ALL[:8]
AT_ONCE = 4


@dataclass
class Ended:
    """What a child came to; ``code`` None: its deadline ended it."""

    code: int | None
    out: str
    err: str
    seconds: float

    def told(self) -> dict[str, Any]:
        """The JSON that it printed: the whole of it, or its last line; nothing else is an empty one."""
        for text in (self.out, (self.out.strip().splitlines() or [""])[-1]):
            try:
                answer = json.loads(text)
            except ValueError:
                continue
            if isinstance(answer, dict):
                return answer
        return {}


@dataclass
class Session:
    """Where everything goes. ``until``: after that no child is started."""

    out: Path
    work: Path
    devices: list[str]
    until: float
    arguments: argparse.Namespace
    seen: dict[str, Any] = field(default_factory=dict)

    @property
    def indexes(self) -> str:
        """``0,1``, or ``cpu``."""
        return ",".join(device.removeprefix("cuda:") for device in self.devices)

    def environ(self, cache: str, guard: str, log: str | None = None) -> dict[str, str]:
        """A child's; ``guard``: on, observe or off."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ENVGUARD_")}
        whole = {
            **kept,
            "PYTHONPATH": str(SITE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(self.work / cache),
            "TRITON_CACHE_DIR": str(self.work / cache / "triton"),
            "ENVGUARD_GUARD": guard,
            **{f"ENVGUARD_{kind}_DIR": str(self.work / "envguard" / kind) for kind in ("DATA", "CACHE", "STATE")},
        }
        if log is not None:
            (self.out / log).mkdir(parents=True, exist_ok=True)
            whole["ENVGUARD_RUN_LOG"] = f"{self.out / log}/"
        return whole

    def child(self, command: list[str | Path], environ: dict[str, str], deadline: float) -> Ended:
        """Run one to its end."""
        if time.monotonic() > self.until:
            return Ended(None, "", "not started: the budget is spent", 0.0)
        started = time.monotonic()
        limit = max(5.0, min(deadline, self.until - started + 30))
        with subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=self.work,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=limit)
                code: int | None = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                out, err = process.communicate()
                code = None
        return Ended(code, out, err, round(time.monotonic() - started, 1))

    def envguard(self, *words: str | Path, deadline: float = 300, cache: str = "unused") -> Ended:
        """A command of envguard."""
        environ = self.environ(cache, "on")
        del environ["PYTHONPATH"], environ["ENVGUARD_GUARD"]
        path = [str(ROOT), *([str(self.arguments.deps.resolve())] if self.arguments.deps else [])]
        start = f"import sys; sys.path[:0] = {path!r}; from envguard.cli.main import entry; entry()"
        return self.child(["-c", start, *words], environ, deadline)


def race(session: Session, guard: str, number: int, mode: str = "") -> dict[str, Any]:
    """One run of the race."""
    name = f"race{mode}-{guard}-{number}"
    devices = session.devices if not mode else ["cpu"]
    log = f"logs/{name}" if guard != "off" else None
    command: list[str | Path] = [PROGRAMS / "race.py", ",".join(devices), *filter(None, [mode])]
    ended = session.child(command, session.environ(f"cache-{name}", guard, log), 180)
    found = ended.told()
    of_race = sum(times for text, times in found.get("errors", {}).items() if RACE in text)
    return {
        "code": ended.code,
        "seconds": ended.seconds,
        "race_errors": of_race,
        **found,
        **_said(ended, bool(found)),
    }


def deadlock(session: Session, guard: str, number: int) -> dict[str, Any]:
    """One run of the first steps, one thread more than devices."""
    devices = ",".join([*session.devices, session.devices[0]])
    gate = ["gate"] if guard == "on" else []
    command: list[str | Path] = [PROGRAMS / "first_steps.py", devices, str(session.arguments.hang), *gate]
    name = f"deadlock-{guard}-{number}"
    ended = session.child(command, session.environ(f"cache-{name}", guard), session.arguments.hang + 90)
    hung = "Timeout" in ended.err or ended.code is None
    return {
        "code": ended.code, "seconds": ended.seconds, "hung": hung, **ended.told(),
        "stacks": ended.err[-12000:] if hung else "", **_said(ended, hung or ended.code == 0),
    }  # fmt: skip


def doctor(session: Session) -> dict[str, Any]:
    """What doctor says beforehand of three threads on two devices."""
    threads = ",".join([*session.devices, session.devices[0]])
    ended = session.envguard("doctor", "--python", sys.executable, "--threads", threads, "--format", "json")
    found = {one["hazard"]: one["verdict"] for one in ended.told().get("hazards", [])}
    return {"code": ended.code, "hazards": found, **_said(ended, bool(found))}


def rehearse(session: Session, guard: bool) -> dict[str, Any]:
    """What the rehearsal says beforehand."""
    words = ["--topology", session.arguments.rehearsal, "--devices", session.indexes, "--deadline", "60"]
    words += ["--python", sys.executable, "--format", "json", "-q"] + ([] if guard else ["--no-guard"])
    ended = session.envguard("warmup", "--rehearse", *words, deadline=400)
    answer = ended.told()
    for one in answer.get("passes", []):
        one["stacks"] = one["stacks"][-6000:]
    return {"code": ended.code, "seconds": ended.seconds, **answer, **_said(ended, bool(answer))}


def train(session: Session, name: str, *, processes: bool = False, cache: str = "cache-example") -> dict[str, Any]:
    """One run of the example, guarded."""
    words: list[str | Path] = [TRAIN, "--config", session.arguments.config, "--devices", session.indexes]
    words += ["--json", session.out / f"{name}.json", "--deadline", "230", *session.arguments.train.split()]
    words += ["--processes"] if processes else []
    ended = session.child(words, session.environ(cache, "on", f"logs/{name}"), 240)
    return {
        "code": ended.code, "seconds": ended.seconds, "lines": ended.out.splitlines(),
        "logs": summed(session.out / f"logs/{name}"), "stderr": ended.err[-3000:], **_keys(session.work / cache),
    }  # fmt: skip


def summed(folder: Path) -> dict[str, Any]:
    """By device: hits, misses and so on, and memory; of all logs of a run."""
    devices: dict[str, dict[str, int]] = {}
    totals: dict[str, int] = {}
    memory, hazards, stuck = [], [], False
    for path in sorted(folder.glob("*.json")):
        log = json.loads(path.read_text())
        for row in log["counts"]:
            device = devices.setdefault(row.pop("device"), {})
            for name, number in row.items():
                if isinstance(number, int):
                    device[name] = device.get(name, 0) + number
        for name, number in log["totals"].items():
            totals[name] = totals.get(name, 0) + number
        memory.extend(log["memory"])
        hazards.extend(log["hazards"])
        stuck = stuck or log["end"]["flag_stuck"]
    return {"devices": devices, "totals": totals, "memory": memory, "hazards": hazards, "flag_stuck": stuck}


def snapshot(session: Session) -> dict[str, Any]:
    """The lock of the warm run."""
    note = (
        f"{session.arguments.config} on {len(session.devices)} × {_hardware(session)}; every figure is of that run"
    )
    lock = session.out / "good-5t3d.toml"
    words: list[str | Path] = ["snapshot", "-o", lock, "--python", sys.executable]
    words += [
        "--cache",
        session.work / "cache-example",
        "--run",
        session.out / "logs/example-warm",
        "--note",
        note,
    ]
    ended = session.envguard(*words, "--offline", "--no-archive", deadline=180)
    checked = session.envguard("verify", lock, "--python", sys.executable, deadline=120, cache="cache-example")
    return {"code": ended.code, "seconds": ended.seconds, "said": (ended.out + ended.err)[-2000:],
            "verify": {"code": checked.code, "said": checked.out[-2000:]}}  # fmt: skip


def run(session: Session) -> dict[str, Any]:
    """The example once more as envguard run starts it, and held against the lock."""
    lock, logs = session.out / "good-5t3d.toml", session.out / "logs/example-run"
    words: list[str | Path] = ["run", lock, "--python", sys.executable, "--cache", session.work / "cache-example"]
    words += ["--log", logs, "--", sys.executable, TRAIN, "--config", session.arguments.config]
    words += ["--devices", session.indexes, "--deadline", "200", *session.arguments.train.split()]
    ended = session.envguard(*words, deadline=240)
    held = session.envguard(
        "verify", lock, "--python", sys.executable, "--run", logs, deadline=120, cache="cache-example"
    )
    return {
        "code": ended.code, "seconds": ended.seconds, "lines": ended.out.splitlines(), "said": ended.err[-3000:],
        "verify": {"code": held.code, "said": held.out[-2000:]},
    }  # fmt: skip


def warmup(session: Session) -> dict[str, Any]:
    """The built-in workload on every device, with its proof, and a lock of its own."""
    lock = session.out / "warmup.toml"
    session.envguard("snapshot", "-o", lock, "--python", sys.executable, "--offline", "--no-archive", deadline=120)
    words = [
        "warmup",
        str(lock),
        "--python",
        sys.executable,
        "--devices",
        session.indexes,
        "--flex",
        "lengths=1024",
    ]
    ended = session.envguard(*words, "--format", "json", deadline=60 * len(session.devices) + 60)
    return {"code": ended.code, "seconds": ended.seconds, **ended.told(), **_said(ended, ended.code == 0)}


def _said(ended: Ended, fine: bool) -> dict[str, str]:
    return {} if fine else {"stdout": ended.out[-2000:], "stderr": ended.err[-4000:]}


def _keys(cache: Path) -> dict[str, int]:
    return {
        "autograd_keys": len(list(cache.glob("aotautograd/*"))),
        "graph_keys": len(list(cache.glob("fxgraph/*/*"))),
    }


def _hardware(session: Session) -> str:
    memory = session.seen.get("example-warm", {}).get("logs", {}).get("memory") or [{"name": "CPU"}]
    return str(memory[0]["name"])


Job = tuple[str, Callable[[], dict[str, Any]]]


def side_by_side(session: Session, parts: list[str]) -> list[Job]:
    """Jobs in which nothing is timed."""
    jobs: list[Job] = []
    if "deadlock" in parts:  # the longest first
        jobs += [(f"deadlock-off-{number}", partial(deadlock, session, "off", number)) for number in range(2)]
        jobs.append(("deadlock-on-0", partial(deadlock, session, "on", 0)))
    if "rehearse" in parts:
        jobs += [
            ("rehearse-off", partial(rehearse, session, False)),
            ("rehearse-on", partial(rehearse, session, True)),
        ]
    if "race" in parts:
        for number in range(session.arguments.runs):
            jobs += [(f"race-{guard}-{number}", partial(race, session, guard, number)) for guard in ("off", "on")]
    if "soft" in parts:
        jobs += [(f"soft-{guard}", partial(race, session, guard, 0, "soft")) for guard in ("off", "on")]
    if "doctor" in parts:
        jobs.append(("doctor", partial(doctor, session)))
    return jobs


def one_by_one(session: Session, parts: list[str]) -> list[Job]:
    """Jobs that are timed, or need what the one before made."""
    jobs: list[Job] = []
    if "example" in parts:
        jobs += [(f"example-{name}", partial(train, session, f"example-{name}")) for name in ("cold", "warm")]
    jobs += [
        (name, partial(part, session)) for name, part in (("snapshot", snapshot), ("run", run)) if name in parts
    ]
    if "processes" in parts:
        apart = partial(train, session, processes=True, cache="cache-processes")
        jobs += [(f"processes-{name}", partial(apart, f"processes-{name}")) for name in ("cold", "warm")]
    if "warmup" in parts:
        jobs.append(("warmup", partial(warmup, session)))
    return jobs


def recorded(session: Session, job: Job) -> None:
    """Run one job; what it raises is recorded too."""
    name, work = job
    try:
        answer = work()
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    session.seen[name] = answer
    say(f"{name}: {short(answer)}")
    (session.out / "guard.json").write_text(json.dumps(session.seen, indent=1, ensure_ascii=False) + "\n")


def short(answer: dict[str, Any]) -> str:
    """What matters of it on one line."""
    told: dict[str, Any] = {
        name: value for name, value in answer.items() if isinstance(value, (int, float, bool)) or value is None
    }
    if "verdicts" in answer:
        told["seen"] = [one["hazard"] for one in answer["verdicts"] if one["outcome"] == "seen"]
    if "logs" in answer:
        told["misses"] = {
            name: counts.get("autograd_misses", 0) + counts.get("graph_misses", 0)
            for name, counts in answer["logs"]["devices"].items()
        }
        told["last"] = answer["lines"][-6:]
    for name in ("hazards", "verify", "failed", "stderr"):
        if answer.get(name) and name not in told:
            told[name] = str(answer[name])[-300:]
    return json.dumps(told, ensure_ascii=False)


def judged(seen: dict[str, Any]) -> dict[str, bool]:
    """Whether each thing was shown, for the parts that ran."""

    def of(prefix: str) -> list[dict[str, Any]]:
        return [answer for name, answer in seen.items() if name.startswith(prefix)]

    shown: dict[str, bool] = {}
    if of("race-"):
        shown["race with the guard off, every time"] = all(one.get("race_errors") for one in of("race-off"))
        shown["no error, no dense call, no stuck flag with it on"] = all(
            one["code"] == 0
            and one.get("errors") == {}
            and one.get("errors_after") == {}
            and not one["dense"]
            and not one["flag"]
            for one in of("race-on")
        )
    if of("soft-"):
        shown["the hidden setting makes dense calls, and is refused with the guard on"] = bool(
            seen["soft-off"].get("dense")
        ) and "is refused" in seen["soft-on"].get("stderr", "")
    if of("deadlock-"):
        shown["deadlock with the guard off"] = any(one.get("hung") for one in of("deadlock-off"))
        shown["no deadlock with it on"] = all(one.get("code") == 0 for one in of("deadlock-on"))
    if of("rehearse-"):
        shown["the rehearsal says so beforehand"] = seen["rehearse-off"]["code"] == 1
        shown["the rehearsal is clear with the guard"] = seen["rehearse-on"]["code"] == 0
    if "doctor" in seen:
        hazards = seen["doctor"].get("hazards", {})
        shown["doctor says so beforehand"] = {"tracing-flag", "shared-device"} <= set(hazards)
    if "example-warm" in seen:
        shown["the example ends well, twice"] = all(one.get("code") == 0 for one in of("example-"))
        counts = seen["example-warm"].get("logs", {}).get("devices", {})
        shown["its second start has no miss on any device"] = bool(counts) and not any(
            one.get("autograd_misses", 0) + one.get("graph_misses", 0) for one in counts.values()
        )
    if "snapshot" in seen:
        shown["the lock is written"] = seen["snapshot"].get("code") == 0
    return shown


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """0 when all was shown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--devices", type=int, default=2, help="how many; 0: the CPU, to try the script")
    parser.add_argument("--deps", type=Path, help="folder of what envguard needs (pip install --target)")
    parser.add_argument("--parts", default=",".join(USUAL))
    parser.add_argument("--runs", type=int, default=5, help="of the race, off and on")
    parser.add_argument("--hang", type=int, default=45, help="seconds after which first steps count as hung")
    parser.add_argument("--config", default="5t3d")
    parser.add_argument("--rehearsal", default="2t1d", help="topology of the rehearsal")
    parser.add_argument("--train", default="", help="more arguments of the example")
    parser.add_argument("--budget", type=int, default=470, help="seconds in all")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    (work := out.parent / f"{out.name}-work").mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    devices = [f"cuda:{index}" for index in range(arguments.devices)] or ["cpu"]
    session = Session(out, work, devices, time.monotonic() + arguments.budget, arguments)
    parts = arguments.parts.split(",")
    if unknown := set(parts) - set(ALL):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda job: recorded(session, job), side_by_side(session, parts)))
    for job in one_by_one(session, parts):
        recorded(session, job)
    shown = judged(session.seen)
    session.seen["shown"] = shown
    (out / "guard.json").write_text(json.dumps(session.seen, indent=1, ensure_ascii=False) + "\n")
    for what, fine in shown.items():
        say(f"{'yes' if fine else 'NO '}  {what}")
    return 0 if all(shown.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
