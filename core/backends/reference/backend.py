"""The reference backend: numpy in the order of summation of one build of ggml-cpu."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import InputError
from ...op import Op
from ..array_backend import Gathered
from ..backend import Span
from ..kernel import Call, Kernel
from ..maths import Array
from ..numpy_backend import NumpyBackend
from .blocks import unpacked
from .known import REFERENCE
from .libm import library
from .matmul import unpacks


class ReferenceBackend(NumpyBackend):
    """Quantised weights are taken apart once and kept: a byte for each element and their factors."""

    name = "reference"

    def __init__(self, *, exact: bool = False) -> None:
        """Nothing is exact here.

        Raises:
            InputError: `exact` is asked for, or this machine has no C library to call.
        """
        if exact:
            raise InputError("the reference backend rounds as ggml-cpu does: leave --exact out, or take another one")
        library()
        super().__init__()
        self.kernels = REFERENCE

    def _gathered(self, call: Call, kernel: Kernel, sources: Sequence[Span | None]) -> list[Gathered]:
        made = super()._gathered(call, kernel, sources)
        if call.node.op in (Op.MUL_MAT, Op.MUL_MAT_ID) and unpacks(call):
            made[0] = self._weights_of(call, sources[0], made[0])
        return made

    def _weights_of(self, call: Call, span: Span | None, blocks: Gathered) -> Callable[[], Array]:
        tensor = call.source(0)
        name = tensor.dtype.name
        if span is None or not span.constant:
            return lambda: unpacked(name, blocks())
        key = ("unpacked", self.address(span.memory), span.start, name, tensor.ne, tensor.nb)

        def kept() -> Array:
            weights = self._kept.get(key)
            if weights is None:
                weights = self._kept[key] = unpacked(name, blocks())
            return weights

        return kept
