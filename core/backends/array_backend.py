"""The kernels over numpy or a module that works like it: gather, math, scatter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..op import Op
from ..tensor import Tensor
from .backend import Memory, Span, Summary
from .gather import INTEGERS, blocks, numbers, to_values
from .kernel import Call, Kernel, Read
from .kernels.known import KERNELS
from .maths import Array, Maths
from .scatter import store, store_rows

Gathered = Callable[[], Array]


class ArrayBackend:
    """Memory is flat uint8 arrays of the module; every result is written to its address, nothing is kept elsewhere.

    What a weight holds in another type than float32 is converted once and kept: a conversion for each use would take
    longer than the math.
    """

    name = ""
    arithmetic = True

    def __init__(self, xp: Any, *, exact: bool) -> None:
        """`exact`: plain float32 where ggml-cpu rounds."""
        self.xp = xp
        self.maths = Maths(xp, self._half, exact)
        self.kernels: Mapping[Op, Kernel] = KERNELS
        self._kept: dict[tuple[object, ...], Array] = {}
        self._weights: list[Memory] = []

    @property
    def kept_bytes(self) -> int:
        """Bytes of the weights that were converted and are kept."""
        return sum(int(values.nbytes) for values in self._kept.values())

    def _half(self, values: Array) -> Array:
        return values.astype(self.xp.float16).astype(self.xp.float32)

    def to_host(self, array: Array) -> Any:
        """The array as numpy's."""
        return array

    def address(self, memory: Memory) -> int:
        """Where the buffer begins, to tell two apart."""
        return int(memory.__array_interface__["data"][0])

    def buffer(self, size: int, fill: int = 0) -> Memory:
        """`size` bytes, all `fill`."""
        return self.xp.full(size, fill, dtype=self.xp.uint8) if fill else self.xp.zeros(size, dtype=self.xp.uint8)

    def adopt(self, data: npt.NDArray[np.uint8]) -> Memory:
        """The array itself where the module can use it."""
        return self.xp.asarray(data)

    def weight(self, tensor: Tensor, load: Callable[[], npt.NDArray[np.uint8] | None]) -> Memory:
        """Its bytes, or zeros."""
        data = load()
        memory = self.buffer(tensor.nbytes) if data is None else self.adopt(data)
        self._weights.append(memory)  # what is kept goes by its address, which must not become another one's
        return memory

    def write(self, memory: Memory, start: int, data: npt.NDArray[np.uint8]) -> None:
        """Bytes of the host into a buffer."""
        memory[start : start + data.size] = self.xp.asarray(data)

    def read(self, memory: Memory, start: int, size: int) -> npt.NDArray[np.uint8]:
        """A copy of bytes on the host."""
        return np.array(self.to_host(memory[start : start + size]))

    def copy(self, source: Memory, source_start: int, target: Memory, target_start: int, size: int) -> None:
        """Bytes from one buffer to another."""
        target[target_start : target_start + size] = source[source_start : source_start + size]

    def reads(self, call: Call) -> Sequence[bool]:
        """Whether the math looks at a source, by slot."""
        kernel = self.kernels.get(call.node.op)
        if kernel is None:
            return [source is not None for source in call.src]
        return [
            source is not None and read is not Read.NOT
            for source, read in zip(call.src, kernel.reads(call), strict=False)
        ]

    def prepare(self, call: Call, target: Span, sources: Sequence[Span | None]) -> Callable[[], None]:
        """Check the node and bind its sources and its result to their addresses."""
        node = call.node
        kernel = self.kernels.get(node.op)
        if kernel is None:
            raise InputError(
                f"node {node.name!r} ({node.op}): there is no kernel for this op; --backend digest needs none"
            )
        wrong = kernel.check(call)
        if wrong:
            raise InputError(f"node {node.name!r} ({node.op}): {wrong}")
        gathered = self._gathered(call, kernel, sources)
        xp, maths, compute = self.xp, self.maths, kernel.compute

        def whole() -> None:
            store(xp, node, target, compute(maths, call, [get() for get in gathered]), self.to_host)

        def some_rows() -> None:
            arrays = [get() for get in gathered]
            store_rows(xp, node, target, compute(maths, call, arrays), arrays[kernel.rows_from], self.to_host)

        return _named(node, whole if kernel.rows_from < 0 else some_rows)

    def _gathered(self, call: Call, kernel: Kernel, sources: Sequence[Span | None]) -> list[Gathered]:
        """Per slot a function that makes the contiguous array."""
        made: list[Gathered] = []
        for tensor, span, read in zip(call.src, sources, kernel.reads(call), strict=False):
            if tensor is None or span is None or read is Read.NOT:
                made.append(_nothing)
            elif read is Read.BLOCKS:
                made.append(self._blocks_of(tensor, span))
            else:
                made.append(self._values_of(tensor, span))
        return made

    def _blocks_of(self, tensor: Tensor, span: Span) -> Gathered:
        seen = blocks(self.xp, tensor, span)
        return lambda: self.xp.ascontiguousarray(seen)

    def _values_of(self, tensor: Tensor, span: Span) -> Gathered:
        xp, dtype, to_host = self.xp, tensor.dtype, self.to_host
        seen = blocks(xp, tensor, span) if dtype.quantized else numbers(xp, tensor, span)
        if dtype.name == "f32" and seen.flags.c_contiguous:
            return lambda: seen
        if not span.constant:
            return lambda: to_values(xp, dtype, seen, to_host)
        key = (self.address(span.memory), span.start, dtype.id, tensor.ne, tensor.nb)

        values = self._kept.get(key)
        if values is None:  # now, not in the first node that reads it: that would be blamed for the time
            values = self._kept[key] = to_values(xp, dtype, seen, to_host)
        return lambda: values

    def elements(self, tensor: Tensor, span: Span) -> npt.NDArray[np.uint8]:
        """The bytes of the elements, row after row."""
        if not tensor.nbytes:
            return np.empty(0, np.uint8)
        return np.array(self.to_host(blocks(self.xp, tensor, span))).reshape(-1)

    def values(self, tensor: Tensor, span: Span) -> npt.NDArray[Any]:
        """A copy on the host; an empty tensor as an empty array."""
        if not tensor.nbytes:
            kind = tensor.dtype.name if tensor.dtype.name in INTEGERS else "f32"
            return np.empty(
                tensor.ne[::-1],
                {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}.get(kind, np.float32),
            )
        seen = blocks(self.xp, tensor, span) if tensor.dtype.quantized else numbers(self.xp, tensor, span)
        return np.array(self.to_host(to_values(self.xp, tensor.dtype, seen, self.to_host)))

    def summary(self, tensor: Tensor, span: Span) -> Summary:
        """Counted on the host."""
        return summarize(self.values(tensor, span))


def summarize(values: npt.NDArray[Any]) -> Summary:
    """Smallest, largest and mean of what is finite; how many are not."""
    if values.dtype.kind != "f":
        return Summary(float(values.min()), float(values.max()), float(values.mean()), 0, 0) if values.size else _NONE
    total = float(values.sum(dtype=np.float64)) if values.size else 0.0
    if values.size and np.isfinite(total):
        return Summary(float(values.min()), float(values.max()), total / values.size, 0, 0)
    nans, infs = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Summary(None, None, None, nans, infs)
    return Summary(float(finite.min()), float(finite.max()), float(finite.mean(dtype=np.float64)), nans, infs)


_NONE = Summary(None, None, None, 0, 0)


def _nothing() -> Array:
    return None


def _named(node: Tensor, run: Callable[[], None]) -> Callable[[], None]:
    """What goes wrong inside names the node."""

    def computed() -> None:
        try:
            run()
        except InputError as error:
            raise InputError(f"node {node.name!r} ({node.op}): {error}") from None

    return computed
