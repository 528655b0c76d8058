"""Which layers are equal, and in a few words what is special about one: "6 on CPU · 15 split boundaries"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ....core.state import State
from .blocks import Layer


def differences(
    state: State,
    nodes: Sequence[int],
    layers: Sequence[Layer],
    split_of: Sequence[int],
    structure: Sequence[Hashable],
) -> tuple[list[int], list[str]]:
    """Per layer a number that equal layers share, and a note; the usual layer is the most common on the same device."""
    words: dict[Hashable, int] = {}
    tensors, devices = state.tensors, state.backend_ids
    flags = state.flags
    word_of = []
    for t in nodes:
        x = tensors[t]
        word_of.append(words.setdefault((x.op, x.dtype.id, x.ne, devices[t], flags[t]), len(words)))
    inputs = [len(split.inputs) for split in state.splits] or [0]
    groups: dict[Hashable, int] = {}
    same = []
    for layer, part in zip(layers, structure, strict=True):
        first = split_of[layer.start]
        # Inputs of a split that began in an earlier layer are that layer's business.
        opened = {k: inputs[k] for k in split_of[layer.start : layer.end] if k != first or _opens(layer, split_of)}
        key = (part, tuple(word_of[layer.start : layer.end]), tuple(opened.values()))
        same.append(groups.setdefault(key, len(groups)))
    common = _common(layers, same, [_main_device(state, nodes, layer) for layer in layers])
    notes = [
        _note(state, nodes, split_of, layer, layers[common[k]]) if layer.number >= 0 else ""
        for k, layer in enumerate(layers)
    ]
    return same, notes


def _opens(layer: Layer, split_of: Sequence[int]) -> bool:
    return layer.start > 0 and split_of[layer.start] != split_of[layer.start - 1]


def _main_device(state: State, nodes: Sequence[int], layer: Layer) -> int:
    counts = Counter(state.backend_ids[nodes[i]] for i in range(layer.start, layer.end))
    return counts.most_common(1)[0][0]


def _common(layers: Sequence[Layer], same: Sequence[int], device: Sequence[int]) -> list[int]:
    """Per layer the first of the most common numbered layers on its main device; itself when it is one of those."""
    counts: dict[int, Counter[int]] = {}
    for k, layer in enumerate(layers):
        if layer.number >= 0:
            counts.setdefault(device[k], Counter())[same[k]] += 1
    first: dict[int, int] = {}
    for k, number in enumerate(same):
        first.setdefault(number, k)
    result = []
    for k, number in enumerate(same):
        usual = counts[device[k]].most_common(1)[0][0] if device[k] in counts else number
        result.append(k if usual == number else first[usual])
    return result


def _note(state: State, nodes: Sequence[int], split_of: Sequence[int], layer: Layer, usual: Layer) -> str:
    """What a reader should know before opening the layer: facts of its own, then how it differs from the usual one."""
    own = [state.tensors[t] for t in nodes[layer.start : layer.end]]
    other = [state.tensors[t] for t in nodes[usual.start : usual.end]]
    parts = []
    main = _main_device(state, nodes, layer)
    elsewhere = Counter(b for t in nodes[layer.start : layer.end] if (b := state.backend_ids[t]) not in (main, -1))
    for device, count in elsewhere.items():
        parts.append(f"{count} on {state.backends[device].name}")
    boundaries = sum(split_of[i] != split_of[i - 1] for i in range(max(1, layer.start), layer.end))
    if boundaries > _opens(layer, split_of):
        parts.append(f"{boundaries} split {'boundary' if boundaries == 1 else 'boundaries'}")
    more = len(own) - len(other)
    if more:
        parts.append(f"{abs(more)} node{'s' if abs(more) > 1 else ''} {'more' if more > 0 else 'fewer'}")
    elif [x.op for x in own] != [x.op for x in other]:
        names = Counter(x.op for x in own) - Counter(x.op for x in other)
        parts.append("other ops: " + " ".join(names) if names else "other order of ops")
    elif [x.ne for x in own] != [x.ne for x in other]:
        changed = sum(x.ne != y.ne for x, y in zip(own, other, strict=True))
        parts.append(f"{changed} other shape{'s' if changed > 1 else ''}")
    return " · ".join(parts)
