"""When a graph may be used again, written down once more; and how a micro-batch stands in the recordings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from galloscope.tests.core.decode.restated_memory import Piece
from galloscope.tests.core.decode.restated_split import Seen


@dataclass(frozen=True)
class Active:
    """The graph that may be used again: what it was made of."""

    piece: Piece
    embd: bool
    n_outputs: int
    samplers: dict[int, int]
    embeddings: bool
    causal: bool
    seen: Seen
    inputs: list[str]


def input_fits(name: str, was: Active, now: Active) -> bool:
    """An input object is asked; all that other shapes could differ in is equal already."""
    if name in ("llm_graph_input_mean", "llm_graph_input_cls"):
        return False
    if "attn" in name or "hybrid" in name or name.endswith("_rs"):
        return was.seen == now.seen
    return True


def same_params(was: Active, now: Active) -> bool:
    """llm_graph_params::allow_reuse."""
    a, b = was.piece, now.piece
    return (
        (a.equal, len(a.rows), a.n_seqs, len(a.unq)) == (b.equal, len(b.rows), b.n_seqs, len(b.unq))
        and was.embd == now.embd
        and (not a.equal or a.unq == b.unq)
        and was.n_outputs == now.n_outputs
        and was.samplers == now.samplers
        and (not now.samplers or [(r.out, r.seqs[0]) for r in a.rows] == [(r.out, r.seqs[0]) for r in b.rows])
        and was.embeddings == now.embeddings
        and was.causal == now.causal
    )


def written(piece: Piece, embd: bool) -> dict[str, Any]:
    """A micro-batch as the recordings have it."""
    return {
        "equal_seqs": int(piece.equal),
        "n_tokens": len(piece.rows),
        "n_seq_tokens": piece.n_seq_tokens,
        "n_seqs": piece.n_seqs,
        "n_seqs_unq": len(piece.unq),
        "seq_id_unq": piece.unq,
        "token": not embd,
        "embd": embd,
        "pos": [row.pos for row in piece.rows],
        "seq": [list(row.seqs) for row in piece.rows],
        "out": [int(row.out) for row in piece.rows],
    }


def heard(values: list[int], tested: bool, built: bool) -> list[int]:
    """What the recorder hears: the values asked by the test and by the builder, equal neighbours once."""
    said = values * (tested + built)
    return [value for i, value in enumerate(said) if i == 0 or value != said[i - 1]]
