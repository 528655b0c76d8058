"""The backends of a scheduler and every buffer type that was met, for an answer."""

from __future__ import annotations

import ctypes as C

from . import layouts as abi
from .asking import Asking
from .messages import RawBuft


def raw_backends(library: C.CDLL, sched: abi.Sched, asking: Asking) -> list[tuple[str, str]]:
    """(name, name of its buffer type in the scheduler), in priority order."""
    return [
        (library.ggml_backend_name(sched.backends[i]).decode(), asking.lies(sched.bufts[i]).name)
        for i in range(sched.n_backends)
    ]


def raw_buft(library: C.CDLL, sched: abi.Sched, asking: Asking, pointer: int) -> RawBuft:
    """A buffer type: whose it is, its limits, and which backends can use it."""
    lies = asking.lies(pointer)
    device_pointer = library.ggml_backend_buft_get_device(pointer)
    return RawBuft(
        name=lies.name,
        device=library.ggml_backend_dev_name(device_pointer).decode() if device_pointer else "CPU",
        host=lies.host,
        align=library.ggml_backend_buft_get_alignment(pointer),
        max_size=library.ggml_backend_buft_get_max_size(pointer),
        users=[i for i in range(sched.n_backends) if library.ggml_backend_supports_buft(sched.backends[i], pointer)],
    )
