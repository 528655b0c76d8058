"""One graph of a context, ready for the engine."""

from __future__ import annotations

from typing import NamedTuple

from ..graph import Problem


class Made(NamedTuple):
    """One graph of a context, with devices, places of weights and caches, and pins.

    Attributes:
        problem: one request, the graph; config, buffer types and backends are the same for all graphs of a context.
        input_classes: class of each input object in the order of llama.cpp's list: `llm_graph_input_embd`.
        n_unlisted: tensors that llama.cpp makes in the graph's pool and never lists in the graph; they take room there.
    """

    problem: Problem
    input_classes: tuple[str, ...]
    n_unlisted: int = 0
