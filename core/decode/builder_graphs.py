"""Graphs of a session from our own builders."""

from __future__ import annotations

from ..llama.assemble import GraphMaker
from ..llama.made import Made
from ..models.shape import GraphShape


class BuilderGraphs:
    """A `GraphSource` for an architecture with a builder; the maker remembers what it made."""

    def __init__(self, maker: GraphMaker, flash: bool) -> None:
        """`flash`: flash attention is on."""
        self.maker = maker
        self.flash = flash

    def graph(self, shape: GraphShape) -> Made:
        """The graph of this shape.

        Raises:
            InputError: the builder lacks a part that it needs.
        """
        return self.maker.graph(shape, self.flash or shape.probe_flash)
