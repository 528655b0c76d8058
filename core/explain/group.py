"""Why a group of nodes, such as a layer, is where it is: the causes of its nodes summed up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..events import WEIGHT_CAUSES, Cause
from ..state import State
from ..text import bytes_text
from .sentence import Sentence, count, name

_WORDS = {
    Cause.USR: "pinned by the application",
    Cause.DST: "where their bytes already lie",
    Cause.INP: "graph inputs",
    Cause.OFF: "taken over from the CPU (op offload)",
    Cause.SUP: "beside a neighbour that is there",
    Cause.BEST: "as no neighbour's device could run them",
    Cause.UPG: "moved up within their buffer type",
    Cause.VSRC: "views beside their base",
    Cause.CUR: "beside their first user",
}


def why_group(state: State, nodes: Sequence[int]) -> list[Sentence]:
    """Sentences about some nodes of the graph (tensor ids): devices with causes, weights, splits, memory."""
    told = [_placed(state, backend, members) for backend, members in _by_backend(state, nodes)]
    told += [_weights(state, nodes), _splits(state, nodes), _memory(state, nodes)]
    return [one for one in told if one is not None]


def _by_backend(state: State, nodes: Sequence[int]) -> list[tuple[int, list[int]]]:
    groups: dict[int, list[int]] = {}
    for node in nodes:
        groups.setdefault(state.backend_ids[node], []).append(node)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _placed(state: State, backend: int, members: list[int]) -> Sentence | None:
    if backend < 0 or not state.passes:
        return None
    causes: Counter[str] = Counter()
    for node in members:
        cause = state.causes[node]
        if cause in WEIGHT_CAUSES:
            causes["where their weights lie"] += 1
        elif cause is not None:
            causes[_WORDS.get(cause, cause.value)] += 1
    listed = ", ".join(f"{number} {words}" for words, number in causes.most_common())
    where = state.backends[backend].name
    return Sentence("placed", f"**{count(len(members), 'node')} on {where}**: {listed}.", tensor=members[0])


def _weights(state: State, nodes: Sequence[int]) -> Sentence | None:
    """Where the weights lie that the nodes read: that choice was made before the graph was planned."""
    found: dict[int, None] = {}
    for node in nodes:
        for source in state.tensors[node].src:
            if source >= 0 and state.tensors[source].is_weight:
                found[source] = None
    if not found:
        return None
    sizes: Counter[str] = Counter()
    for weight in found:
        sizes[state.bufts[state.tensors[weight].buft].name] += state.tensors[weight].nbytes
    listed = ", ".join(f"{bytes_text(size)} in {buft} buffers" for buft, size in sizes.most_common())
    return Sentence(
        "weights",
        f"It reads {count(len(found), 'weight')}: {listed}. That was chosen when the model was loaded "
        "(-ngl, -ts, -ot), before any graph.",
        tensor=next(iter(found)),
    )


def _splits(state: State, nodes: Sequence[int]) -> Sentence | None:
    position = {node: i for i, node in enumerate(state.nodes)}
    first, last = position[nodes[0]], position[nodes[-1]]
    begun = [k for k, split in enumerate(state.splits) if first <= split.start <= last and split.start]
    if not begun:
        inside = next((k for k, split in enumerate(state.splits) if split.start <= first < split.end), -1)
        return Sentence("splits", f"All of it is in split {inside}.", split=inside) if inside >= 0 else None
    shown = ", ".join(f"{k} at {name(state.names[state.nodes[state.splits[k].start]])}" for k in begun[:3])
    more = f" and {len(begun) - 3} more" if len(begun) > 3 else ""
    verb = "begins" if len(begun) == 1 else "begin"
    return Sentence("splits", f"{count(len(begun), 'split')} {verb} in it: {shown}{more}.", split=begun[0])


def _memory(state: State, nodes: Sequence[int]) -> Sentence | None:
    lives = [state.lifetimes[node] for node in nodes if node in state.lifetimes]
    if not lives:
        return None
    in_place = sum(1 for life in lives if life.parent >= 0)
    largest = max(lives, key=lambda life: (life.size, -life.tensor))
    size = sum(life.size for life in lives if life.parent < 0)
    return Sentence(
        "memory",
        f"Its results take {bytes_text(size)} in sum, {count(in_place, 'op')} in place; the largest is "
        f"{name(state.names[largest.tensor])} with {bytes_text(largest.size)}.",
        tensor=largest.tensor,
    )
