"""Where the graphs of a session come from: our builders, or the real llama.cpp for all other models."""

from __future__ import annotations

from typing import Protocol

from ..llama.made import Made
from ..models.shape import GraphShape


class GraphSource(Protocol):
    """Makes graphs; equal shapes give the same object."""

    def graph(self, shape: GraphShape) -> Made:
        """The graph of this shape.

        Raises:
            InputError: there is none, for example because no builder knows a part of it.
        """
