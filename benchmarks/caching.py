"""cache save and load against tar with zstd, and torch's own artifacts."""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks.pairs import Pair
from benchmarks.place import Place

COMPILE = """
import sys, torch
graphs = int(sys.argv[1])
torch._dynamo.config.recompile_limit = graphs + 1
torch._dynamo.config.accumulated_recompile_limit = graphs + 1
function = torch.compile(lambda x, n: (x.sin() * n).cos() @ x, dynamic=False)
for number in range(graphs): function(torch.ones(8 + number, 8 + number), number)
bytes_, _ = torch.compiler.save_cache_artifacts()
open(sys.argv[2], "wb").write(bytes_)
"""
LOAD = """
import sys, time, torch
content = open(sys.argv[1], "rb").read()
began = time.perf_counter()
torch.compiler.load_cache_artifacts(content)
print(time.perf_counter() - began)
"""


def pairs(here: Place, graphs: int = 60) -> Iterator[Pair]:
    """A cache of so many graphs, compiled on the CPU."""
    cache, artifacts, lock = here.folder / "compiled", here.folder / "artifacts", here.folder / "cached.toml"
    environ = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    compiled = ["env", *(f"{name}={value}" for name, value in environ.items()), here.python, "-c", COMPILE]
    here.call(*compiled, graphs, artifacts)
    snapshot = [here.tool, "snapshot", "-q", "--offline", "-o", lock, "--python", here.python, "--cache", cache]
    here.call(*snapshot)
    kept, tar = here.kept(), here.folder / "cache.tar.zst"
    said = f"{sum(len(files) for _, _, files in os.walk(cache))} files"
    packed = f"tar -C '{cache}' -c . | zstd -q -3 -T2 -f -o '{tar}'"
    save = [here.tool, "cache", "save", "-q", str(lock), "--cache", str(cache)]
    yield Pair(f"cache save, {said}", save, ["sh", "-c", packed], "tar | zstd -3", before=kept, most=7)
    here.call(*save)
    full, loaded, unpacked = here.kept(), here.folder / "loaded", here.folder / "unpacked"
    load = [here.tool, "cache", "load", "-q", "--trust-cache", str(lock), "--to", str(loaded)]
    load += ["--python", str(here.python)]

    def before() -> None:
        here.emptied(loaded)()
        full()

    unpack = f"mkdir '{unpacked}' && zstd -q -d -c '{tar}' | tar -C '{unpacked}' -x"
    yield Pair(
        f"cache load, {said}",
        load,
        ["sh", "-c", unpack],
        "zstd -d | tar",
        before=before,
        before_peer=here.emptied(unpacked),
        most=7,
    )
    private = here.folder / "torchs"
    torchs = ["env", f"TORCHINDUCTOR_CACHE_DIR={private}", str(here.python), "-B", "-c", LOAD, str(artifacts)]
    yield Pair(
        f"cache load, {said}",
        load,
        torchs,
        "load_cache_artifacts, import left out",
        before=before,
        before_peer=here.emptied(private),
        told=True,
        most=5,
    )
