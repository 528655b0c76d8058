"""A session in a few words: a call, the cause of a rebuild, a graph, for labels that have little room."""

from __future__ import annotations

from ...core.decode.events import Check, Reserve
from ...core.decode.life import UbatchSeen
from ...core.decode.script import Group, Step
from ...core.explain.sentence import count
from ...core.models.shape import GraphShape, Purpose

RESERVES = {Reserve.PROBE: "probe", Reserve.PREFILL: "prompt (pp)", Reserve.DECODE: "generation (tg)"}
"""What a graph of a reservation stands for: split only, the longest prompt, one token of each sequence."""

MOST_GROUPS = 4


def step_text(step: Step) -> str:
    """A call as one would say it.

    >>> step_text(Step(decode=(Group(seq=0, n=8), Group(seq=1, n=1)))), step_text(Step(seq_rm=(0, 4, -1)))
    ('decode 8 + 1 tokens', 'seq_rm 0 from 4')
    """
    if step.decode is not None:
        return _decode(step.decode, step.input)
    kind, value = step.kind, getattr(step, step.kind)
    if kind == "seq_rm":
        return f"seq_rm {_whose(value[0])}{_span(value[1], value[2])}"
    if kind == "seq_cp":
        return f"seq_cp {value[0]} to {value[1]}{_span(value[2], value[3])}"
    if kind == "seq_add":
        return f"seq_add {_whose(value[0])}{_span(value[1], value[2])} by {value[3]}"
    if kind == "set_sampler":
        return f"{'remove' if step.remove else 'set'} sampler of {value}"
    return f"{kind} {'on' if value else 'off'}" if kind.startswith("set_") else kind


def _decode(groups: tuple[Group, ...], kind: str) -> str:
    sizes = [f"{group.n:,}" for group in groups]
    if len(sizes) > MOST_GROUPS:
        sizes = [*sizes[: MOST_GROUPS - 1], f"… ({len(groups)} groups)"]
    noun = "embeddings" if kind == "embd" else "token" if sizes == ["1"] else "tokens"
    return f"decode {' + '.join(sizes)} {noun}"


def _whose(seq: int) -> str:
    return "all" if seq < 0 else str(seq)


def _span(start: int, end: int) -> str:
    if start <= 0 and end < 0:
        return ""
    if end < 0:
        return f" from {start}"
    return f" to {end}" if start <= 0 else f" [{start}, {end})"


def cause_text(one: UbatchSeen) -> str:
    """Why a ubatch has no re-used graph, empty where it has."""
    if one.reused:
        return ""
    failed = one.failed
    if failed is not None:
        return check_text(failed)
    return one.why.value if one.why is not None else ""


def check_text(check: Check) -> str:
    """A condition that failed.

    >>> check_text(Check("params", "n_tokens", "32", "1", False))
    'n_tokens 32, now 1'
    """
    if check.active == check.now:
        return f"{check.name} never allows it" if not check.holds else check.name
    return f"{check.name} {check.active}, now {check.now}"


def graph_text(shape: GraphShape) -> str:
    """What a graph computes.

    >>> graph_text(GraphShape(n_tokens=8, n_kv=256))
    '8 tokens, 256 cells'
    """
    if shape.purpose is Purpose.SHIFT:
        return "shift of K"
    words = [count(shape.n_tokens, "token")]
    if shape.n_stream > 1:
        words.append(count(shape.n_stream, "stream"))
    if shape.n_kv:
        words.append(count(shape.n_kv, "cell"))
    return ", ".join(words)
