"""Layered drawings of ggml graphs: execution order gives the direction, repeated layers share one drawing."""

from .blocks import Layer, crossing_values, cut_layers, cut_sections
from .kind import Effort, Kind, Shape, layout_block

__all__ = ["Effort", "Kind", "Layer", "Shape", "crossing_values", "cut_layers", "cut_sections", "layout_block"]
