"""What `-ot` patterns catch: the weights of each, and how many bytes go from where to where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from ..gguf.header import Header
from .machine import machine
from .options import Options, Override
from .overrides import all_overrides
from .pattern import compile_pattern
from .placement import Placement, place_weights


class Move(msgspec.Struct, frozen=True):
    """Bytes that a pattern takes from one buffer type to another."""

    before: str
    after: str
    bytes: int


class Caught(msgspec.Struct, frozen=True):
    """What one pattern catches; the first pattern that matches a weight has it.

    Attributes:
        override: the pattern and where it sends weights.
        names: of its weights, in the order of the file.
        taken: how many more it matches that an earlier pattern has caught.
        moves: most bytes first; a move to where they lie anyway is one too.
    """

    override: Override
    names: tuple[str, ...]
    taken: int
    moves: tuple[Move, ...]


def matches(header: Header, options: Options, overrides: Sequence[Override] | None = None) -> list[Caught]:
    """An answer per override, in order.

    Args:
        header: of the model.
        options: the rest of them decides where a weight lies without overrides.
        overrides: None for those of the options, `--n-cpu-moe` included.

    Raises:
        InputError: a pattern cannot be read, or names a buffer type that is not there.
    """
    asked = all_overrides(options) if overrides is None else tuple(overrides)
    patterns = [compile_pattern(one.pattern) for one in asked]
    devices = machine(options)
    plain = msgspec.structs.replace(options, overrides=(), n_cpu_moe=0)
    before = place_weights(header, plain, devices)
    after = place_weights(header, msgspec.structs.replace(plain, overrides=asked), devices)
    names = [weight.tensor.name for weight in before.weights]
    free = set(range(len(names)))
    found = []
    for override, pattern in zip(asked, patterns, strict=True):
        caught = [k for k, name in enumerate(names) if pattern.search(name)]
        mine = [k for k in caught if k in free]
        free.difference_update(mine)
        told = tuple(dict.fromkeys(names[k] for k in mine))
        found.append(Caught(override, told, len(caught) - len(mine), _moves(before, after, mine)))
    return found


def _moves(before: Placement, after: Placement, caught: Sequence[int]) -> tuple[Move, ...]:
    moved: Counter[tuple[str, str]] = Counter()
    for k in caught:
        if before.weights[k].place and after.weights[k].place:
            moved[before.weights[k].buft, after.weights[k].buft] += after.weights[k].tensor.nbytes
    return tuple(Move(a, b, size) for (a, b), size in moved.most_common())
