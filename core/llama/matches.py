"""What `-ot` patterns catch: the weights of each, and how many bytes go from where to where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from ..errors import InputError
from ..gguf.header import Header
from .flags import MAX_PATTERN
from .machine import Machine, machine
from .options import Options, Override
from .overrides import check_bufts
from .pattern import Budget, Pattern, compile_pattern
from .placement import Placement, place_weights


class Move(msgspec.Struct, frozen=True):
    """Bytes that a pattern takes from one buffer type to another, which may be the same."""

    before: str
    after: str
    bytes: int


class Caught(msgspec.Struct, frozen=True):
    """What one pattern catches; the first pattern that matches a weight has it.

    Attributes:
        override: the pattern and where it sends weights.
        names: of its weights, in the order of the file.
        taken: how many more it matches that an earlier pattern has caught.
        moves: most bytes first.
    """

    override: Override
    names: tuple[str, ...]
    taken: int
    moves: tuple[Move, ...]


def matches(header: Header, options: Options, overrides: Sequence[Override]) -> list[Caught | InputError]:
    """An answer per override, in the order they are tried; for one that cannot be used the reason.

    Args:
        header: of the model.
        options: where weights lie without these overrides; its own `overrides` are left out.
        overrides: to try.
    """
    devices = machine(options)
    before = _placed(header, options, (), devices)
    names = [weight.tensor.name for weight in before.weights]
    free = set(range(len(names)))
    found: list[tuple[Override, list[int], int] | InputError] = []
    endless, budget = False, Budget()  # the steps are used up: a list of such patterns would take for ever
    for override in overrides:
        try:
            pattern = _readable(override, devices, budget)
        except InputError as error:
            found.append(error)
            continue
        try:
            if endless:
                raise InputError("not tried: the pattern above takes too long")
            caught = [k for k, name in enumerate(names) if pattern.search(name)]
        except InputError as error:
            endless = True
            found.append(error)
            continue
        mine = [k for k in caught if k in free]
        free.difference_update(mine)
        found.append((override, mine, len(caught) - len(mine)))
    usable = tuple(one[0] for one in found if not isinstance(one, InputError))
    after = _placed(header, options, usable, devices)
    return [
        one
        if isinstance(one, InputError)
        else Caught(one[0], tuple(dict.fromkeys(names[k] for k in one[1])), one[2], _moves(before, after, one[1]))
        for one in found
    ]


def _readable(override: Override, devices: Machine, budget: Budget) -> Pattern:
    """The pattern, compiled.

    Raises:
        InputError: it is none, or no weight could follow it.
    """
    if len(override.pattern) > MAX_PATTERN:
        raise InputError(f"a pattern has at most {MAX_PATTERN} characters")
    compiled = compile_pattern(override.pattern, budget)
    check_bufts([override], devices.override_places())
    return compiled


def _placed(header: Header, options: Options, overrides: tuple[Override, ...], devices: Machine) -> Placement:
    return place_weights(header, msgspec.structs.replace(options, overrides=overrides), devices)


def _moves(before: Placement, after: Placement, caught: Sequence[int]) -> tuple[Move, ...]:
    moved: Counter[tuple[str, str]] = Counter()
    for k in caught:
        if before.weights[k].place and after.weights[k].place:
            moved[before.weights[k].buft, after.weights[k].buft] += after.weights[k].tensor.nbytes
    return tuple(Move(a, b, size) for (a, b), size in moved.most_common())
