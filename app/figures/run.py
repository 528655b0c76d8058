"""What the page draws of a graph that was run: colours by time and by values, and a column for each number."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from ...core.execute.result import Execution, NodeRun
from . import palette
from .colors import question
from .columns import column
from .palette import NEUTRAL, WRONG, Entry
from .run_answers import run_answers
from .run_result import Executed
from .run_words import number_text, seconds_text

TIME_LIMITS = tuple(digit * 10.0**power for power in range(-7, 3) for digit in (1, 2, 5))
"""Ends of the classes of time (seconds)."""
VALUE_LIMITS = tuple(10.0**power for power in range(-9, 13))
"""Ends of the classes of the largest absolute value, a power of ten each."""
FINE_LIMITS = tuple(digit * power for power in VALUE_LIMITS for digit in (1, 2, 5))
"""The same where all values are within three powers of ten."""


def run_scene(done: Executed) -> dict[str, Any]:
    """Everything the page shows of a run; it is laid over the scene of the graph."""
    execution, state = done.execution, done.state
    return {
        "about": done.about,
        "filled": done.filled,
        "backend": done.backend,
        "seconds": execution.seconds,
        "colors": {} if done.follows_bytes else run_colors(execution),
        "wrong": [one.node for one in execution.nodes if one.nans or one.infs],
        "conflict": None if done.conflict is None else [done.conflict.tensor, done.conflict.other],
        "columns": run_columns(execution, len(state.tensors)),
        "answers": [
            {"topic": one.topic, "parts": one.parts, "tensor": one.tensor, "alarm": one.alarm, "text": one.text}
            for one in run_answers(done)
        ],
    }


def run_colors(execution: Execution) -> dict[str, Any]:
    """What a run can be coloured by: nothing where nothing ran, no values where none is known."""
    found = {"time": by_time(execution)} if execution.nodes else {}
    if any(one.low is not None or one.nans or one.infs for one in execution.nodes):
        found["values"] = by_values(execution)
    return found


def run_columns(execution: Execution, n: int) -> dict[str, str]:
    """The numbers by tensor id; -1 seconds and NaN values where nothing was computed."""
    by_id = {one.node: one for one in execution.nodes}

    def numbers(of: Callable[[NodeRun], float | None], missing: float) -> list[float]:
        found = (of(by_id[i]) if i in by_id else missing for i in range(n))
        return [missing if value is None else value for value in found]

    return {
        "seconds": column(numbers(lambda one: one.seconds, -1.0), "float64"),
        "low": column(numbers(lambda one: one.low, math.nan), "float64"),
        "high": column(numbers(lambda one: one.high, math.nan), "float64"),
        "mean": column(numbers(lambda one: one.mean, math.nan), "float64"),
        "nans": column(numbers(lambda one: one.nans, 0), "float64"),
        "infs": column(numbers(lambda one: one.infs, 0), "float64"),
    }


def by_time(execution: Execution) -> dict[str, Any]:
    """Classes of time in steps of 1, 2, 5, from the fastest node to the slowest."""
    seconds = {one.node: one.seconds for one in execution.nodes}
    entries, of = _classes(seconds, TIME_LIMITS, _round, len(execution.state.tensors))
    return {**question("time", entries, of), "ordered": True}


def _round(seconds: float) -> str:
    """A limit: it has one digit.

    >>> _round(0.0002), _round(0.05)
    ('200 µs', '50 ms')
    """
    number, unit = seconds_text(seconds).split(" ")
    return f"{float(number.replace(',', '')):g} {unit}"


def by_values(execution: Execution) -> dict[str, Any]:
    """Classes of the largest absolute value, on a logarithmic scale; what has a NaN or is infinite stands out."""
    state = execution.state
    largest = {one.node: magnitude(one) for one in execution.nodes}
    plain = {node: value for node, value in largest.items() if value}
    near = bool(plain) and max(plain.values()) < 1000 * min(plain.values())
    entries, of = _classes(plain, FINE_LIMITS if near else VALUE_LIMITS, number_text, len(state.tensors))
    zero, wrong = len(entries), len(entries) + 1
    entries += [Entry(NEUTRAL, "none but 0", "dots"), Entry(WRONG, "NaN or infinite", "hatch")]
    for one in execution.nodes:
        if one.nans or one.infs:
            of[one.node] = wrong
        elif largest[one.node] == 0:
            of[one.node] = zero
    return {**question("largest value", entries, of), "ordered": True}


def magnitude(node: NodeRun) -> float | None:
    """The largest absolute value, None where no number is known."""
    found = [abs(value) for value in (node.low, node.high) if value is not None and math.isfinite(value)]
    return max(found) if found else None


def _classes(
    values: dict[int, float], limits: Sequence[float], text: Callable[[float], str], n: int
) -> tuple[list[Entry], list[int]]:
    """Entries for the classes that occur and those between them, then one for what has no value."""
    found = {node: bisect_right(limits, value) for node, value in values.items()}
    first, last = (min(found.values()), max(found.values())) if found else (0, -1)
    hues = palette.ordered_scale(last - first + 1)
    entries = [Entry(hue, _class_text(k + first, limits, text)) for k, hue in enumerate(hues)]
    entries.append(Entry(NEUTRAL, "not run"))
    return entries, [found[i] - first if i in found else len(entries) - 1 for i in range(n)]


def _class_text(number: int, limits: Sequence[float], text: Callable[[float], str]) -> str:
    if number == 0:
        return f"< {text(limits[0])}"
    if number == len(limits):
        return f"≥ {text(limits[-1])}"
    low, high = text(limits[number - 1]), text(limits[number])
    shared = low.partition(" ")[2] == high.partition(" ")[2]
    return f"{low.partition(' ')[0] if shared else low} – {high}"
