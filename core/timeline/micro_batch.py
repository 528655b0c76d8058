"""What llama.cpp's own graph says about its micro-batch: one token per sequence or more, and logits for how many."""

from __future__ import annotations

from ..graph import Problem
from ..log import Run
from ..state import State
from .flops import elements
from .lanes import Logits
from .words import tensor_name

TOKENS, LOGITS = "inp_tokens", "result_output"
"""Names that llama.cpp gives (build_inp_embd, and the end of every model's graph)."""


def is_decode(run: Run) -> bool:
    """Whether every sequence has one token: the file says so, or the graph takes one token at all."""
    meta = run.problem.meta
    if "mode" in meta or "n_tokens" in meta:
        return meta.get("mode") == "decode" or meta.get("n_tokens") == _n_seqs(run.problem)
    return any(one.name == TOKENS and elements(one) == 1 for one in run.request.graph.tensors)


def logits_of(run: Run, state: State) -> Logits | None:
    """The node of the logits, where it has more rows than there are sequences (llama.cpp reserves for all tokens)."""
    for row in range(len(state.nodes) - 1, -1, -1):
        if tensor_name(state, state.nodes[row]) == LOGITS:
            tokens = state.tensors[state.nodes[row]].ne[1]
            return Logits(row, tokens) if tokens > _n_seqs(run.problem) and not is_decode(run) else None
    return None


def _n_seqs(problem: Problem) -> int:
    found = problem.meta.get("n_seqs", 1)
    return found if isinstance(found, int) else 1
