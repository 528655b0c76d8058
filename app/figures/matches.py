"""What `-ot` patterns catch, while they are typed: the weights of each, and how many bytes go from where to where."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from ...core.errors import InputError
from ...core.llama.flags import MAX_OVERRIDES, MAX_PATTERN
from ...core.llama.machine import Machine, machine
from ...core.llama.open import TracedModel
from ...core.llama.options import Options, Override
from ...core.llama.overrides import check_bufts
from ...core.llama.pattern import Pattern, compile_pattern
from ...core.llama.placement import Placement, place_weights

MOST_NAMED = 12
"""Names told per pattern."""


def pattern_matches(model: TracedModel | None, asked: object) -> dict[str, Any]:
    """An answer per override, in order.

    Args:
        model: what was opened; None for a graph file.
        asked: a list of [pattern, buffer type], as it came from a browser.

    Raises:
        InputError: it is no such list, or the file is no model.
    """
    if model is None:
        raise InputError("this file is a graph: its weights are where they are")
    if not isinstance(asked, list) or len(asked) > MAX_OVERRIDES:
        raise InputError(f"expected up to {MAX_OVERRIDES} pairs of a pattern and a buffer type")
    options, devices = model.taken.options, machine(model.taken.options)
    before = _placed(model, options, (), devices)
    names = [weight.tensor.name for weight in before.weights]
    free = set(range(len(names)))
    told: list[dict[str, Any]] = []
    good: list[tuple[Override, list[int], int]] = []
    endless = False  # one pattern has used up its steps: a list of such would take for ever
    for pair in asked:
        try:
            override, pattern = _readable(pair, devices)
        except InputError as error:
            told.append({"error": str(error)})
            continue
        try:
            if endless:
                raise InputError("not tried: the pattern above takes too long")
            caught = [k for k, name in enumerate(names) if pattern.search(name)]
        except InputError as error:
            endless = True
            told.append({"error": str(error)})
            continue
        mine = [k for k in caught if k in free]
        free.difference_update(mine)
        good.append((override, mine, len(caught) - len(mine)))
        told.append({})
    after = _placed(model, options, tuple(one for one, _, _ in good), devices)
    answers = (_answer(before, after, mine, taken) for _, mine, taken in good)
    return {"matches": [answer or next(answers) for answer in told]}


def _readable(pair: object, devices: Machine) -> tuple[Override, Pattern]:
    """One override with its pattern compiled.

    Raises:
        InputError: it is none, or no weight could follow it.
    """
    if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
        raise InputError("expected a pattern and a buffer type")
    pattern, buft = pair
    if len(pattern) > MAX_PATTERN or len(buft) > 63:
        raise InputError(f"a pattern has at most {MAX_PATTERN} characters")
    override = Override(pattern, buft)
    compiled = compile_pattern(pattern)
    check_bufts([override], devices.override_places())
    return override, compiled


def _placed(model: TracedModel, options: Options, overrides: tuple[Override, ...], devices: Machine) -> Placement:
    return place_weights(model.header, msgspec.structs.replace(options, overrides=overrides), devices)


def _answer(before: Placement, after: Placement, caught: list[int], taken: int) -> dict[str, Any]:
    """The weights of one pattern.

    Args:
        before: without overrides.
        after: with all of them.
        caught: indices of its weights.
        taken: weights that an earlier pattern has caught.
    """
    moved: Counter[tuple[str, str]] = Counter()
    for k in caught:
        if before.weights[k].place and after.weights[k].place:
            moved[before.weights[k].buft, after.weights[k].buft] += after.weights[k].tensor.nbytes
    names = list(dict.fromkeys(before.weights[k].tensor.name for k in caught))
    return {
        "count": len(names),
        "names": names[:MOST_NAMED],
        "taken": taken,
        "moves": [{"from": a, "to": b, "bytes": size} for (a, b), size in moved.most_common()],
    }
