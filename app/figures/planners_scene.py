"""Buffer sets and plans as scenes for `assets/strip*.js`: what all plans of a set share, and what each adds.

The tensors of such a scene are the buffers of the set, so that one id means the same in every plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.planners.bound import tops
from ...core.planners.ggml import freed_in_time
from ...core.planners.instance import Instance
from ...core.planners.planner import Plan
from ...core.state import State
from ...core.text import shape_text
from . import palette
from .columns import column
from .holes import Hole, Span, holes
from .planners_axis import Axis, Segments, curve, live_bytes
from .planners_colors import by_pool, questions

if TYPE_CHECKING:
    from ...core.planners.from_graph import GraphInstance
    from ...core.planners.solve import Outcome

MOST_HOLES = 20_000
"""Sets with more buffers are drawn without their holes: they could not be seen."""
MOST_LISTED = 40
_KEPT = 2  # the padlock of `assets/strip_labels.js`: it must lie where it lies


@dataclass(frozen=True, eq=False)
class Subject:
    """A buffer set as pictures see it.

    Attributes:
        instance: the buffers.
        axis: their steps.
        segments: what they need on it.
        graph: where they come from, None for a set from a file.
    """

    instance: Instance
    axis: Axis
    segments: Segments
    graph: GraphInstance | None = None

    @classmethod
    def of(cls, instance: Instance, graph: GraphInstance | None = None) -> Subject:
        """With the axis that its steps ask for."""
        axis = Axis.of(instance)
        return cls(instance, axis, Segments.of(instance, axis), graph)

    @property
    def state(self) -> State | None:
        """Of the graph."""
        return self.graph.state if self.graph else None

    @cached_property
    def freed_in_time(self) -> int | None:
        """Bytes that ggml would need if it gave tensors back after their last use; None without its plan."""
        return freed_in_time(self.instance)

    @cached_property
    def checked(self) -> Outcome | None:
        """The engine's own plan as the checker sees it; None without one."""
        from ...core.planners.solve import judged

        plan = self.graph.ggml if self.graph else None
        return None if plan is None else judged(self.instance, "ggml", plan)

    @property
    def unsound(self) -> bool:
        """The engine has a plan, and it is wrong: tensors that are alive together share bytes."""
        return self.checked is not None and self.checked.plan is None and not self.checked.refused

    @property
    def members(self) -> Sequence[Sequence[int]]:
        """By buffer the tensors that share it, its owner first; empty without a graph."""
        return self.graph.members if self.graph else ()


def set_scene(subject: Subject) -> dict[str, Any]:
    """What all plans of a set share: buffers, colours, the live-bytes curve, who is alive at its highest point."""
    instance, axis = subject.instance, subject.axis
    live = live_bytes(subject.segments, axis)
    step = int(live.argmax()) if len(live) else 0
    steps, found = curve(live)
    owners = [one[0] for one in subject.members]
    return {
        "n": len(instance),
        "n_steps": axis.n,
        "moments": "" if axis.moments is None else column(axis.moments.tolist(), "float64"),
        "tensors": _tensors(subject, owners),
        "devices": [set_device(subject)],
        "colors": questions(instance, axis, subject.state, owners),
        "live": {"step": column(steps, "int32"), "bytes": column(found, "float64")},
        "bound": int(live.max(initial=0)),
        "bound_step": step,
        "peak": _alive(subject, step),
        "chains": _chains(subject),
    }


