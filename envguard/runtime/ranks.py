"""Ranks compare what they are, through torch.distributed's own store, right after their group is made.

A rank with another build, interpreter or setting is named before the first step; without this it shows as a
collective that hangs, or as numbers that are slowly wrong. Values of variables are compared, and never told.
"""

from __future__ import annotations

import base64
import collections
import csv
import datetime
import functools
import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from envguard.runtime import modes, tally
from envguard.runtime.errors import RanksDifferError

MODULE = "torch.distributed.distributed_c10d"
_PLACE = "envguard/facts"
_SETTINGS = ("TORCHINDUCTOR_", "TORCHDYNAMO_", "TORCH_COMPILE_", "TRITON_", "NVIDIA_TF32", "TORCH_ALLOW_TF32")
_NAMED = ("CUBLAS_WORKSPACE_CONFIG", "NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "OMP_NUM_THREADS", "MKL_CBWR")
_OWN_PLACES = ("_DIR", "_PATH", "_URL", "_HOST", "_PORT", "JOB_ID", "FILENAME")
"""Ends of names whose values are a rank's own business."""
_LARGEST = 1 << 26
_TO_HEAR = 10.0
"""Seconds for the others to read what rank 0 says."""
_OTHERS_BOOKS = ("INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json")

Facts = dict[str, str]


class _State:
    groups = 0


def follow(module: Any) -> None:
    """Compare whenever the default group has been made, whoever asked for it."""
    original = module._update_default_pg

    @functools.wraps(original)
    def _update_default_pg(group: Any) -> Any:
        answer = original(group)
        if group is not None and group is not module.GroupMember.NON_GROUP_MEMBER:
            _made(module, group)
        return answer

    module._update_default_pg = _update_default_pg


def _made(module: Any, group: Any) -> None:
    chosen = _chosen()
    if chosen == "off" or group.size() < 2:
        return
    try:
        store = module._world.pg_map[group][1]
        problem = exchange(store, group.rank(), group.size())
    except (AttributeError, KeyError, TypeError):  # a group without a store (MPI's), or another torch's books
        return
    if problem is None:
        return
    tally.hazard("ranks-differ", problem)
    if chosen == "error":
        raise RanksDifferError("ranks differ: %s (ENVGUARD_RANKS=warning starts all the same)" % problem)


def _chosen() -> str:
    return "warning" if modes.mode() == "observe" else modes.ranks()


def exchange(store: Any, rank: int, size: int) -> str | None:
    """Tell this rank's facts, and hear what rank 0 found in those of all: None, or how ranks differ."""
    _State.groups += 1  # a program may make its default group again, and the store may outlive it
    place = "%s/%d" % (_PLACE, _State.groups)
    store.set("%s/%d" % (place, rank), json.dumps(facts()))
    until = time.monotonic() + modes.ranks_deadline()
    if rank == 0:
        verdict = _compared(store, place, size, until)
        if verdict is not None:  # before the others know: when one of them ends, the launcher ends this rank too
            modes.say("ranks differ: %s" % verdict)
        store.set("%s/verdict" % place, verdict or "equal")
        if verdict is not None:  # the store may live in this process, which is about to end
            for other in range(1, size):
                _wait(store, "%s/heard/%d" % (place, other), time.monotonic() + _TO_HEAR / size)
        return verdict
    if not _wait(store, "%s/verdict" % place, until + 10):
        return None  # rank 0 runs without the guard: nobody compares
    told: str = store.get("%s/verdict" % place).decode("utf-8", "replace")
    store.set("%s/heard/%d" % (place, rank), "")
    return None if told == "equal" else told


def _compared(store: Any, place: str, size: int, until: float) -> str | None:
    seen: dict[int, Facts] = {}
    for rank in range(size):
        key = "%s/%d" % (place, rank)
        if _wait(store, key, until):
            seen[rank] = json.loads(store.get(key))
    silent = [rank for rank in range(size) if rank not in seen]
    if silent:
        modes.say("%s told nothing: not guarded, or late; it is not compared" % _ranks(silent))
    return differences(seen)


def _wait(store: Any, key: str, until: float) -> bool:
    left = max(until - time.monotonic(), 0.001)
    try:
        store.wait([key], datetime.timedelta(seconds=left))
    except Exception:  # torch's own error of a store: a plain RuntimeError, by version
        return False
    return True


def differences(seen: dict[int, Facts]) -> str | None:
    """How ranks differ from what most of them are, in words; None when they don't."""
    if len({json.dumps(_compared_part(one), sort_keys=True) for one in seen.values()}) < 2:
        return None
    usual = {name: _usual(name, seen) for name in sorted({name for one in seen.values() for name in one})}
    odd: dict[str, list[int]] = {}
    for rank, one in sorted(seen.items()):
        told = [_difference(name, usual[name], one.get(name)) for name in usual if name != "host"]
        words = "; ".join(word for word in told if word)
        if words:
            odd.setdefault(words, []).append(rank)
    return ". ".join(
        "%s (%s): %s" % (_ranks(ranks), ", ".join(sorted({seen[rank].get("host", "?") for rank in ranks})), words)
        for words, ranks in sorted(odd.items(), key=lambda entry: entry[1])
    )


def _compared_part(one: Facts) -> Facts:
    return {name: value for name, value in one.items() if name != "host"}


def _usual(name: str, seen: dict[int, Facts]) -> str | None:
    """What most say; of two equally frequent the lowest rank's."""
    counted = collections.Counter(one.get(name) for _, one in sorted(seen.items()))
    return counted.most_common(1)[0][0]


def _difference(name: str, usual: str | None, value: str | None) -> str:
    if value == usual:
        return ""
    if name.startswith("variable "):
        told = "not set" if value is None else "set, others not" if usual is None else "another value"
        return "%s %s" % (name, told)
    return "%s %s, others %s" % (name, value or "none", usual or "none")


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return "rank %d" % ranks[0]
    return "ranks %s%s" % (
        ", ".join(map(str, ranks[:8])),
        " and %d more" % (len(ranks) - 8) if len(ranks) > 8 else "",
    )


def facts() -> Facts:
    """What must be equal on all ranks, by name; ``host`` only says where this one is."""
    torch: Any = sys.modules["torch"]
    version = getattr(torch, "version", None)
    found = {
        "host": socket.gethostname(),
        "Python": "%s %d.%d.%d" % (sys.implementation.name, *sys.version_info[:3]),
        "torch": str(getattr(torch, "__version__", "")),
        "torch commit": str(getattr(version, "git_version", ""))[:10],
        "torch CUDA": str(getattr(version, "cuda", None)),
        "GPU": _gpu(torch),
        "lock": os.environ.get("ENVGUARD_LOCK", "none"),
    }
    found.update(_distributions(torch))
    found.update(_variables())
    return found


def _gpu(torch: Any) -> str:
    try:
        if torch.cuda.is_available():
            return str(torch.cuda.get_device_name(torch.cuda.current_device()))
    except (AttributeError, RuntimeError, AssertionError):
        pass
    return "none"


def _distributions(torch: Any) -> Iterator[tuple[str, str]]:
    """Torch's and Triton's files by their RECORD and version file, and names and versions of all the rest."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    version = _content(os.path.join(torch.__path__[0], "version.py"))
    yield "torch files", _short(_record(folder, "torch") + version)
    yield "triton files", _short(_record(folder, "triton"))
    names = sorted({name for place in sys.path for name in _installed(place)})
    yield "distributions", "%d, %s" % (len(names), _short("\n".join(names).encode("utf-8", "replace")))


def _installed(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder or ".") if name.endswith(".dist-info")]
    except OSError:
        return []


def _record(folder: str, distribution: str) -> bytes:
    """Rows of a RECORD that are the wheel's own: installers add theirs, each in its own way."""
    names = sorted(_installed(folder))
    own = next((name for name in names if name.split("-", 1)[0].lower() == distribution), None)
    if own is None:
        return b""
    text = _content(os.path.join(folder, own, "RECORD")).decode("utf-8", "replace")
    rows = sorted(
        ",".join(row[:2])
        for row in csv.reader(text.splitlines())
        if len(row) >= 2 and row[1] and not row[0].startswith(("..", "/")) and not _is_installers(row[0], own)
    )
    return "\n".join(rows).encode("utf-8")


def _is_installers(path: str, own: str) -> bool:
    head, _, name = path.rpartition("/")
    return path.endswith(".pyc") or (head == own and name in _OTHERS_BOOKS)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(_LARGEST)
    except OSError:
        return b""


def _short(content: bytes) -> str:
    return base64.b32encode(hashlib.sha256(content).digest())[:10].decode("ascii").lower() if content else "none"


def _variables() -> Iterator[tuple[str, str]]:
    for name, value in sorted(os.environ.items()):
        if (name in _NAMED or name.startswith(_SETTINGS)) and not name.endswith(_OWN_PLACES):
            yield "variable %s" % name, _short(value.encode("utf-8", "surrogateescape"))
