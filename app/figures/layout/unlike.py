"""Why a box stands alone: in what a layer differs from the numbered layer beside it, node by node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from ....core.op import Op
from ....core.state import State
from ....core.tensor import Flag
from ....core.text import shape_text
from .blocks import Layer

MOST = 4
"""Names in a list; the rest is counted."""
_NUMBERS = re.compile(r"(?<![A-Za-z0-9~])[0-9]+(?![A-Za-z0-9])|_l[0-9]+(?![A-Za-z0-9])")
_REPEAT = re.compile(r"~[0-9]+$")


class Unlike(NamedTuple):
    """The layer compared with, by its place, and the differences in words."""

    layer: int
    text: str


class _Op(NamedTuple):
    """A node without what differs from layer to layer anyway."""

    name: str
    op: str
    kind: str
    shape: str
    device: str
    output: bool
    reads: tuple[str, ...]


def unlikes(
    state: State,
    nodes: Sequence[int],
    layers: Sequence[Layer],
    split_of: Sequence[int],
    same: Sequence[int],
    shared: Set[int],
) -> list[Unlike | None]:
    """Per layer how it differs from the one before its run of equal layers, or after it where none is before.

    `shared` holds the tensors that are read in many layers.
    """
    texts: dict[tuple[int, int], str] = {}
    result: list[Unlike | None] = [None] * len(layers)
    for start, end in _runs(same):
        beside = next((k for k in (start - 1, end) if 0 <= k < len(layers) and layers[k].number >= 0), -1)
        if beside < 0 or layers[start].number < 0:
            continue
        key = same[start], same[beside]
        if key not in texts:
            texts[key] = _text(state, nodes, split_of, shared, layers[start], layers[beside])
        result[start:end] = [Unlike(beside, texts[key])] * (end - start)
    return result


def _runs(same: Sequence[int]) -> list[tuple[int, int]]:
    edges = [k for k in range(len(same)) if not k or same[k] != same[k - 1]]
    return list(zip(edges, [*edges, len(same)][1:], strict=True))


def _text(
    state: State, nodes: Sequence[int], split_of: Sequence[int], shared: Set[int], own: Layer, other: Layer
) -> str:
    a, b = (_ops(state, nodes[layer.start : layer.end], shared) for layer in (own, other))
    parts = []
    for left, right, word in ((a, b, "more"), (b, a, "fewer")):
        surplus = Counter((x.name, x.op) for x in left) - Counter((x.name, x.op) for x in right)
        if surplus:
            count = sum(surplus.values())
            names = _listed([_called(name, op) + (f" ×{n}" if n > 1 else "") for (name, op), n in surplus.items()])
            parts.append(f"{count} node{'s' if count > 1 else ''} {word}: {names}")
    parts += _changes(_pairs(a, b))
    parts += _splits(state, split_of, own, other)
    if not parts:
        parts.append("the same ops, read in another way")
    return " · ".join(parts)


def _called(name: str, op: str) -> str:
    """Nodes that llama.cpp left without a name are called by their op."""
    return op if name in ("", "node") else f"{name} ({op})"


def _ops(state: State, nodes: Sequence[int], shared: Set[int]) -> list[_Op]:
    found = []
    for t in nodes:
        x = state.tensors[t]
        device = state.backend_ids[t]
        reads = [s for s in x.src if s >= 0 and (s in shared or state.tensors[s].op is Op.NONE)]
        found.append(
            _Op(
                _plain(_REPEAT.sub("", x.label or state.names[t])),
                x.op.value,
                x.dtype.name,
                shape_text(x.ne),
                state.backends[device].name if device >= 0 else "no device",
                bool(state.flags[t] & Flag.OUTPUT),
                tuple([_plain(state.tensors[s].label or state.names[s]) for s in reads]),
            )
        )
    return found


def _plain(name: str) -> str:
    """A name without the numbers of its layer: blk.3.attn_q.weight and Qcur-3 lose the 3, mask~2 keeps its own."""
    return _NUMBERS.sub("", name).replace("..", ".").rstrip("-_ ")


def _pairs(a: Sequence[_Op], b: Sequence[_Op]) -> list[tuple[_Op, _Op]]:
    """Nodes of the same name and op, the k-th with the k-th."""
    waiting: dict[tuple[str, str], list[_Op]] = {}
    for x in reversed(b):
        waiting.setdefault((x.name, x.op), []).append(x)
    return [(x, left.pop()) for x in a if (left := waiting.get((x.name, x.op)))]


def _changes(pairs: Sequence[tuple[_Op, _Op]]) -> list[str]:
    """What changed, each change once with the nodes that it concerns."""
    changes: dict[str, list[str]] = {}
    for x, y in pairs:
        for text, differs in (
            (f"on {x.device} instead of {y.device}", x.device != y.device),
            (f"{x.kind} instead of {y.kind}", x.kind != y.kind),
            (f"{x.shape} instead of {y.shape}", x.shape != y.shape),
            ("an output here only" if x.output else "no output here", x.output != y.output),
            (_other_reads(x, y), x.reads != y.reads),
        ):
            if differs:
                changes.setdefault(text, []).append(x.name if x.name != "node" else x.op)
    return [f"{_who(names, len(pairs))}: {text}" for text, names in changes.items()]


def _who(names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "every node"
    return f"{len(names)} nodes" if len(names) > 2 * MOST else _listed(names)


def _other_reads(x: _Op, y: _Op) -> str:
    own, other = Counter(x.reads) - Counter(y.reads), Counter(y.reads) - Counter(x.reads)
    if own and other:
        return f"reads {_listed(list(own))} instead of {_listed(list(other))}"
    return f"reads {_listed(list(own))}, too" if own else f"does not read {_listed(list(other))}"


def _splits(state: State, split_of: Sequence[int], own: Layer, other: Layer) -> list[str]:
    """How many splits begin here and there, and how much they copy."""

    def begun(layer: Layer) -> list[int]:
        return [i for i in range(max(1, layer.start), layer.end) if split_of[i] != split_of[i - 1]]

    here, there = begun(own), begun(other)
    if len(here) != len(there):
        begin = "1 split begins" if len(here) == 1 else f"{len(here) or 'no'} splits begin"
        return [f"{begin} here, {len(there) or 'none'} there"]
    if not state.splits:
        return []
    parts = []
    for i, j in zip(here, there, strict=True):
        a, b = (Counter(_copied(state, split_of[k])) for k in (i, j))
        parts += [
            f"split {split_of[i]} {what} {_listed(list(names))}"
            for what, names in (("copies", a - b), ("does not copy", b - a))
            if names
        ]
    return parts


def _copied(state: State, split: int) -> list[str]:
    return [_plain(state.tensors[t].label or state.names[t]) for t in state.splits[split].inputs]


def _listed(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    return ", ".join(different[:MOST]) + (f", +{len(different) - MOST}" if len(different) > MOST else "")
