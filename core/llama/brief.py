"""A model under some options in a few numbers, and what other options would change about them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ..explain.stats import split_bytes
from ..op import Op
from ..replay import replay
from ..state import State
from ..text import bytes_text
from .open import TracedModel
from .options import GraphMode
from .totals import Total, totals


class GraphBrief(msgspec.Struct, frozen=True):
    """One graph.

    Attributes:
        mode: prefill or decode.
        nodes: of the graph.
        splits: how many.
        copied: bytes that go into splits each time the graph runs; expert weights are counted whole.
        fallen: ops that a device refused and that run on the last backend, by op.
        abort: ggml's text where it would stop.
    """

    mode: GraphMode
    nodes: int
    splits: int
    copied: int
    fallen: dict[str, int]
    abort: str = ""


class Brief(msgspec.Struct, frozen=True):
    """A model under some options: its graphs, and the bytes per device."""

    graphs: tuple[GraphBrief, ...]
    totals: tuple[Total, ...]


def brief(model: TracedModel) -> Brief:
    """The numbers of an opened model."""
    states = [replay(one.session.runs[0]) for one in model.graphs]
    graphs = [_graph(one.taken.mode, state) for one, state in zip(model.graphs, states, strict=True)]
    return Brief(tuple(graphs), tuple(totals(model.taken, states)))


def changes(before: Brief, after: Brief) -> list[str]:
    """What became different, a few words each: `prefill splits 3 → 34`, `CUDA0 weights -2.10 GiB`."""
    told = []
    for old, new in zip(before.graphs, after.graphs, strict=False):
        mode = new.mode.value
        if old.splits != new.splits:
            told.append(f"{mode} splits {old.splits:,} → {new.splits:,}")
        if old.copied != new.copied:
            told.append(f"{mode} copies {bytes_text(old.copied)} → {bytes_text(new.copied)}")
        if old.fallen != new.fallen:
            told.append(f"{mode} fallen back to the CPU {_ops(old.fallen)} → {_ops(new.fallen)}")
        if old.nodes != new.nodes:
            told.append(f"{mode} nodes {old.nodes:,} → {new.nodes:,}")
        if old.abort != new.abort:
            told.append(f"{mode} {'stops' if new.abort else 'no longer stops'}: {new.abort or old.abort}")
    names = list(dict.fromkeys(row.name for row in (*before.totals, *after.totals)))
    for name in names:
        rows = [_row(name, one.totals) for one in (before, after)]
        for field in ("weights", "kv", "recurrent", "compute", "output"):
            delta = getattr(rows[1], field) - getattr(rows[0], field)
            if delta:
                told.append(f"{name} {_WORDS.get(field, field)} {_signed(delta)}")
    return told


_WORDS = {"kv": "KV cache", "recurrent": "recurrent state", "output": "output buffer"}


def _graph(mode: GraphMode, state: State) -> GraphBrief:
    last = len(state.backends) - 1
    fallen: dict[str, int] = {}
    for tensor in dict.fromkeys(t for t, backend in state.refused if backend < last):
        op = state.tensors[tensor].op
        if op is not Op.NONE and state.backend_ids[tensor] == last:
            fallen[op.value] = fallen.get(op.value, 0) + 1
    copied = sum(split_bytes(state, one) for one in state.splits)
    return GraphBrief(mode, len(state.nodes), len(state.splits), copied, fallen, state.abort or "")


def _row(name: str, rows: Sequence[Total]) -> Total:
    return next((row for row in rows if row.name == name), Total(name, "", "", None))


def _ops(fallen: dict[str, int]) -> str:
    return " and ".join(f"{number:,} × {op}" for op, number in fallen.items()) or "none"


def _signed(delta: int) -> str:
    return ("+" if delta > 0 else "-") + bytes_text(abs(delta))