def plan_scene(subject: Subject, plan: Plan, label: str) -> dict[str, Any]:
    """The `strip` part of a scene, and what a plan's panel tells about it."""
    segments = subject.segments
    chunk = np.zeros(len(subject.instance), dtype=np.int64) if plan.chunks is None else plan.chunks
    y0 = plan.offsets[segments.buffer] + segments.low
    size = segments.high - segments.low
    lane = chunk[segments.buffer]
    order = np.argsort(lane, kind="stable")
    top = tops(subject.instance, plan)
    sizes = [top.get(c, 0) for c in range(max(top, default=0) + 1)]
    free = _holes(segments, lane, y0, size, sizes, subject.axis.n) if len(segments.buffer) <= MOST_HOLES else []
    count = len(order)
    nothing = {"n": 0, **dict.fromkeys(("id", "rect", "x0", "x1", "y0", "size", "lane", "tensor", "other"), "")}
    fixed = subject.instance.fixed[segments.buffer[order]] >= 0
    return {
        "strip": {
            "n": count,
            "n_steps": subject.axis.n,
            "empty": "" if count else "The set has no buffer that needs memory.",
            "lanes": [_lane(subject, np.flatnonzero(lane == c), c, sizes, label) for c in range(len(sizes))],
            "id": column(segments.buffer[order].tolist(), "int32"),
            "lane": column(lane[order].tolist(), "int16"),
            "x0": column(segments.x0[order].tolist(), "int32"),
            "x1": column(segments.x1[order].tolist(), "int32"),
            "y0": column(y0[order].tolist(), "float64"),
            "size": column(size[order].tolist(), "float64"),
            "parent": column([-1] * count, "int32"),
            "kind": column((fixed * _KEPT).tolist(), "uint8"),
            "copy_of": column([-1] * count, "int32"),
            "copy_no": column([0] * count, "int8"),
            "tensor_of_step": column([-1] * subject.axis.n, "int32"),
            "node_of_step": column([-1] * subject.axis.n, "int32"),
            "step_of_node": "",
            "reads": {"n": 0, "rect": "", "step": "", "reader": ""},
            "views": nothing,
            "overlaps": nothing,
            "holes": {
                "n": len(free),
                "lane": column((c for c, _ in free), "int16"),
                "x0": column((hole.first for _, hole in free), "int32"),
                "x1": column((hole.last for _, hole in free), "int32"),
                "y0": column((hole.start for _, hole in free), "float64"),
                "size": column((hole.end - hole.start for _, hole in free), "float64"),
            },
        },
        "pool": None if plan.pools is None else by_pool(plan.pools),
        "holes": _largest_holes(free, sizes),
        "use": _use(segments, sizes, free, subject.axis.n),
        "top": _top(subject, chunk, plan.offsets + subject.instance.size, sizes),
        "note": plan.note,
    }


def _tensors(subject: Subject, owners: Sequence[int]) -> dict[str, Any]:
    instance, state = subject.instance, subject.state
    count = len(instance)
    plain = [""] * count
    tensors = [state.tensors[owner] for owner in owners] if state else []
    return {
        "n": count,
        "name": list(instance.ids),
        "op": [str(tensor.op) for tensor in tensors] or plain,
        "type": [tensor.dtype.name for tensor in tensors] or plain,
        "ne": [shape_text(tensor.ne) for tensor in tensors] or plain,
        "bytes": column(instance.size.tolist(), "float64"),
        "device": column([0] * count, "int8"),
        "layer": column([min(tensor.layer, 2**15 - 1) for tensor in tensors] or [-1] * count, "int16"),
        "owner": column(owners or [-1] * count, "int32"),
        "facts": {str(i): _facts(subject, i) for i in _special(subject)},
    }


def _special(subject: Subject) -> list[int]:
    """Buffers of which there is more to tell than their size and life."""
    instance = subject.instance
    chained = [i for i, one in enumerate(subject.members) if len(one) > 1]
    asked = np.flatnonzero((instance.fixed >= 0) | (instance.hint >= 0)).tolist()
    return sorted({*chained, *asked, *instance.gaps})


def _facts(subject: Subject, i: int) -> list[tuple[str, str]]:
    instance, state = subject.instance, subject.state
    told: list[tuple[str, str]] = []
    if state is not None and len(subject.members[i]) > 1:
        names = [state.names[t] for t in subject.members[i][1:]]
        more = f" and {len(names) - 4:,} more" if len(names) > 4 else ""
        told.append(("shared by", ", ".join(names[:4]) + more))
    if instance.fixed[i] >= 0:
        told.append(("fixed", f"must lie at {int(instance.fixed[i]):,}"))
    if instance.hint[i] >= 0:
        told.append(("hint", f"would like {int(instance.hint[i]):,}"))
    for gap in instance.gaps.get(i, ())[:4]:
        need = f"only bytes {gap.low:,} to {gap.high:,}" if gap.high > gap.low else "nothing"
        told.append(("gap", f"steps {gap.lower:,} to {gap.upper - 1:,}: {need}"))
    return told


def ggml_peak(subject: Subject) -> int | None:
    """Bytes of the engine's own plan; None without one, or where the checker finds it wrong."""
    return subject.checked.peak if subject.checked else None


def set_device(subject: Subject) -> dict[str, Any]:
    """Name and hues of the device that a set belongs to."""
    name, hue = subject.instance.name, palette.DEVICE_HUES[0]
    if subject.graph is not None:
        hue = palette.device_hues([backend.type for backend in subject.graph.state.backends])[subject.graph.buffer][0]
    return {"name": name, "light": hue.light, "dark": hue.dark, "pattern": False}


