"""The table of tensors as columns: what the scene does not already know about each."""

from __future__ import annotations

from typing import Any

from ...core.explain.usage import current_lifetimes
from ...core.state import State
from .columns import column


def table_columns(state: State) -> dict[str, Any]:
    """Columns by tensor id; -1 where there is no answer.

    `step` is the place in the order of execution, `born` and `dies` are the steps of its memory.
    """
    count = len(state.tensors)
    step, split = [-1] * count, [-1] * count
    for i, (tensor, _) in enumerate(state.alloc_nodes):
        step[tensor] = i
    for number, one in enumerate(state.splits):
        for tensor in state.nodes[one.start : one.end]:
            split[tensor] = number
    lives = current_lifetimes(state)
    life = [lives.get(tensor) for tensor in range(count)]
    chunked = {b for b, one in enumerate(state.buffers) if len(one.chunks) > 1}
    return {
        "cause": [cause.value if cause is not None else "" for cause in state.causes],
        "place": [_place(state, one.buffer, one.chunk, chunked) if one is not None else "" for one in life],
        "step": column(step, "int32"),
        "split": column(split, "int32"),
        "offset": column((one.offset if one is not None else -1 for one in life), "float64"),
        "size": column((one.size if one is not None else -1 for one in life), "float64"),
        "born": column((one.born if one is not None else -1 for one in life), "int32"),
        "dies": column((one.dies if one is not None else -1 for one in life), "int32"),
        "parent": column((one.parent if one is not None else -1 for one in life), "int32"),
    }


def _place(state: State, buffer: int, chunk: int, chunked: set[int]) -> str:
    name = state.buffers[buffer].buft.name
    return f"{name} #{chunk}" if buffer in chunked else name
