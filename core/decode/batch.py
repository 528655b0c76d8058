"""A batch (llama_batch) as llama_decode gets it, before it is checked and split."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """One token of a batch: its sequences, its position, and whether its results are wanted."""

    seq: tuple[int, ...]
    pos: int
    out: bool


class Batch(NamedTuple):
    """A batch.

    Attributes:
        tokens: in the order given.
        embd: it holds embeddings in place of token ids.
    """

    tokens: tuple[Token, ...]
    embd: bool = False
