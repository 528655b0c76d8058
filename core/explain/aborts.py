"""What ggml's assert texts mean, for a person who asks what to change."""

from __future__ import annotations

from ..op import Op
from ..state import State
from .sentence import name

_MEANINGS = (
    ("out of free blocks", "a chunk can hold at most 256 free blocks"),
    ("tensor->buffer == NULL", "a buffer of 0 bytes has no address, so ggml places its tensors a second time"),
    ("ggml_backend_buffer_get_size", "a leaf that only a root names outgrew its place, and nothing checks leafs"),
    ("buffers[-1]", "a leaf that only a root names has no place in the plan in force, and nothing checks leafs"),
    ("GGML_ASSERT(buffer)", "the plan needs a chunk of 0 bytes in a buffer that was made without one"),
    ("failed to reserve memory", "all 16 chunks of a buffer are in use and none has room"),
    ("ggml-impl.h", "the allocator's hash set is full: too many bases of views are not in the graph"),
    ("may_expand", "the buffer type asks for extra bytes behind an op where ggml allows none"),
    ("n_dep_nodes", "an allocation dependency names a node that is not in the graph"),
    ("id < n_expert", "an expert id is out of range"),
    ("pre-allocated tensor", "what an op writes lies in memory already, so the op must run there, and cannot"),
)


def meaning(state: State) -> str:
    """Why the run stops, in words; empty where ggml's text already says it."""
    text = state.abort or ""
    if "cur_backend_id != -1" in text:
        return _no_backend(state)
    if "buffer_id >= 0" in text:
        lost = next((tensor for tensor, backend in state.alloc_leafs + state.alloc_nodes if backend < 0), -1)
        return f"{name(state.names[lost])} has no device: no op reads it directly" if lost >= 0 else ""
    return next((words for mark, words in _MEANINGS if mark in text), "")


def _no_backend(state: State) -> str:
    """The first op that every backend refused."""
    count = len(state.backends)
    for node in state.nodes:
        refusals = [state.refused[node, b] for b in range(count) if (node, b) in state.refused]
        if state.backend_ids[node] < 0 and len(refusals) == count and state.tensors[node].op is not Op.NONE:
            return f"no device can run {name(state.names[node])}: {'; '.join(dict.fromkeys(refusals))}"
    return ""
