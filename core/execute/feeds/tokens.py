"""The inputs of llama.cpp's graphs for a micro-batch of tokens of one sequence, byte for byte as llama.cpp fills them.

Source: llm_graph_input_*::set_input, llama_kv_cache::set_input_* . Inputs that only other kinds of batches use
(`inp_embd`, `inp_mixed_*`) are not filled, as there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ...tensor import Tensor
from ..cells import EMPTY, Slot
from ..feed import Bytes, Feed

_NUMBERED = re.compile(r"^(.*)~(\d+)$")
_UNUSED = frozenset({"inp_embd", "inp_mixed_tokens", "inp_mixed_embd", "inp_mixed_slots"})


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A micro-batch (llama_ubatch) of one sequence and the cells it goes to.

    Attributes:
        tokens: ids.
        positions: of the tokens in their sequence.
        outputs: which tokens' logits are wanted, as indices.
        slots: of each cache, the one of layer 0 first: that is the order in which ggml lists their inputs.
        scale: `inp_scale_rows`: the factor of each token's embeddings.
    """

    tokens: Sequence[int]
    positions: npt.NDArray[np.int64]
    outputs: Sequence[int]
    slots: tuple[Slot, ...]
    scale: float


class TokensFeed:
    """Inputs from a batch, everything else from another feed.

    Attributes:
        batch: what the next run computes; set before each.
        weights: fills what lies in memory before the run.
    """

    def __init__(self, weights: Feed) -> None:
        """Nothing to compute yet."""
        self.weights = weights
        self.batch = TokenBatch((), np.zeros(0, np.int64), (), (), 1.0)

    def external(self, tensor: Tensor) -> Bytes | None:
        """A weight or a cache."""
        return self.weights.external(tensor)

    def leaf(self, tensor: Tensor) -> Bytes | None:
        """An input of this batch.

        Raises:
            InputError: llama.cpp has no such input for a batch of tokens, or it is of another size.
        """
        found = _NUMBERED.match(tensor.name)
        name, number = (found[1], int(found[2]) - 1) if found else (tensor.name, 0)
        if name in _UNUSED:
            return None
        fill = INPUTS.get(name)
        if fill is None:
            raise InputError(f"input {tensor.name!r} cannot be filled: it is none of {', '.join(INPUTS)}")
        data = np.ascontiguousarray(fill(self.batch, tensor, number)).reshape(-1).view(np.uint8)
        if len(data) != tensor.nbytes:
            raise InputError(
                f"input {tensor.name!r} has {tensor.nbytes} bytes, a batch of {len(self.batch.tokens)} tokens fills "
                f"{len(data)}: the graph was made for another one"
            )
        return data


Filled = npt.NDArray[np.float32] | npt.NDArray[np.float16] | npt.NDArray[np.int32] | npt.NDArray[np.int64]


def _slot(batch: TokenBatch, tensor: Tensor, number: int) -> Slot:
    if number >= len(batch.slots):
        raise InputError(f"input {tensor.name!r}: there are {len(batch.slots)} caches")
    return batch.slots[number]


def _tokens(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    return np.array(batch.tokens, np.int32)


def _positions(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    return batch.positions.astype(np.int32)


def _out_ids(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    return np.array(batch.outputs, np.int32)


def _scale_rows(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    return np.full(len(batch.tokens), batch.scale, np.float32)


def _k_idxs(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    return _slot(batch, tensor, number).cells


def _v_idxs(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    """A cell per token; of a transposed cache an element per token and row: row * cells of the cache + cell."""
    slot = _slot(batch, tensor, number)
    rows = np.arange(tensor.ne[0] // max(1, len(slot.cells)), dtype=np.int64)
    elements: npt.NDArray[np.int64] = rows * slot.size + slot.cells[:, None]
    return elements


def _mask(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    """0 for a cell that a token sees, -inf for empty ones, later tokens, and those before its window."""
    slot = _slot(batch, tensor, number)
    cells, tokens = slot.positions[: tensor.ne[0]], batch.positions[:, None]
    seen = (cells != EMPTY) & (cells <= tokens)
    if slot.window:
        seen &= tokens - cells < slot.window
    mask: npt.NDArray[np.float32] = np.where(seen, np.float32(0), np.float32(-np.inf))
    return mask.astype(np.float16) if tensor.dtype.name == "f16" else mask


def _hadamard(batch: TokenBatch, tensor: Tensor, number: int) -> Filled:
    """ggml_gen_hadamard: Sylvester's matrix, divided by the root of its size."""
    matrix = np.full((1, 1), np.float64(1) / np.float64(np.sqrt(np.float32(tensor.ne[0]))), np.float32)
    while len(matrix) < tensor.ne[0]:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


INPUTS: dict[str, Callable[[TokenBatch, Tensor, int], Filled]] = {
    "inp_tokens": _tokens,
    "inp_pos": _positions,
    "out_ids": _out_ids,
    "inp_scale_rows": _scale_rows,
    "attn_inp_k_idxs": _k_idxs,
    "attn_inp_v_idxs": _v_idxs,
    "attn_inp_kq_mask": _mask,
    "attn_inp_k_rot": _hadamard,
    "attn_inp_v_rot": _hadamard,
}
"""What fills each input; called with the batch, the tensor and how many of the same name come before it."""
