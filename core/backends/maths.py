"""The arithmetic a kernel computes with: an array module, and the one rounding that the array standard lacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Array = Any
"""An array of the module in `Maths.xp`: numpy, cupy or another one that keeps to the array API standard."""


@dataclass(frozen=True, slots=True)
class Maths:
    """What a kernel is given to compute with.

    Attributes:
        xp: the array module; kernels call nothing of it beyond the array API standard.
        half: float32 -> float32, rounded to the nearest float16 (ties to even) on the way.
        exact: compute in plain float32 where ggml-cpu rounds (activations of a product to the weight's vec_dot type,
            the gelu table, queries and sums of flash attention).
    """

    xp: Any
    half: Callable[[Array], Array]
    exact: bool = False
