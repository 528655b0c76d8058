"""Memory pools of metadata: a ggml_context holds structs, not data, and its size is fixed before the first graph.

Sources: ggml_new_object, ggml_graph_nbytes, ggml_graph_overhead_custom (ggml.c), llm_graph_result (llama-graph.cpp),
ggml_backend_sched_new (ggml-backend.cpp), ggml_gallocr_reserve_n_impl (ggml-alloc.c). Sizes are those of 64-bit builds.
"""

from __future__ import annotations

from dataclasses import dataclass

from .allocator.hash_set import hash_size
from .errors import GgmlAbort

OBJECT_SIZE = 32
"""Bytes of a ggml_object, the head of everything in a pool."""
TENSOR_SIZE = 336
"""Bytes of a ggml_tensor."""
CGRAPH_SIZE = 96
"""Bytes of a ggml_cgraph."""
TENSOR_OVERHEAD = OBJECT_SIZE + TENSOR_SIZE
"""ggml_tensor_overhead."""
MEM_ALIGN = 16
"""GGML_MEM_ALIGN."""
SPLIT_INPUTS = 60
"""Copies that the scheduler makes room for per node: 30 inputs of a split (GGML_SCHED_MAX_SPLIT_INPUTS), twice."""

_POINTER = 8
_USE_COUNT = 4
_WORD_BITS = 32


def graph_nbytes(size: int) -> int:
    """Bytes of a cgraph for `size` nodes and `size` leafs, with its hash set (ggml_graph_nbytes, without gradients).

    >>> graph_nbytes(1024)
    41380
    """
    slots = hash_size(2 * size)
    end = CGRAPH_SIZE + 2 * size * _POINTER
    end = _pad(end, _USE_COUNT) + slots * _USE_COUNT
    end = _pad(end, _POINTER) + slots * _POINTER
    return end + -(-slots // _WORD_BITS) * (_WORD_BITS // 8)


def graph_overhead(size: int) -> int:
    """Bytes that such a cgraph takes in a pool (ggml_graph_overhead_custom).

    >>> graph_overhead(1024)
    41424
    """
    return OBJECT_SIZE + _pad(graph_nbytes(size), MEM_ALIGN)


def result_pool_bytes(max_nodes: int) -> int:
    """Bytes of the pool of a result object, in which every graph is built (llm_graph_result)."""
    return TENSOR_OVERHEAD * max_nodes + graph_overhead(max_nodes)


def sched_pool_bytes(max_nodes: int) -> int:
    """Bytes of the scheduler's pool of copies and views (context_buffer_size of ggml_backend_sched_new)."""
    return SPLIT_INPUTS * TENSOR_SIZE * max_nodes + graph_overhead(max_nodes)


def sched_hash_slots(max_nodes: int) -> int:
    """Slots of the scheduler's hash set."""
    return hash_size(max_nodes)


def graph_max_nodes(arch: str, n_tokens: int, n_tensors: int, n_sampler_nodes: int = 0) -> int:
    """Nodes of a graph at most (llama_context::graph_max_nodes), without LoRA and training.

    Args:
        arch: `general.architecture`.
        n_tokens: of a micro-batch at most.
        n_tensors: weights as loaded, copies on further devices counted.
        n_sampler_nodes: nodes of all samplers that run in the graph.
    """
    if arch in MANY_NODES:
        per_token, per_tensor = MANY_NODES[arch]
        found = max(per_token * n_tokens, per_tensor * n_tensors)
    else:
        found = max(1024, 8 * n_tensors)
    return found + n_sampler_nodes


MANY_NODES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("kimi-k3", "glm5-next"), (160, 64)),
    "hrm_text": (80, 64),
    **dict.fromkeys(("qwen3next", "kimi-linear", "bailingmoe3", "qwen35", "qwen35moe", "qwen4exp"), (40, 32)),
    **dict.fromkeys(("deepseek4", "nanbeige", "minimax-01", "minimax-m3", "hy_v4"), (40, 32)),
}
"""Architectures whose graphs have more nodes than others: nodes per token, nodes per weight; the larger counts."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The pool of a result object, with one graph in it.

    Attributes:
        max_nodes: what it was made for: nodes of a graph at most.
        n_nodes: nodes of the graph.
        n_inputs: leafs that were made in the pool: inputs and constants. Weights and caches live elsewhere.
    """

    max_nodes: int
    n_nodes: int
    n_inputs: int

    @property
    def capacity(self) -> int:
        """Bytes."""
        return result_pool_bytes(self.max_nodes)

    @property
    def objects(self) -> int:
        """The cgraph, and one for each tensor made in it."""
        return 1 + self.n_nodes + self.n_inputs

    @property
    def used(self) -> int:
        """Bytes: the cgraph comes first, tensors follow."""
        return graph_overhead(self.max_nodes) + TENSOR_OVERHEAD * (self.objects - 1)

    @property
    def fill(self) -> float:
        """Share of the capacity that is used, 0 to 1 (above 1 it does not fit)."""
        return self.used / self.capacity

    @property
    def hash_slots(self) -> int:
        """Slots of the graph's own hash set."""
        return hash_size(2 * self.max_nodes)

    def check(self) -> None:
        """The graph fits.

        Raises:
            GgmlAbort: it does not, in ggml's words and what decides about the room.
        """
        if self.used > self.capacity:
            needed = graph_overhead(self.max_nodes) + TENSOR_OVERHEAD * (self.max_nodes + 1)
            raise GgmlAbort(
                f"not enough space in the context's memory pool (needed {needed}, available {self.capacity}): "
                f"{self.objects - 1} tensors, and the pool of a graph has room for {self.max_nodes}; {KNOB}"
            )


def check_sched(max_nodes: int, n_nodes: int, n_leafs: int) -> None:
    """The scheduler takes the graph (ggml_backend_sched_alloc_graph, ggml_backend_sched_reserve).

    Args:
        max_nodes: what the scheduler was made for.
        n_nodes: of the graph as built.
        n_leafs: of the graph as built.

    Raises:
        GgmlAbort: its hash set is too small.
    """
    slots = sched_hash_slots(max_nodes)
    if slots < n_nodes + n_leafs:
        raise GgmlAbort(
            "GGML_ASSERT((int)sched->hash_set.size >= graph->n_nodes + graph->n_leafs) failed: "
            f"{n_nodes} nodes and {n_leafs} leafs, the scheduler's hash set has {slots} slots; {KNOB}"
        )


def check_graph(max_nodes: int, n_nodes: int, n_leafs: int) -> None:
    """The graph has room for its nodes and leafs (ggml_visit_parents_graph).

    Raises:
        GgmlAbort: there are more.
    """
    for what, count in (("nodes", n_nodes), ("leafs", n_leafs)):
        if count > max_nodes:
            raise GgmlAbort(
                f"GGML_ASSERT(cgraph->n_{what} < cgraph->size) failed: {count} {what}, a graph has room for "
                f"{max_nodes}; {KNOB}"
            )


KNOB = "that number is max_nodes, which llama.cpp takes from the number of the model's tensors (graph_max_nodes)"
"""What decides about all these sizes."""


def _pad(size: int, align: int) -> int:
    return -(-size // align) * align
