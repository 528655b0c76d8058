"""What the why panel says, as plain data: the tensor, the split and the moment that are selected."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.explain.sentence import Sentence, count
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
    reason: str
    by: int
    inputs: list[tuple[int, int]]


def tensor_card(state: State, tensor: int) -> TensorCard:
    """The selected tensor in words."""
    one = state.tensors[tensor]
    device = state.backend_ids[tensor]
    facts = [] if one.op.value == "NONE" else [one.op.value]
    facts += [one.dtype.name, shape_text(one.ne), bytes_text(one.nbytes)]
    facts += [state.backends[device].name] if device >= 0 else []
    facts += [f"layer {one.layer}"] if one.layer >= 0 else []
    facts += ["output"] if state.flags[tensor] & Flag.OUTPUT else []
    rows: list[tuple[str, list[Sentence]]] = []
    for sentence in why(state, tensor):
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
    """The selected split."""
    split = state.splits[number]
    inputs = sorted(((t, state.tensors[t].nbytes) for t in split.inputs), key=lambda row: -row[1])
    total = sum(size for _, size in inputs)
    reasons = {
        "first": "The graph begins here.",
        "backend": "Cut because the device changes at",
        "weight": "Cut because a weight cannot be read where it is, at",
    }
    facts = [f"nodes {split.start:,} to {split.end - 1:,}", count(split.end - split.start, "node")]
    facts.append(f"{count(len(inputs), 'input')}, {bytes_text(total)} copied" if inputs else "nothing is copied")
    by = split.by if split.reason.value != "first" else -1
    title = f"split {number} on {state.backends[split.backend].name}"
    return SplitCard(title, _hues(state)[split.backend], facts, reasons[split.reason.value], by, inputs)


def _hues(state: State) -> list[Hue]:
    return [hue for hue, _ in palette.device_hues([backend.type for backend in state.backends])]
