"""What fills the tensors that a graph does not compute: weights, caches, inputs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..tensor import Tensor

Bytes = npt.NDArray[np.uint8]


class Feed(Protocol):
    """Bytes by tensor: a flat uint8 array of `tensor.nbytes`, which may be read-only, or None for zeros."""

    def external(self, tensor: Tensor) -> Bytes | None:
        """A tensor that lies in memory before the plan is made: a weight or a cache. Asked once per name."""

    def leaf(self, tensor: Tensor) -> Bytes | None:
        """A tensor that the plan places and the user fills before every run: an input, or a leaf without buffer."""


class Zeros:
    """Nothing is known: everything is zeros."""

    def external(self, tensor: Tensor) -> Bytes | None:
        """Zeros."""
        return None

    def leaf(self, tensor: Tensor) -> Bytes | None:
        """Zeros."""
        return None
