"""Arithmetic for the sizes that llama.cpp logs, with the builds each formula holds for; public logs confirm it.

The engine's plan is the answer; these say in one line why it is what it is. They hold where the logits are the peak,
which they are when the vocabulary is larger than three times the feed-forward width (and, without flash attention,
larger than the attention matrix of one layer). Inputs of a few bytes per token are left out: `SMALL_INPUTS`.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

F32 = 4
"""Bytes of an f32."""
SMALL_INPUTS = 64 << 10
"""Bytes that token ids, positions and cell indices of a micro-batch of 512 stay below."""


class Build(Enum):
    """Builds of llama.cpp that differ in what the graph keeps.

    b11549 builds a third branch of embeddings, for tokens and given embeddings mixed in one batch. It is not computed
    for plain tokens, but its result is never read, so the allocator keeps it to the end, and the logits lie behind it.
    """

    OLDER = "2025 and 2026 builds without the branch for mixed embeddings"
    B11549 = "b11549"


class Sizes(NamedTuple):
    """What the formulas take.

    Attributes:
        n_vocab: tokens of the vocabulary.
        n_embd: elements of the residual stream.
        n_ubatch: tokens of the micro-batch.
        n_outputs: of these, tokens with logits; as many at reserve.
        kv_cells: cells of all caches that have a mask of their own (full and window), all streams.
        mask_bytes: of one entry of a mask: 2 with flash attention, else 4.
    """

    n_vocab: int
    n_embd: int
    n_ubatch: int
    n_outputs: int
    kv_cells: int = 0
    mask_bytes: int = 2

    @property
    def stream(self) -> int:
        """Bytes of the residual stream of a micro-batch."""
        return self.n_embd * self.n_ubatch * F32

    @property
    def logits(self) -> int:
        """Bytes of the logits."""
        return self.n_vocab * self.n_outputs * F32

    @property
    def masks(self) -> int:
        """Bytes of the masks."""
        return self.kv_cells * self.n_ubatch * self.mask_bytes


class Expected(NamedTuple):
    """A number of bytes, splits or nodes, and the formula it comes from."""

    value: int
    formula: str


def device_compute(sizes: Sizes, build: Build) -> Expected:
    """Compute buffer of a GPU that has every layer and the output, in a prefill graph."""
    if build is Build.OLDER:
        return Expected(sizes.logits + sizes.stream, "n_vocab*n_outputs*4 + n_embd*n_ubatch*4")
    return Expected(sizes.logits + 4 * sizes.stream + sizes.masks, "n_vocab*n_outputs*4 + 4*n_embd*n_ubatch*4 + masks")


def host_compute(sizes: Sizes, build: Build) -> Expected:
    """Compute buffer of the host when everything is offloaded: masks and embeddings, with flash attention."""
    times = 2 if build is Build.OLDER else 4
    return Expected(sizes.masks + times * sizes.stream, f"masks + {times}*n_embd*n_ubatch*4")


def cpu_compute(sizes: Sizes, build: Build) -> Expected:
    """Compute buffer of the CPU alone, for the older builds that have no branch for given embeddings either."""
    if build is Build.OLDER:
        return Expected(sizes.logits + sizes.stream, "n_vocab*n_outputs*4 + n_embd*n_ubatch*4")
    return Expected(sizes.logits + 5 * sizes.stream + sizes.masks, "n_vocab*n_outputs*4 + 5*n_embd*n_ubatch*4 + masks")


def split_count(n_gpus: int, n_cpu_moe: int = 0) -> Expected:
    """Splits of a decode graph with everything offloaded, or on the CPU alone; the same in all builds.

    Args:
        n_gpus: devices that have layers; 0 for the CPU alone.
        n_cpu_moe: layers whose experts stay on the CPU; each adds one split there and one back.
    """
    if not n_gpus:
        return Expected(1, "1")
    return Expected(1 + n_gpus + 2 * n_cpu_moe, "1 + GPUs + 2*n_cpu_moe")


def llama_nodes(n_layer: int, build: Build) -> Expected:
    """Nodes of the graph of a dense Llama with flash attention."""
    more = 9 if build is Build.B11549 else 7
    return Expected(31 * n_layer + more, f"31*n_layer + {more}")
