"""The CuPy backend (extra `cupy`): every simulated device in the memory of one CUDA device. Imports cupy."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from .array_backend import ArrayBackend
from .backend import Memory

INSTALL = "pip install 'galloscope[cupy]'"


class CupyBackend(ArrayBackend):
    """CuPy's arrays. Quantised types are converted on the host, weights once."""

    name = "cupy"

    def __init__(self, *, exact: bool = False) -> None:
        """Look for the module and a device.

        Raises:
            InputError: cupy is not installed, or finds no CUDA device.
        """
        why = unavailable()
        if why:
            raise InputError(why)
        import cupy

        super().__init__(cupy, exact=exact)

    def to_host(self, array: Any) -> Any:
        """A copy in numpy's memory."""
        return self.xp.asnumpy(array)

    def address(self, memory: Memory) -> int:
        """Where the buffer begins on the device."""
        return int(memory.data.ptr)


def unavailable() -> str:
    """Why the backend cannot run here, a sentence; empty when it can."""
    try:
        import cupy
    except ImportError as error:
        return f"the backend cupy needs the module of that name ({error}): {INSTALL}, or use --backend numpy"
    try:
        devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"the backend cupy finds no CUDA device ({error}); use --backend numpy"
    return "" if devices else "the backend cupy finds no CUDA device; use --backend numpy"
