"""A micro-batch (llama_ubatch): what process_ubatch gets."""

from __future__ import annotations

import msgspec


class Ubatch(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens that are computed in one graph; the tuples have one entry for each.

    Attributes:
        equal_seqs: from an equal split or one sequence: tokens are sorted by sequence, equally many of each.
        n_seq_tokens: tokens of each sequence set.
        n_seqs: sequence sets; with a simple split, tokens.
        seq_id_unq: all sequences, sorted.
        token: it has token ids.
        embd: it has embeddings.
        pos: positions.
        seq: sequences of each token, in llama.cpp's order.
        out: it is an output.
    """

    equal_seqs: bool
    n_seq_tokens: int
    n_seqs: int
    seq_id_unq: tuple[int, ...]
    token: bool
    embd: bool
    pos: tuple[int, ...]
    seq: tuple[tuple[int, ...], ...]
    out: tuple[bool, ...]

    @property
    def n_tokens(self) -> int:
        """Tokens."""
        return len(self.pos)

    @property
    def n_outputs(self) -> int:
        """Tokens whose results are computed."""
        return sum(self.out)

    @property
    def n_seqs_unq(self) -> int:
        """Different sequences."""
        return len(self.seq_id_unq)
