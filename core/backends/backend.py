"""What runs nodes: a kind of memory and the kernels on it. All devices of a plan are played by one of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import InputError, nearest
from ..tensor import Tensor
from .kernel import Call

Memory = Any
"""A flat uint8 array of the backend's array module."""


class Span(NamedTuple):
    """Where a tensor's first byte is.

    Attributes:
        memory: the buffer.
        start: byte in it.
        constant: nothing writes to it while the graph runs, so what was made of it may be kept (weights).
    """

    memory: Memory
    start: int
    constant: bool = False


class Summary(NamedTuple):
    """The values of a tensor in short; `low`, `high`, `mean` are None when no value is finite."""

    low: float | None
    high: float | None
    mean: float | None
    nans: int
    infs: int


class Backend(Protocol):
    """Memory and kernels of one array module.

    Attributes:
        name: key of `BACKENDS`.
        arithmetic: results are numbers; a backend without it computes fingerprints of bytes.
    """

    name: str
    arithmetic: bool

    def buffer(self, size: int, fill: int = 0) -> Memory:
        """`size` bytes, all `fill`."""

    def adopt(self, data: npt.NDArray[np.uint8]) -> Memory:
        """Bytes of the host that are only read; without a copy where the backend can."""

    def weight(self, tensor: Tensor, load: Callable[[], npt.NDArray[np.uint8] | None]) -> Memory:
        """The memory of a weight; `load` gives its bytes, None for zeros."""

    def write(self, memory: Memory, start: int, data: npt.NDArray[np.uint8]) -> None:
        """Bytes of the host into a buffer."""

    def read(self, memory: Memory, start: int, size: int) -> npt.NDArray[np.uint8]:
        """A copy of bytes on the host."""

    def copy(self, source: Memory, source_start: int, target: Memory, target_start: int, size: int) -> None:
        """Bytes from one buffer to another."""

    def prepare(self, call: Call, target: Span, sources: Sequence[Span | None]) -> Callable[[], None]:
        """Check a node and return what computes it, again and again, at these addresses.

        Raises:
            InputError: it cannot be computed; the message names the node.
        """

    def reads(self, call: Call) -> Sequence[bool]:
        """Per slot, whether the bytes of the source matter."""

    def elements(self, tensor: Tensor, span: Span) -> npt.NDArray[np.uint8]:
        """The bytes of a tensor's elements without what lies between them, on the host."""

    def values(self, tensor: Tensor, span: Span) -> npt.NDArray[Any]:
        """A copy of its values on the host: float32 or integers, shape ne reversed."""

    def summary(self, tensor: Tensor, span: Span) -> Summary:
        """Its values in short; of quantised types as float32."""


def make_backend(name: str, *, exact: bool = False) -> Backend:
    """A backend by name.

    Args:
        name: key of `BACKENDS`.
        exact: compute in plain float32 where ggml-cpu rounds.

    Raises:
        InputError: there is none of that name, or it cannot run here.
    """
    make = BACKENDS.get(name)
    if make is None:
        raise InputError(f"no backend is named {name!r}, there are {', '.join(BACKENDS)}{nearest(name, BACKENDS)}")
    return make(exact)


def _numpy(exact: bool) -> Backend:
    from .numpy_backend import NumpyBackend

    return NumpyBackend(exact=exact)


def _cupy(exact: bool) -> Backend:
    from .cupy_backend import CupyBackend  # imports cupy

    return CupyBackend(exact=exact)


def _digest(exact: bool) -> Backend:
    from .digest import DigestBackend

    return DigestBackend()


def _reference(exact: bool) -> Backend:
    from .reference.backend import ReferenceBackend

    return ReferenceBackend(exact=exact)


BACKENDS: dict[str, Callable[[bool], Backend]] = {
    "numpy": _numpy,
    "reference": _reference,
    "cupy": _cupy,
    "digest": _digest,
}
