"""All stages of one instance and one plan as a list of events."""

from __future__ import annotations

from ..bound import live_bytes, peak_bytes
from ..from_graph import GraphInstance
from ..instance import Instance
from ..planner import Plan
from .events import Begin, Conflict, Event, Group, Result, Stage, Step
from .interference import PAIRS_UP_TO, interference
from .places import places


def record_pipeline(
    source: GraphInstance | Instance, plan: Plan, planner: str = "", pairs_up_to: int = PAIRS_UP_TO
) -> list[Event]:
    """What each stage decided.

    Args:
        source: buffers of a graph, or of a list, for which the first two stages stay empty.
        plan: any planner's, for exactly these buffers.
        planner: its name.
        pairs_up_to: see `interference.PAIRS_UP_TO`.
    """
    instance = source.instance if isinstance(source, GraphInstance) else source
    events: list[Event] = []
    members: tuple[tuple[int, ...], ...] = ((),) * len(instance)
    if isinstance(source, GraphInstance):
        members = source.members
        events.append(Begin(Stage.ORDER, source.order))
        events += [Step(node) for node in source.steps]
        events.append(Begin(Stage.INTERVALS, "in place" if source.in_place else "not in place"))
        events += source.intervals
    events.append(Begin(Stage.GROUPS, ""))
    columns = zip(instance.lower.tolist(), instance.upper.tolist(), instance.size.tolist(), members, strict=True)
    events += [Group(buffer, *row) for buffer, row in enumerate(columns)]
    graph = interference(instance, pairs_up_to)
    events.append(Begin(Stage.INTERFERENCE, "cliques" if graph.pairs is None else "pairs"))
    events += [Conflict(one, other) for one, other in graph.pairs or ()]
    events += graph.cliques
    events.append(Begin(Stage.PLACES, planner))
    events += places(instance, plan)
    curve = live_bytes(instance)
    events.append(Begin(Stage.RESULT, ""))
    events.append(Result(peak_bytes(instance, plan), curve.bound, curve.peak_step()))
    return events
