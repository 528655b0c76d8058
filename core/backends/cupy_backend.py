"""The CuPy backend (extra `cupy`): every simulated device in the memory of one CUDA device. Imports cupy."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from .array_backend import ArrayBackend
from .backend import Memory

INSTALL = "pip install 'galloscope[cupy]'"


class Module:
    """cupy, with the one function that it spells in another way than the array standard."""

    def __init__(self, cupy: Any) -> None:
        """Everything else is looked up in the module."""
        self._cupy = cupy

    def __getattr__(self, name: str) -> Any:
        """What cupy has."""
        return getattr(self._cupy, name)

    def argsort(self, x: Any, *, axis: int = -1, stable: bool = True) -> Any:
        """cupy's sorts are always stable, and know no argument for it."""
        return self._cupy.argsort(x, axis=axis)


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

        super().__init__(Module(cupy), exact=exact)

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
