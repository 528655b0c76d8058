"""The page's opening: two to four sentences derived from the log, the most telling first, each with its evidence."""

from __future__ import annotations

from collections import Counter

from ..check.checker import Verdict, Violation
from ..events import Cause, Refusal, SplitReason
from ..op import Op
from ..state import State
from ..text import bytes_text, shape_text
from .sentence import Sentence, count, name
from .stats import split_bytes
from .usage import Usage, device_name, usage

MOST = 4

REFUSAL_WORDS = {
    Refusal.EXTERNAL: "the parent is not ggml's to overwrite",
    Refusal.OUTPUT: "it is an output",
    Refusal.LAYOUT: "its shape or strides differ",
    Refusal.CHILDREN: "it has another reader",
    Refusal.VIEWS: "a view of it is still in use",
}


def answers(state: State, violations: list[Violation]) -> list[Sentence]:
    """At most four sentences; one that has nothing to say is left out."""
    found = [
        _abort(state),
        _violation(state, violations),
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
    return Sentence("abort", f"**Real ggml stops here**: {name(state.abort)}", alarm=True)


def _violation(state: State, violations: list[Violation]) -> Sentence | None:
    hits = [hit for hit in violations if hit.verdict is Verdict.OVERLAP]
    if not hits or state.abort is not None:
        return None
    hit = hits[0]
    why = (
        ""
        if state.reserved
        else " The plan was made for another graph and kept: ggml compares counts and sizes, not the wiring."
    )
    return Sentence(
        "hazard",
        f"{name(state.names[hit.tensor])} **overwrites** {name(state.names[hit.other])} at step {hit.step}, "
        f"while it is still needed.{why}",
        tensor=hit.tensor,
        alarm=True,
    )


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
    whose = f"this result ({what})" if at == owner else f"{name(state.names[owner])} ({what})"
    share = round(100 * size / top.peak)
    lead = f"{device_name(state, top)} peaks at **{bytes_text(top.peak)}** at {name(state.names[at])}"
    spare = _spare(top)
    return Sentence("peak", f"{lead}: {whose} is {bytes_text(size)} of it, {share} %.{spare}", tensor=owner)


def _spare(one: Usage) -> str:
    """The part of the buffer that fragmentation costs, when it is worth a word."""
    if one.fragmentation < 0.01:
        return ""
    return f" The buffer takes {bytes_text(one.size)}: {round(100 * one.fragmentation)} % lie between tensors."


def _splits(state: State) -> Sentence | None:
    if not state.splits:
        return None
    if len(state.splits) == 1:
        backend = state.backends[state.splits[0].backend].name
        return Sentence("splits", f"**1 split**: everything runs on {backend}, nothing is copied.", split=0)
    total = sum(split_bytes(state, one) for one in state.splits)
    entry = 2 if len(state.splits) > 2 else 1  # the first cut only brings the embeddings in
    number = max(range(entry, len(state.splits)), key=lambda k: (_results(state, k), k))
    split, before = state.splits[number], state.splits[number - 1]
    biggest = max(split.inputs, key=lambda t: (_is_result(state, t), state.tensors[t].nbytes), default=-1)
    way = f"{state.backends[before.backend].name} → {state.backends[split.backend].name}"
    tail = f" with {name(state.names[biggest])}" if biggest >= 0 else ""
    size = f" ({bytes_text(split_bytes(state, split))})" if len(state.splits) > 2 and split.inputs else ""
    return Sentence(
        "splits",
        f"**{len(state.splits)} splits**, {bytes_text(total)} copied per batch; {way} begins "
        f"at node {split.start}{tail}{size}.",
        split=number,
    )


def _is_result(state: State, tensor: int) -> bool:
    """Something the graph computed, not an input or a weight that has to come from the host anyway."""
    return state.tensors[tensor].op is not Op.NONE


def _results(state: State, split: int) -> int:
    """Bytes of computed tensors that cross into the split: what makes a boundary large."""
    return sum(state.tensors[t].nbytes for t in state.splits[split].inputs if _is_result(state, t))


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
    return Sentence(
        "offload",
        f"**Op offload**: {count(len(moved), 'op')} with host weights moved to a GPU, so "
        f"{count(len(weights), 'weight')} ({bytes_text(size)}) are copied there each batch; "
        f"{count(cuts, 'split')} exist only to let such weights go.",
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
    if not state.inherits or not state.realloc_reason:
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
