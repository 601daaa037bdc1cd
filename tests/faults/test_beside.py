"""Many at once: threads and processes on one store; snapshot, restore and gc beside each other; loops of kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from envguard.adapters.store import DirectoryStore
from envguard.model.digest import Digest
from tests.faults.test_restore_kill import Scene, ended, forked
from tests.faults.toy import Toy

WRITER = """
import sys, threading
from pathlib import Path
from concurrent.futures import ThreadPoolExecutor
from envguard.adapters.store import DirectoryStore
root, own = Path(sys.argv[1]), sys.argv[2]
start = threading.Barrier(40)
def work(number):
    start.wait()
    store = DirectoryStore(root)
    for turn in range(5):
        store.put(b"shared %d" % turn * 2000)
        store.put(f"{own} {number} {turn}".encode())
with ThreadPoolExecutor(40) as pool:
    list(pool.map(work, range(40)))
"""


def test_forty_threads_in_each_of_two_processes(tmp_path: Path) -> None:
    """I1; one object for equal bytes; nothing left in tmp."""
    root = tmp_path / "store"
    children = [subprocess.Popen([sys.executable, "-c", WRITER, str(root), name]) for name in ("one", "two")]
    assert [child.wait(120) for child in children] == [0, 0]
    store = DirectoryStore(root)
    found = list(store.digests())
    assert len(found) == 5 + 2 * 40 * 5
    assert all(Digest.of(store.read(digest)) == digest for digest in found)
    assert list((root / "tmp").iterdir()) == []


def test_a_collector_beside_writers(tmp_path: Path) -> None:
    """What a put has reported after the collector's look is there, however the two fall together."""
    store = DirectoryStore(tmp_path / "store")
    contents = [b"content %d" % number for number in range(20)]
    lost: list[bytes] = []

    def write(turn: int) -> None:
        for content in contents:
            mine = DirectoryStore(tmp_path / "store")
            digest = mine.put(content)
            if not mine.has(digest):
                lost.append(content)

    def collect(turn: int) -> None:
        for content in contents:
            digest = Digest.of(content)
            if store.has(digest):
                try:
                    kept = store.kept(digest)
                except Exception:  # another collector was faster
                    continue
                store.remove_unrenewed(digest, kept - 3600)

    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(write if number % 2 else collect, number) for number in range(40)]
        for job in jobs:
            job.result()
    assert lost == [], "an object that was younger than the grace was collected"
    assert all(store.read(store.put(content)) == content for content in contents)


def test_a_collector_that_was_killed_while_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object that it held is there again at the next use, and nothing of it is left in tmp."""
    store = DirectoryStore(tmp_path / "store")
    digest = store.put(b"content")
    os.utime(store.path(digest), (1000, 1000))
    kept = store.kept(digest)
    pid = forked(lambda: _killed_at_unlink(tmp_path / "store", digest, kept))
    assert ended(pid) == -signal.SIGKILL
    (away,) = (tmp_path / "store" / "tmp").iterdir()
    assert away.name.startswith(digest.hex)
    young = DirectoryStore(tmp_path / "store")
    young.put(b"other")
    assert not young.has(digest), "a collector may still be at it"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    again = DirectoryStore(tmp_path / "store")
    again.put(b"other")
    assert again.read(digest) == b"content"
    assert list((tmp_path / "store" / "tmp").iterdir()) == []


def _killed_at_unlink(root: Path, digest: Digest, kept: float) -> None:
    Path.unlink = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    DirectoryStore(root).remove_unrenewed(digest, kept)


def test_snapshot_restore_and_gc_beside_each_other(tmp_path: Path) -> None:
    toy = Toy(tmp_path / "toy").make().graphs()
    toy.snapshot("--archive")
    toy.run("cache", "save", toy.lock)
    commands = [
        ("snapshot", "-o", toy.lock, "--offline", "--archive"),
        ("store", "gc", "--grace", "0s"),
        ("restore", toy.lock, "--target", tmp_path / "one", "--offline"),
        ("store", "gc", "--grace", "0s"),
        ("restore", toy.lock, "--target", tmp_path / "two", "--offline"),
        ("cache", "load", toy.lock, "--trust-cache"),
        ("store", "check", toy.lock),
        ("verify", toy.lock),
    ]
    with ThreadPoolExecutor(len(commands)) as pool:
        results = list(pool.map(lambda command: toy.run(*command, code=None), commands))
    for command, result in zip(commands, results, strict=True):
        assert "Traceback" not in result.whole, (command, result.whole)
        # A busy store, target or cache may send one away, but never as a match that is none, or as drift.
        assert result.code == 0 or "error[in-use]" in result.err, (command, result.whole)
    toy.check()
    for target in ("one", "two"):
        if (tmp_path / target).exists():
            toy.run("verify", toy.lock, "--python", tmp_path / target, "--full")


@pytest.mark.nightly
@pytest.mark.slow
def test_two_hundred_interrupted_restores(tmp_path: Path) -> None:
    """At random moments within 1.1 times its duration, 85 of 100 by SIGKILL: old or new, then a full check."""
    scene = Scene(tmp_path)
    started = time.monotonic()
    assert ended(forked(scene.restore)) == 0
    duration = time.monotonic() - started
    scene.check()
    scene.back()
    chance, fired = random.Random(7), 0
    for _ in range(200):
        pid = forked(scene.restore)
        time.sleep(chance.uniform(0, 1.1 * duration))
        number = signal.SIGKILL if chance.random() < 0.85 else signal.SIGTERM
        os.kill(pid, number)
        fired += ended(pid) == -number
        scene.check()
        scene.again()
        scene.back()
    assert fired >= 100
