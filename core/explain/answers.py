"""The page's opening: two to four sentences derived from the log, the most telling first, each with its evidence."""

from __future__ import annotations

from collections import Counter

from ..check.checker import Violation
from ..events import Cause, Refusal, SplitReason
from ..op import Op
from ..state import State
from ..text import bytes_text, shape_text
from .aborts import meaning
from .hazards import hazards
from .sentence import Sentence, count, name
from .stats import split_bytes
from .usage import device_name, usage

MOST = 4

REFUSAL_WORDS = {
    Refusal.EXTERNAL: "the parent is not ggml's to overwrite",
    Refusal.OUTPUT: "it is an output",
    Refusal.LAYOUT: "its shape or strides differ",
    Refusal.CHILDREN: "it has another reader",
    Refusal.VIEWS: "a view of it is still in use",
}


def answers(state: State, violations: list[Violation], planned: State | None = None) -> list[Sentence]:
    """At most four sentences; one that has nothing to say is left out.

    Args:
        state: of a run.
        violations: what the checker found in it.
        planned: the state of the run that made the plan in force, where it is another one.
    """
    found = [
        _abort(state),
        *hazards(state, violations, planned),
        _peak(state),
        _fallback(state),
        _splits(state),
        _offload(state),
        _pipeline(state),
        _realloc(state),
        _in_place(state),
    ]
    return [sentence for sentence in found if sentence is not None][:MOST]


def _abort(state: State) -> Sentence | None:
    if state.abort is None:
        return None
    reason = meaning(state)
    text = f"{reason} ({name(state.abort)})" if reason else name(state.abort)
    return Sentence("abort", f"**Real ggml stops here**: {text}.", alarm=True)


def _peak(state: State) -> Sentence | None:
    used = [one for one in usage(state) if one.at_peak]
    if not used:
        return None
    top = max(used, key=lambda one: one.size)
    owner = top.at_peak[0]
    tensor = state.tensors[owner]
    life = state.lifetimes.get(owner)
    size = life.size if life is not None else tensor.nbytes
    at = state.alloc_nodes[top.peak_step][0] if state.alloc_nodes else owner
    what = f"{tensor.dtype.name} {shape_text(tensor.ne)}"
    scratch = state.buffers[top.buffer].buft.alloc_size(owner, state.tensors, state.src[owner]) - tensor.nbytes
    if scratch > 0:
        what += f" and {bytes_text(scratch)} behind it that the buffer type asks for"
    kind = "result" if tensor.op is not Op.NONE else "copy" if owner >= state.n_graph else "tensor"
    whose = f"this {kind} ({what})" if at == owner else f"{name(state.names[owner])} ({what})"
    share = round(100 * size / top.peak)
    device = device_name(state, top)
    if top.size == top.peak:
        lead = f"{device} peaks at **{bytes_text(top.size)}** at {name(state.names[at])}"
        return Sentence("peak", f"{lead}: {whose} is {bytes_text(size)} of it, {share} %.", tensor=owner)
    return Sentence(
        "peak",
        f"{device} needs **{bytes_text(top.size)}**. Alive at its peak, {name(state.names[at])}: "
        f"{bytes_text(top.peak)}, of which {share} % are {whose}; "
        f"{bytes_text(max(0, top.size - top.peak))} lie between tensors.",
        tensor=owner,
    )


