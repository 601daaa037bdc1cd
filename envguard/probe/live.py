"""Tells what torch says of itself, and which libraries it loaded from outside its environment.

Run as ``python -B live.py START END`` with the job's own flags and environment, in a process of its own:
it imports torch, and that runs the environment's start-up code.
"""

import sys

if sys.version_info < (3, 9):  # before any other import: this much runs in every Python 3
    sys.stdout.write(
        '%s{"schema": 1, "failure": {"kind": "too-old", "detail": "%d.%d.%d"}}%s'
        % (sys.argv[1], *sys.version_info[:3], sys.argv[2])
    )
    sys.exit(0)

import glob
import importlib
import json
import os
from typing import Any

FAMILIES = (
    "libtorch", "libc10", "libcuda", "libcublas", "libcudnn", "libnccl", "libcufft", "libcurand", "libcusolver",
    "libcusparse", "libcufile", "libcupti", "libnvrtc", "libnvjitlink", "libnvshmem", "libnvtoolsext", "libtriton",
    "libamdhip", "libmiopen", "librccl", "librocblas", "libhipblas", "libgomp", "libiomp", "libmkl",
)  # fmt: skip


def leave_out_own_folder() -> None:
    """Undo what starting this file did to the search path: a job wouldn't have our folder there."""
    own = os.path.realpath(os.path.dirname(os.path.abspath(__file__)))
    if sys.path and os.path.realpath(sys.path[0] or ".") == own:
        del sys.path[0]


def build(torch: Any) -> "dict[str, object]":
    """Which torch."""
    return {
        "version": str(torch.__version__),
        "git_commit": str(torch.version.git_version),
        "cuda": torch.version.cuda,
        "default_dtype": str(torch.get_default_dtype()).replace("torch.", ""),
    }


def cudnn(torch: Any) -> "str | None":
    """cuDNN's version (8 counts in thousands, 9 in tens of thousands), None without one."""
    number = torch.backends.cudnn.version() if torch.version.cuda else None
    if number is None:
        return None
    unit = 10000 if number >= 90000 else 1000
    return "%d.%d.%d" % (number // unit, number % unit // 100, number % 100)


def nccl(torch: Any) -> "str | None":
    """NCCL's version, None without one."""
    if not torch.version.cuda or not hasattr(torch._C, "_nccl_version"):
        return None
    return ".".join(str(part) for part in torch.cuda.nccl.version())


def architectures(torch: Any) -> "list[str]":
    """GPU architectures that this build holds code for; asked of the build itself, so that no GPU is needed."""
    flags = getattr(torch._C, "_cuda_getArchFlags", None)
    return (flags() or "").split() if flags else []


def devices(torch: Any) -> "list[str]":
    """Names of the GPUs that torch sees, by its own index."""
    return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]


def loaded() -> "list[str]":
    """Paths of all libraries mapped into this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            lines = [line.rstrip("\n").split(None, 5) for line in maps]
    except OSError:
        return []
    return sorted({parts[5] for parts in lines if len(parts) == 6 and parts[5].startswith("/")})


def linked(path: str, folder: str) -> bool:
    """Whether a torch or CUDA library of the environment is a link to this file (uv's symlink mode)."""
    name = glob.escape(os.path.basename(path))
    for entry in sys.path:
        if not os.path.realpath(entry).startswith(folder):
            continue
        for pattern in ("torch/lib", "nvidia/*/lib", "triton/_C", "."):
            if any(os.path.realpath(found) == path for found in glob.glob(os.path.join(entry, pattern, name))):
                return True
    return False


def shown(path: str) -> str:
    """A library's file name; the driver's own libraries without its version, which is another fact."""
    name = os.path.basename(path)
    return "libcuda.so.1" if name.startswith(("libcuda.so", "libcudadebugger.so")) else name


def outside(_torch: Any) -> "list[str]":
    """Loaded libraries of torch or CUDA that lie outside the environment, and preloaded ones."""
    folder = os.path.realpath(sys.prefix) + os.sep
    preloaded = {os.path.basename(part) for part in os.environ.get("LD_PRELOAD", "").replace(":", " ").split()}
    found = set()
    for path in loaded():
        name = os.path.basename(path)
        if name in preloaded:
            found.add(name)
        elif name.lower().startswith(FAMILIES) and not path.startswith(folder) and not linked(path, folder):
            found.add(shown(path))
    return sorted(found)


SECTIONS = (build, cudnn, nccl, architectures, devices, outside)


def answer() -> "dict[str, object]":
    """All sections, each caught on its own; or why there are none."""
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        kind = "no-torch" if error.name == "torch" else "import"
        return {"failure": {"kind": kind, "detail": "%s: %s" % (type(error).__name__, error)}}
    except BaseException as error:
        return {"failure": {"kind": "import", "detail": "%s: %s" % (type(error).__name__, error)}}
    sections: "dict[str, object]" = {}
    for section in SECTIONS:
        try:
            sections[section.__name__] = {"ok": section(torch)}
        except Exception as error:
            sections[section.__name__] = {"error": "%s: %s" % (type(error).__name__, error)}
    return {"sections": sections}


if __name__ == "__main__":
    leave_out_own_folder()
    sys.stdout.write(sys.argv[1] + json.dumps({"schema": 1, **answer()}) + sys.argv[2])
    sys.stdout.flush()
    os._exit(0)  # what torch does when an interpreter ends is of no interest, and can hang