def _lane(subject: Subject, rows: np.ndarray, chunk: int, sizes: Sequence[int], label: str) -> dict[str, Any]:
    """One chunk; `bound` is a line in the picture, which several chunks have not."""
    segments, axis = subject.segments, subject.axis
    live = live_bytes(segments, axis, rows)
    step = int(live.argmax())
    alive = rows[(segments.x0[rows] <= step) & (segments.x1[rows] > step)]
    most = int(live[step])
    return {
        "device": 0, "label": label, "buft": subject.instance.name or label, "buffer": 0, "chunk": chunk,
        "chunks": len(sizes), "size": sizes[chunk], "peak": sizes[chunk], "live": most, "peak_step": step,
        "alive": segments.buffer[alive].tolist(), "bound": most if len(sizes) == 1 else 0,
    }  # fmt: skip


def _holes(
    segments: Segments, lane: np.ndarray, y0: np.ndarray, size: np.ndarray, sizes: Sequence[int], n: int
) -> list[tuple[int, Hole]]:
    found = []
    for c, most in enumerate(sizes):
        rows = np.flatnonzero(lane == c)
        columns = (segments.x0[rows], segments.x1[rows], y0[rows], y0[rows] + size[rows])
        spans = [Span(*row) for row in zip(*(one.tolist() for one in columns), strict=True)]
        found += [(c, hole) for hole in holes(spans, most, n)]
    return found


def _largest_holes(free: Sequence[tuple[int, Hole]], sizes: Sequence[int]) -> list[list[int]]:
    """The largest holes by bytes times steps: [lane, first, last, start, end]. What is free up to the top is none."""
    inner = [(c, hole) for c, hole in free if hole.end < sizes[c]]

    def rank(one: tuple[int, Hole]) -> tuple[int, int, int]:
        hole = one[1]
        return -(hole.last - hole.first) * (hole.end - hole.start), hole.first, hole.start

    inner.sort(key=rank)
    return [[c, *hole] for c, hole in inner[:MOST_LISTED]]


def _use(segments: Segments, sizes: Sequence[int], free: Sequence[tuple[int, Hole]], n: int) -> dict[str, float]:
    """Shares of the plan's area, bytes times steps: in use, in holes, free above everything."""
    area = float(sum(sizes)) * n or 1.0
    used = float(((segments.x1 - segments.x0).astype(float) * (segments.high - segments.low)).sum())
    held = sum(float(h.last - h.first) * (h.end - h.start) for c, h in free if h.end < sizes[c])
    return {"used": used / area, "holes": held / area, "above": max(0.0, 1 - (used + held) / area)}


def _top(subject: Subject, chunk: np.ndarray, ends: np.ndarray, sizes: Sequence[int]) -> dict[str, Any]:
    """The buffer that makes the plan as high as it is, the fullest moment of its life and who is alive then."""
    segments = subject.segments
    if not len(segments.buffer):
        return {"buffer": -1, "step": 0, "live": 0, "alive": []}
    c = int(np.argmax(sizes))
    reaching = np.flatnonzero((chunk == c) & (ends == sizes[c]) & (subject.instance.size > 0))
    buffer = int(reaching[0])
    rows = np.flatnonzero(chunk[segments.buffer] == c)
    live = live_bytes(segments, subject.axis, rows)
    mine = segments.buffer == buffer
    first, last = (int(segments.x0[mine].min()), int(segments.x1[mine].max())) if mine.any() else (0, 1)
    step = first + int(live[first:last].argmax())
    return {"buffer": buffer, "step": step, "live": int(live[step]), "alive": _alive(subject, step)}


def _alive(subject: Subject, step: int) -> list[list[int]]:
    """[buffer, bytes] of those alive at a position, largest first."""
    segments = subject.segments
    rows = segments.alive_at(step)
    found = zip(segments.buffer[rows].tolist(), (segments.high[rows] - segments.low[rows]).tolist(), strict=True)
    return [list(one) for one in sorted(found, key=lambda one: (-one[1], one[0]))[:MOST_LISTED]]


def _chains(subject: Subject) -> list[list[int]]:
    """[buffer, tensors ...] of buffers that several tensors share one after the other, the longest chains first."""
    if subject.state is None:
        return []
    found = [[i, *one] for i, one in enumerate(subject.members) if len(one) > 1]
    return sorted(found, key=lambda one: (-len(one), one[0]))[:MOST_LISTED]