def _splits(state: State) -> Sentence | None:
    if not state.splits:
        return None
    total = sum(split_bytes(state, one) for one in state.splits)
    if len(state.splits) == 1:
        only = state.splits[0]
        copied = (
            f"{count(len(only.inputs), 'input')}, {bytes_text(total)}, copied there"
            if only.inputs
            else "nothing is copied"
        )
        return Sentence(
            "splits", f"**1 split**: everything runs on {state.backends[only.backend].name}, {copied}.", split=0
        )
    entry = 2 if len(state.splits) > 2 else 1  # the first cut only brings the embeddings in
    number = max(range(entry, len(state.splits)), key=lambda k: (split_bytes(state, state.splits[k]), -k))
    split = state.splits[number]
    start = f"split {number} ({state.backends[split.backend].name}) begins at node {split.start}"
    if not split.inputs:
        return Sentence(
            "splits", f"**{len(state.splits)} splits**, {bytes_text(total)} copied per batch; {start}.", split=number
        )
    biggest = max(split.inputs, key=lambda t: (_is_result(state, t), state.tensors[t].nbytes))
    source = state.backend_ids[biggest]
    came = f" from {state.backends[source].name}" if source >= 0 else ""
    brought = f"{count(len(split.inputs), 'input')}, {bytes_text(split_bytes(state, split))}"
    others = " and others" if len(split.inputs) > 1 else ""
    return Sentence(
        "splits",
        f"**{len(state.splits)} splits**, {bytes_text(total)} copied per batch; {start} and brings in {brought}: "
        f"{name(state.names[biggest])}{came}{others}.",
        split=number,
    )


def _is_result(state: State, tensor: int) -> bool:
    """Something the graph computed, not an input or a weight that has to come from the host anyway."""
    return state.tensors[tensor].op is not Op.NONE


def _fallback(state: State) -> Sentence | None:
    """Ops that a faster device refused and that run on the last backend instead: the silent CPU fallback."""
    last = len(state.backends) - 1
    hits = [
        (tensor, backend)
        for tensor, backend in state.refused
        if state.backend_ids[tensor] == last and backend < last and state.tensors[tensor].op is not Op.NONE
    ]
    if not hits:
        return None
    ops = Counter(state.tensors[tensor].op.value for tensor in {tensor for tensor, _ in hits})
    tensor, backend = hits[0]
    listed = ", ".join(f"{number} × {op}" for op, number in ops.most_common(3))
    return Sentence(
        "fallback",
        f"**{count(sum(ops.values()), 'op')} fell back to {state.backends[last].name}** ({listed}): "
        f"{state.refused[tensor, backend]}.",
        tensor=tensor,
        alarm=True,
    )


def _offload(state: State) -> Sentence | None:
    moved = [node for node in state.nodes if state.causes[node] is Cause.OFF]
    if not moved:
        return None
    weights = [t for split in state.splits for t in split.inputs if state.tensors[t].is_weight]
    size = sum(state.tensors[t].nbytes for t in weights)
    cuts = sum(1 for split in state.splits if split.reason is SplitReason.WEIGHT)
    experts = any(state.tensors[node].op is Op.MUL_MAT_ID for node in moved)
    most = " at most, as only the experts in use are copied" if experts else ""
    return Sentence(
        "offload",
        f"**Op offload**: {count(len(moved), 'op')} with host weights moved to a GPU, so "
        f"{count(len(weights), 'weight')} ({bytes_text(size)}{most}) are copied there each batch; "
        f"{count(cuts, 'split')} {'exists' if cuts == 1 else 'exist'} only to let such weights go.",
        tensor=moved[0],
    )


def _pipeline(state: State) -> Sentence | None:
    n_copies = max((one.copy_no for one in state.copies), default=0) + 1
    if n_copies == 1:
        return None
    size = sum(state.tensors[one.tensor].nbytes for one in state.copies if one.tensor != one.src)
    return Sentence(
        "pipeline",
        f"**Pipeline copies**: every input and split input exists {n_copies} times, "
        f"{count(len(state.copies), 'copy', 'copies')} in all ({bytes_text(size)}); they are never freed.",
        tensor=state.copies[0].tensor,
    )


def _realloc(state: State) -> Sentence | None:
    if not state.inherits or not state.reserved or not state.realloc_reason:
        return None
    return Sentence("realloc", f"**Planned anew**: {state.realloc_reason}.")


def _in_place(state: State) -> Sentence | None:
    if not state.no_reuse:
        return None
    reasons = Counter(reason for _, _, reason, _ in state.no_reuse)
    listed = ", ".join(f"{number} × {REFUSAL_WORDS[reason]}" for reason, number in reasons.most_common())
    return Sentence(
        "in_place",
        f"{count(len(state.no_reuse), 'time')} an op could not run in place: {listed}; "
        f"{count(len(state.reused), 'time')} it did.",
        tensor=state.no_reuse[0][0],
    )
