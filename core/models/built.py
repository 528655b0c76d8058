"""What a builder hands over: the graph as llama.cpp gives it to ggml, before any device is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from ..graph import Graph
from .shape import GraphShape

INPUT_LAYER = -1
"""The layer number of weights that llama.cpp loads for the input (`dev_input`); those for the output have `n_layer`."""


class WeightUse(NamedTuple):
    """A weight of the file and the layer it was loaded for.

    One weight can be loaded more than once (TENSOR_DUPLICATED: tied embeddings, rope factors), once per place.

    Attributes:
        name: as in the GGUF.
        layer: `INPUT_LAYER`, a transformer layer, or `n_layer` for the output.
    """

    name: str
    layer: int


class Called(NamedTuple):
    """One call of llama.cpp's naming callback (llm_graph_context::cb), which also pins some nodes.

    Attributes:
        tensor: id in the graph.
        name: the name without the layer: `norm`, `Qcur`.
        il: the layer, -1 for none.
    """

    tensor: int
    name: str
    il: int


Where = Callable[[WeightUse], object]
"""The buffer type (or anything else that can be hashed and tells two apart) that a weight is loaded into."""


class Built(msgspec.Struct, frozen=True):
    """A graph without devices.

    Tensors stand in the order leafs, nodes, each as ggml lists them; no `buft`, `is_weight` or `pin` is set.

    Attributes:
        arch: `general.architecture`.
        shape: what it was built for.
        graph: tensors with unique names, and the roots in llama.cpp's order.
        weights: leaf id -> weight; these leafs lie in buffers with usage WEIGHTS.
        caches: leaf id -> layer whose KV cache or state it is (allocated before the graph, usage ANY).
        called: the naming callback's calls for tensors of the graph, in order.
        attention: (id, layer) of each FLASH_ATTN_EXT, what automatic flash attention looks at.
        after_attention: ids pinned to the CPU when the KV cache is not offloaded (build_attn_mha, flash attention off).
        n_layer: transformer layers.
        inputs: class of each of llama.cpp's input objects, in order: `llm_graph_input_embd`.
    """

    arch: str
    shape: GraphShape
    graph: Graph
    weights: dict[int, WeightUse]
    caches: dict[int, int]
    called: tuple[Called, ...]
    attention: tuple[tuple[int, int], ...]
    after_attention: tuple[int, ...]
    n_layer: int
    inputs: tuple[str, ...]
