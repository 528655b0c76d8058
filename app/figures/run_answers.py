"""What a run says, answers first: how long it took, what was slow, what is no number, whether memory was sound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.backends.gather import INTEGERS
from ...core.execute.result import NodeRun
from ...core.explain.sentence import Sentence, count, name
from ...core.state import State
from .run_result import Executed
from .run_words import number_text, seconds_text, share_text, wrong_text

MOST_OPS = 3
LEAST_SHARE = 0.01
"""Ops that take less are left out of the sentence."""
MUCH = 0.1
"""Of the whole time: preparing that takes less is not told."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of nodes that have something in common (seconds)."""

    key: str
    nodes: int
    seconds: float


def spent_by(nodes: Sequence[NodeRun], key: Callable[[NodeRun], str]) -> list[Spent]:
    """The time of each group, the longest first."""
    counts: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for one in nodes:
        counts[key(one)] += 1
        seconds[key(one)] += one.seconds
    return sorted((Spent(k, counts[k], seconds[k]) for k in counts), key=lambda one: (-one.seconds, one.key))


def by_op(done: Executed) -> list[Spent]:
    """Time per kind of op."""
    tensors = done.state.tensors
    return spent_by(done.execution.nodes, lambda one: tensors[one.node].op.value)


def by_split(done: Executed) -> list[Spent]:
    """Time per split, named with its device, in the order of the splits."""
    state = done.state
    label = "split {} on {}" if state.splits else "{1}"
    found = spent_by(done.execution.nodes, lambda one: label.format(one.split, _device(state, one)))
    order = {label.format(one.split, _device(state, one)): k for k, one in reversed([*enumerate(done.execution.nodes)])}
    return sorted(found, key=lambda one: order[one.key])


def _device(state: State, one: NodeRun) -> str:
    return state.backends[one.backend].name if 0 <= one.backend < len(state.backends) else "no device"


def run_answers(done: Executed) -> list[Sentence]:
    """At most one sentence on each question; what is wrong comes first."""
    found = [_time(done), _slowest(done), _wrong(done), _guard(done), _compared(done), _largest(done)]
    told = [one for one in found if one is not None]
    return sorted(told, key=lambda one: not one.alarm)


def _time(done: Executed) -> Sentence | None:
    execution = done.execution
    if not execution.nodes:
        nothing = "**Nothing** was computed: no node of this graph has work to do."
        return None if done.conflict else Sentence("time", nothing)
    nodes, ended = count(len(execution.nodes), "node"), seconds_text(execution.seconds)
    once = f", {seconds_text(execution.preparing)} of them to convert weights once"
    if done.follows_bytes:
        return Sentence(
            "time", f"**{ended}** to follow {nodes} by the fingerprints of their bytes; no numbers are computed."
        )
    ops = by_op(done)
    whole = sum(one.seconds for one in ops)
    telling = [one for one in ops if one.seconds >= LEAST_SHARE * whole][:MOST_OPS]
    shares = ", ".join(f"{one.key} {share_text(one.seconds, whole)}" for one in telling)
    return Sentence(
        "time",
        f"**{seconds_text(whole)}** for {nodes} on {done.backend}, {done.filled}: {shares}; {ended} in all"
        f"{once if execution.preparing > MUCH * execution.seconds else ''}.",
    )


def _slowest(done: Executed) -> Sentence | None:
    nodes = done.execution.nodes
    if len(nodes) < 2 or done.follows_bytes:
        return None
    top = max(nodes, key=lambda one: one.seconds)
    tensor = done.state.tensors[top.node]
    share = share_text(top.seconds, sum(one.seconds for one in nodes))
    return Sentence(
        "slowest",
        f"**{seconds_text(top.seconds)}** takes the slowest node, {name(done.state.names[top.node])} "
        f"({tensor.op.value}): {share} of the time of all nodes.",
        tensor=top.node,
    )


def _wrong(done: Executed) -> Sentence | None:
    """Where the first value that is no number comes up; that none did only where poison would have shown it."""
    wrong = [one for one in done.execution.nodes if one.nans or one.infs]
    if not wrong:
        if not done.poison or done.guard or not _has_values(done):  # the guard's sentence says it as well
            return None
        return Sentence("poison", "**No poison**: nothing that was freed or never written reached a result.")
    first = wrong[0]
    tensor = done.state.tensors[first.node]
    nans = [one for one in wrong if one.nans]
    what = "NaN" if nans else "infinity"
    elements = 1
    for n in tensor.ne:
        elements *= n
    return Sentence(
        "nan",
        f"**{count(len(nans or wrong), 'node')} with {what}**, the first is {name(done.state.names[first.node])} "
        f"({tensor.op.value} on {_device(done.state, first)}): {wrong_text(first.nans, first.infs)} of {elements:,} "
        "values.",
        tensor=first.node,
        alarm=True,
    )


def _has_values(done: Executed) -> bool:
    return any(one.low is not None for one in done.execution.nodes)


def _guard(done: Executed) -> Sentence | None:
    """Whether everybody's bytes were their own; else who took whose, the tensors as links."""
    if not done.guard:
        return None
    found, names = done.conflict, done.state.names
    if found is None:
        nodes = count(len(done.execution.nodes), "node")
        checked = nodes if done.runs == 1 else f"{done.runs} runs, the last one of {nodes},"
        clean = done.poison and _has_values(done) and not any(one.nans or one.infs for one in done.execution.nodes)
        poison = "; no poison reached a result" if clean else ""
        return Sentence("guard", f"**Sound**: in {checked} every byte read was still its owner's{poison}.")
    told = str(found).partition("; events ")[0]
    for tensor in sorted({found.tensor, found.other, found.node} - {-1}, key=lambda t: -len(names[t])):
        told = told.replace(repr(names[tensor]), name(names[tensor]))
    return Sentence("guard", f"**Overlap**: {told}.", tensor=found.tensor, alarm=True)


def _compared(done: Executed) -> Sentence | None:
    if done.differing is None:
        return None
    if not done.differing:
        return Sentence("compared", "**Equal**: the same graph without shared memory gives the same bytes everywhere.")
    first = done.differing[0]
    return Sentence(
        "compared",
        f"**{count(len(done.differing), 'node differs', 'nodes differ')}** from a run without shared memory, first "
        f"{name(done.state.names[first])}.",
        tensor=first,
        alarm=True,
    )


def _largest(done: Executed) -> Sentence | None:
    """The value farthest from zero, ids aside: where an f16 would overflow first."""
    tensors = done.state.tensors
    known = [
        (max(abs(one.low), abs(one.high)), one)
        for one in done.execution.nodes
        if one.low is not None and one.high is not None and tensors[one.node].dtype.name not in INTEGERS
    ]
    if not known:
        return None
    size, top = max(known, key=lambda pair: pair[0])
    return Sentence(
        "largest",
        f"**{number_text(size)}** is the largest absolute value, in {name(done.state.names[top.node])} "
        f"({done.state.tensors[top.node].op.value}, {done.filled}).",
        tensor=top.node,
    )
