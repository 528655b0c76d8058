"""The stages of the classic pipeline as plain data: order, intervals, interference graph, placement."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.planners.pipeline.events import Stage
from ...core.planners.pipeline.intervals import Because
from ...core.planners.pipeline.record import record_pipeline
from ...core.planners.pipeline.replay import PipelineState, replay
from ...core.planners.planner import Plan
from ...core.text import bytes_text
from .columns import column
from .planners_axis import Axis
from .planners_scene import Subject

MOST_INTERVALS = 300
MOST_CLIQUES = 400
MOST_MEMBERS = 60
_BECAUSE = {Because.OWN: 0, Because.VIEW: 1, Because.IN_PLACE: 2}


def stages_data(subject: Subject, plan: Plan, planner: str) -> dict[str, Any]:
    """All stages of one plan, long lists cut; `told` has a sentence for each."""
    state = replay(record_pipeline(subject.graph or subject.instance, plan, planner))
    return {
        "told": _told(subject, state),
        "order": {"rule": state.rules.get(Stage.ORDER, ""), "node": column(state.steps, "int32")},
        "intervals": _intervals(state),
        "pairs": state.pairs if state.pairs or len(state.cliques) < 2 else None,
        "cliques": _cliques(state, subject.axis),
        "placed": {
            "buffer": column((one.buffer for one in state.placed), "int32"),
            "on": {str(k): list(one.on[:4]) for k, one in enumerate(state.placed) if one.on},
            "pooled": any(one.pool >= 0 for one in state.placed),
        },
    }


def _told(subject: Subject, state: PipelineState) -> dict[str, str]:
    views = sum(one.because is Because.VIEW for one in state.intervals)
    heirs = sum(one.because is Because.IN_PLACE for one in state.intervals)
    count = len(state.groups)
    folded = f"{len(state.intervals):,} tensors become {count:,} buffers: {views:,} views and {heirs:,} in-place heirs"
    largest = max((one.bytes for one in state.cliques), default=0)
    edges = f"{len(state.pairs):,} pairs" if state.pairs else "Too many pairs to list"
    return {
        "order": f"{len(state.steps):,} steps" if state.steps else "A buffer set comes with its steps.",
        "intervals": f"{folded} share the bytes of another tensor." if subject.graph else f"{count:,} buffers.",
        "interference": f"{edges}, covered by {len(state.cliques):,} cliques; "
        f"the heaviest holds {bytes_text(largest)}: that is the bound.",
        "places": f"{len(state.placed):,} buffers, one after the other.",
    }


def _intervals(state: PipelineState) -> dict[str, Any]:
    """The largest buffers' tensors by birth; of a set without a graph the buffers themselves."""
    size = {member: group.size for group in state.groups for member in group.members}
    if state.intervals:
        rows = sorted(state.intervals, key=lambda one: (-size.get(one.tensor, 0), one.birth, one.tensor))
        shown = sorted(rows[:MOST_INTERVALS], key=lambda one: (one.birth, one.owner, one.tensor))
        return {
            "all": len(rows),
            "tensors": True,
            "rows": [[one.tensor, one.birth, one.death, _BECAUSE[one.because], one.of, one.until] for one in shown],
        }
    groups = sorted(state.groups, key=lambda one: (-one.size, one.lower, one.buffer))[:MOST_INTERVALS]
    groups.sort(key=lambda one: (one.lower, one.buffer))
    return {
        "all": len(state.groups),
        "tensors": False,
        "rows": [[one.buffer, one.lower, one.upper, 0, -1, -1] for one in groups],
    }


def _cliques(state: PipelineState, axis: Axis) -> dict[str, Any]:
    """The heaviest cliques in order of time, each with its largest members."""
    size = [group.size for group in state.groups]
    heaviest = sorted(range(len(state.cliques)), key=lambda k: (-state.cliques[k].bytes, k))[:MOST_CLIQUES]
    wanted = set(heaviest)
    rows: list[list[Any]] = []
    present: set[int] = set()
    for k, clique in enumerate(state.cliques):
        present.difference_update(clique.left)
        present.update(clique.joined)
        if k in wanted:
            members = sorted(present, key=lambda one: (-size[one], one))[:MOST_MEMBERS] if k in heaviest[:40] else []
            lower, upper = axis.place(np.array([clique.lower, clique.upper])).tolist()
            rows.append([k, lower, upper, clique.bytes, len(present), members])
    return {"all": len(state.cliques), "rows": rows}
