"""What the why panel says, as plain data: the tensor, the split and the moment that are selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.events import SplitReason
from ...core.explain.group import why_group
from ...core.explain.sentence import Sentence, count, name
from ...core.explain.why import why
from ...core.state import State
from ...core.tensor import Flag
from ...core.text import bytes_text, shape_text
from . import palette
from .palette import Hue

GROUPS = {
    "what": "what",
    "placed": "device",
    "refused": "refused",
    "declined": "refused",
    "copied": "copies",
    "memory": "memory",
    "in_place": "in place",
    "not_in_place": "not in place",
    "taken_over": "handed on",
    "readers": "lifetime",
    "kept": "lifetime",
    "loaded": "loaded",
}
"""The heading under which each topic of `core.explain.why` stands."""


@dataclass(frozen=True, slots=True)
class TensorCard:
    """One tensor: who it is in a line, then the sentences under their headings."""

    name: str
    hue: Hue | None
    facts: list[str]
    rows: list[tuple[str, list[Sentence]]]
    producers: list[int]
    consumers: list[int]


@dataclass(frozen=True, slots=True)
class SplitCard:
    """One split: where it is, why it was cut there, and what is copied into it (tensor, bytes), largest first."""

    title: str
    hue: Hue
    facts: list[str]
    reasons: list[Sentence]
    inputs: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class GroupCard:
    """Some nodes of the graph, such as a layer, told together."""

    title: str
    facts: list[str]
    sentences: list[Sentence]


def tensor_card(state: State, tensor: int, more: Sequence[Sentence] = ()) -> TensorCard:
    """The selected tensor in words; `more` is what the state does not know."""
    one = state.tensors[tensor]
    device = state.backend_ids[tensor]
    facts = [] if one.op.value == "NONE" else [one.op.value]
    facts += [one.dtype.name, shape_text(one.ne), bytes_text(one.nbytes)]
    facts += [state.backends[device].name] if device >= 0 else []
    facts += [f"layer {one.layer}"] if one.layer >= 0 else []
    facts += ["output"] if state.flags[tensor] & Flag.OUTPUT else []
    rows: list[tuple[str, list[Sentence]]] = []
    for sentence in (*why(state, tensor), *more):
        plain = one.op.value != "NONE" and sentence.tensor < 0 and "strides" not in sentence.text
        if sentence.topic == "what" and plain:
            continue  # the line of facts has said it all
        heading = GROUPS.get(sentence.topic, sentence.topic.replace("_", " "))
        if rows and rows[-1][0] == heading:
            rows[-1][1].append(sentence)
        else:
            rows.append((heading, [sentence]))
    producers, consumers = relatives(state, tensor)
    hue = _hues(state)[device] if device >= 0 else None
    return TensorCard(state.names[tensor], hue, facts, rows, producers, consumers)


def relatives(state: State, tensor: int) -> tuple[list[int], list[int]]:
    """Whom it reads and who reads it, in the graph as it runs; a copy reads what it is a copy of."""
    made_of = [copy.src for copy in state.copies if copy.tensor == tensor and copy.src != tensor]
    producers = [src for src in dict.fromkeys([*state.src[tensor], *made_of]) if src >= 0]
    consumers = [node for node in state.nodes if tensor in state.src[node]]
    consumers += [copy.tensor for copy in state.copies if copy.src == tensor and copy.tensor != tensor]
    return producers, consumers


def split_card(state: State, number: int) -> SplitCard:
    """The selected split, or a row of the list of all."""
    split = state.splits[number]
    inputs = sorted(((t, state.tensors[t].nbytes) for t in split.inputs), key=lambda row: -row[1])
    total = sum(size for _, size in inputs)
    facts = [_node_range(split.start, split.end)]
    facts.append(f"{count(len(inputs), 'input')}, {bytes_text(total)} copied" if inputs else "nothing is copied")
    title = f"split {number} on {state.backends[split.backend].name}"
    return SplitCard(title, _hues(state)[split.backend], facts, split_reasons(state, number), inputs)


def split_reasons(state: State, number: int) -> list[Sentence]:
    """Why a split exists: what made the cut, and why its first node is on that device."""
    split = state.splits[number]
    if split.start >= len(state.nodes):
        return [Sentence("cut", "It has no nodes.")]
    first = state.nodes[split.start]
    by = name(state.names[split.by if split.by >= 0 else first])
    where = state.backends[split.backend].name
    words = {
        SplitReason.FIRST: f"The first split: it begins with {name(state.names[first])} on **{where}**.",
        SplitReason.BACKEND: f"Cut because the device changes to **{where}** at {by}.",
        SplitReason.WEIGHT: f"Cut because {where} cannot read the weight {by} in place: copying it starts a new split.",
    }[split.reason]
    placed = [one for one in why(state, first) if one.topic == "placed"]
    if placed:
        rest = placed[0]
        placed = [Sentence("placed", f"{name(state.names[first])}: {rest.markup[0].lower()}{rest.markup[1:]}", first)]
    return [Sentence("cut", words, tensor=first, split=number), *placed]


def group_card(state: State, start: int, end: int) -> GroupCard:
    """The nodes [start, end) of the graph, by their layer where they are one."""
    nodes = state.nodes[start:end]
    layers = {state.tensors[node].layer for node in nodes} - {-1}
    title = _node_range(start, end)
    if layers:
        low, high = min(layers), max(layers)
        title = f"layer {low}" if low == high else f"layers {low} to {high}"
    facts = [_node_range(start, end)] if layers else []
    size = sum(state.tensors[node].nbytes for node in nodes if state.tensors[node].view_src < 0)
    return GroupCard(title, [*facts, f"{bytes_text(size)} of results"], why_group(state, nodes))


def _node_range(start: int, end: int) -> str:
    if end - start <= 1:
        return f"node {start:,}"
    return f"nodes {start:,} to {end - 1:,} ({end - start:,})"


def _hues(state: State) -> list[Hue]:
    return [hue for hue, _ in palette.device_hues([backend.type for backend in state.backends])]
