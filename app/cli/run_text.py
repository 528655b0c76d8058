"""What `galloscope run` prints: answers first, then where the time went, the outputs and, when asked, every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.execute.result import NodeRun
from ...core.explain.sentence import count
from ...core.text import shape_text
from ..figures.run_answers import Spent, by_op, by_split, run_answers
from ..figures.run_result import Executed
from ..figures.run_words import number_text, seconds_text, share_text, wrong_text
from .run_output import Output, key_of
from .table import table

MOST_SPLITS = 12
MARK = "!"
"""Stands before a node whose values are not all numbers."""


def run_text(done: Executed, outputs: Sequence[Output], top: int, *, every_node: bool) -> str:
    """The whole answer."""
    told = [("! " if one.alarm else "") + one.text for one in run_answers(done)]
    parts = ["\n".join(told), _spent("op", by_op(done)), _splits(by_split(done)), _wrong(done), _slowest(done, top)]
    parts.append(_outputs(outputs))
    if every_node:
        parts.append(_nodes(done, done.execution.nodes))
    return "\n\n".join(part for part in parts if part)


def _spent(title: str, rows: Sequence[Spent]) -> str:
    whole = sum(one.seconds for one in rows)
    lines = [(one.key, f"{one.nodes:,}", seconds_text(one.seconds), share_text(one.seconds, whole)) for one in rows]
    return table((title, "nodes", "time", "share"), lines, right=(1, 2, 3)) if lines else ""


def _splits(rows: Sequence[Spent]) -> str:
    if len(rows) < 2:
        return ""
    shown = set(sorted(range(len(rows)), key=lambda k: -rows[k].seconds)[:MOST_SPLITS])
    more = len(rows) - len(shown)
    whole = sum(one.seconds for one in rows)
    lines = [
        (one.key, f"{one.nodes:,}", seconds_text(one.seconds), share_text(one.seconds, whole))
        for k, one in enumerate(rows)
        if k in shown
    ]
    text = table(("split", "nodes", "time", "share"), lines, right=(1, 2, 3))
    return text + (f"\n  and {more:,} that take less; --json lists every node" if more else "")


def _wrong(done: Executed) -> str:
    """Nodes whose values are not all numbers, in the order of execution: the first is where it begins."""
    wrong = [one for one in done.execution.nodes if one.nans or one.infs]
    return _nodes(done, wrong[:MOST_SPLITS], "not all numbers") if wrong else ""


def _slowest(done: Executed, top: int) -> str:
    nodes = sorted(done.execution.nodes, key=lambda one: -one.seconds)[:top]
    return _nodes(done, nodes, "slowest")


def _nodes(done: Executed, nodes: Sequence[NodeRun], title: str = "node") -> str:
    if not nodes:
        return ""
    state = done.state
    rows = []
    for one in nodes:
        tensor = state.tensors[one.node]
        bad = wrong_text(one.nans, one.infs)
        rows.append(
            (
                (f"{MARK} " if bad else "") + state.names[one.node],
                tensor.op.value,
                state.backends[one.backend].name if 0 <= one.backend < len(state.backends) else "",
                shape_text(tensor.ne),
                seconds_text(one.seconds),
                *(_number(value) for value in (one.low, one.high, one.mean)),
                bad,
            )
        )
    head = (title, "op", "device", "shape", "time", "min", "max", "mean", "no numbers")
    return _narrow(head, rows, right=(4, 5, 6, 7))


def _outputs(outputs: Sequence[Output]) -> str:
    shown = [one for one in outputs if one.final] or outputs
    more = len(outputs) - len(shown)
    rows = [
        (
            (f"{MARK} " if one.summary.nans or one.summary.infs else "") + one.name,
            one.type,
            shape_text(one.ne),
            *(_number(value) for value in (one.summary.low, one.summary.high, one.summary.mean)),
            wrong_text(one.summary.nans, one.summary.infs),
        )
        for one in shown
    ]
    head = ("output", "type", "shape", "min", "max", "mean", "no numbers")
    text = _narrow(head, rows, right=(3, 4, 5)) if rows else ""
    return text + (f"\n  and {count(more, 'root')} on the way to them; -o and --json have all" if more else "")


def _narrow(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """A table without its last column where that says nothing."""
    most = len(head) if any(row[-1] for row in rows) else len(head) - 1
    return table(head[:most], [row[:most] for row in rows], right)


def _number(value: float | None) -> str:
    return "-" if value is None else number_text(value)


def run_numbers(done: Executed, outputs: Sequence[Output], keys: dict[int, str]) -> dict[str, Any]:
    """The same as plain data."""
    state, execution, found = done.state, done.execution, done.conflict
    return {
        "backend": done.backend,
        "filled": done.filled,
        "exact": done.exact,
        "poison": done.poison,
        "runs": done.runs,
        "seconds": execution.seconds,
        "guard": None if not done.guard else {
            "sound": found is None,
            "conflict": None if found is None else conflict_numbers(done),
        },
        "compare": None if done.differing is None else {
            "equal": not done.differing, "differing": [state.names[t] for t in done.differing]
        },
        "ops": [_spent_numbers(one) for one in by_op(done)],
        "splits": [_spent_numbers(one) for one in by_split(done)],
        "nodes": [
            {
                "id": one.node,
                "name": state.names[one.node],
                "op": state.tensors[one.node].op.value,
                "type": state.tensors[one.node].dtype.name,
                "ne": state.tensors[one.node].ne,
                "split": one.split,
                "backend": state.backends[one.backend].name if 0 <= one.backend < len(state.backends) else None,
                "start": one.start,
                "seconds": one.seconds,
                "min": one.low,
                "max": one.high,
                "mean": one.mean,
                "nan": one.nans,
                "inf": one.infs,
            }
            for one in execution.nodes
        ],
        "outputs": [
            {
                "name": one.name,
                "key": keys.get(one.tensor, key_of(one.name)),
                "type": one.type,
                "ne": one.ne,
                "min": one.summary.low,
                "max": one.summary.high,
                "mean": one.summary.mean,
                "nan": one.summary.nans,
                "inf": one.summary.infs,
            }
            for one in outputs
        ],
    }  # fmt: skip


def conflict_numbers(done: Executed) -> dict[str, Any]:
    """What the guard found."""
    found, names = done.conflict, done.state.names
    assert found is not None
    return {
        "tensor": names[found.tensor],
        "other": names[found.other] if found.other >= 0 else None,
        "step": found.step,
        "sentence": str(found),
    }


def _spent_numbers(one: Spent) -> dict[str, Any]:
    return {"name": one.key, "nodes": one.nodes, "seconds": one.seconds}
