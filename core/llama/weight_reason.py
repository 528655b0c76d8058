"""Why llama.cpp loaded a weight where it lies: the answer that ggml's scheduler starts from."""

from __future__ import annotations

from ..explain.sentence import Sentence
from ..state import State
from .placement import Placement


def weight_reason(placement: Placement, state: State, tensor: int) -> Sentence | None:
    """The reason for a weight of the graph; None for other tensors, and where our placement is not llama.cpp's.

    Args:
        placement: of the model, under the options it was opened with.
        state: of one of its graphs.
        tensor: an id in it.
    """
    one = state.tensors[tensor]
    if tensor >= state.n_graph or not one.is_weight or one.view_src >= 0:
        return None
    buft = state.bufts[one.buft].name
    name = one.name.partition("~")[0]
    for placed in placement.weights:
        if placed.tensor.name == name and placed.buft == buft:
            return Sentence("loaded", f"llama.cpp loads it into **{buft}**: {placed.why}.")
    return None
