"""Graph builders: from a GGUF header to the graph that llama.cpp b11549 builds, one file per architecture."""

from .build import MODELS, architecture_of, build, read_hparams
from .built import Built

__all__ = ["MODELS", "Built", "architecture_of", "build", "read_hparams"]
