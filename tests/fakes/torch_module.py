"""A torch that is none: a module that answers what the live probe asks."""

from __future__ import annotations

from pathlib import Path

TORCH = """
import ctypes, os
__version__ = "2.11.0+cu130"
float32 = "torch.float32"
def get_default_dtype():
    return float32
class version:
    git_version = "70d99e998b"
    cuda = "13.0"
class _C:
    def _nccl_version(): pass
    def _cuda_getArchFlags(): return "sm_80 sm_90"
class backends:
    class cudnn:
        def version(): return int(os.environ.get("FAKE_CUDNN", "91002"))
class cuda:
    class nccl:
        def version(): return (2, 28, 3)
    def device_count(): return 2
    def get_device_name(index): return f"Fake {index}"
for name in os.environ.get("FAKE_LIBRARIES", "").split():
    ctypes.CDLL(name)
print("noise of an import")
"""


def put_torch(folder: Path, text: str = TORCH) -> None:
    """Make ``folder/torch`` of that text."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(text)
