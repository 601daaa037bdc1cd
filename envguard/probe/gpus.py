"""Tells which GPUs CUDA sees, in CUDA's own order, by asking the driver's library and nothing else.

Run as ``python -I -S -B gpus.py START END``, in a process of its own: once asked, the driver stays in the process.
CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER are honoured by CUDA itself. No context is made, so no memory is taken.
"""

import ctypes
import json
import os
import sys

MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*


class CudaError(Exception):
    """CUDA answered with an error."""

    def __init__(self, call: str, code: int, name: str) -> None:
        super().__init__("%s answered %s (%d)" % (call, name, code))
        self.code = code


class Cuda:
    """The driver's library. OSError when it can't be loaded."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")

    def call(self, name: str, *arguments: object) -> None:
        """Call a function; CudaError when it doesn't answer 0."""
        code = getattr(self.cuda, name)(*arguments)
        if code != 0:
            raise CudaError(name, code, self.name_of(code))

    def name_of(self, code: int) -> str:
        """What CUDA calls an error."""
        found = ctypes.c_char_p()
        if self.cuda.cuGetErrorName(code, ctypes.byref(found)) != 0 or not found.value:
            return "error"
        return found.value.decode("ascii", "replace")

    def attribute(self, which: int, device: ctypes.c_int) -> int:
        """One attribute of a device."""
        found = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(found), which, device)
        return found.value

    def device(self, index: int) -> "dict[str, object]":
        """One device by CUDA's index."""
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), index)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, len(name), device)
        memory = ctypes.c_size_t()
        self.call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        return {
            "index": index,
            "name": name.value.decode("utf-8", "replace"),
            "capability": "%d.%d" % (self.attribute(MAJOR, device), self.attribute(MINOR, device)),
            "memory": memory.value,
        }

    def devices(self) -> "list[dict[str, object]]":
        """All devices."""
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        return [self.device(index) for index in range(count.value)]


def answer() -> "dict[str, object]":
    """The devices, or why there is no telling."""
    try:
        return {"devices": Cuda().devices()}
    except CudaError as error:
        return {"failure": {"kind": "no-device" if error.code == 100 else "cuda", "detail": str(error)}}
    except (OSError, AttributeError) as error:
        return {"failure": {"kind": "no-library", "detail": str(error)}}


if __name__ == "__main__":
    sys.stdout.write(sys.argv[1] + json.dumps({"schema": 1, **answer()}) + sys.argv[2])
