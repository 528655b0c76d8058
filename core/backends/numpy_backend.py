"""The numpy backend: every simulated device in the memory of this machine."""

from __future__ import annotations

import numpy as np

from .array_backend import ArrayBackend
from .half import half
from .maths import Array


class NumpyBackend(ArrayBackend):
    """numpy's arrays; the matrix products are those of its BLAS."""

    name = "numpy"

    def __init__(self, *, exact: bool = False) -> None:
        """`exact`: plain float32 where ggml-cpu rounds."""
        super().__init__(np, exact=exact)

    def _half(self, values: Array) -> Array:
        return half(values)
