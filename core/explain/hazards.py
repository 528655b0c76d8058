"""Where plan and graph do not belong together and ggml does not notice: what was planned, what is asked, what breaks.

What ggml compares: ggml_gallocr_needs_realloc looks at the number of nodes and leafs, then at each node and its
sources: has each a place that is large enough? Neither at the wiring, nor at leafs that no node reads.
"""

from __future__ import annotations

from ..check.checker import Verdict, Violation
from ..check.liveness import live_steps
from ..events import PassName, Reserve
from ..log import Run
from ..state import State
from ..text import bytes_text, hex_text
from .sentence import Sentence, count, name


def plan_maker(run: Run) -> Run | None:
    """The run whose plan is in force in this one, None where it is its own or there is none."""
    one: Run | None = run
    while one is not None and not any(type(event) is Reserve for event in one.events):
        one = one.previous
    return None if one is run else one


def hazards(state: State, violations: list[Violation], planned: State | None = None) -> list[Sentence]:
    """What is wrong between the plan in force and the graph, the cause first.

    Args:
        state: of the run.
        violations: what the checker found in it.
        planned: the state of the run that made the plan, where it is another one.
    """
    found = [_stale(state, violations, planned), _leaf(state, planned), _no_plan(state), _pins(state)]
    return [sentence for sentence in found if sentence is not None]


def _stale(state: State, violations: list[Violation], planned: State | None) -> Sentence | None:
    hits = [hit for hit in violations if hit.verdict is Verdict.OVERLAP]
    if not hits or state.abort is not None:
        return None
    hit = hits[0]
    new, old = name(state.names[hit.tensor]), name(state.names[hit.other])
    text = f"{new} **overwrites** {old} at step {hit.step}, while it is still needed{_until(state, hit)}."
    if not state.reserved:
        text += " The plan was made for another graph and kept: ggml compares counts and sizes, not the wiring."
        text += _wiring(state, planned) if planned is not None else ""
    return Sentence("hazard", text, tensor=hit.tensor, alarm=True)


def _until(state: State, hit: Violation) -> str:
    """Which bytes both have, and who still reads the older one."""
    last = live_steps(state).get(hit.other, (0, -1))[1]
    reader = name(state.names[state.alloc_nodes[last][0]]) if last > hit.step else ""
    a, b = state.places.get(hit.tensor), state.places.get(hit.other)
    both = ""
    if a is not None and b is not None:
        start, end = max(a.offset, b.offset), min(a.offset + a.size, b.offset + b.size)
        both = f": both lie in {hex_text(start)} to {hex_text(end)}"
    return (f" by {reader}" if reader else "") + both


def _wiring(state: State, planned: State) -> str:
    """The first node that reads something else than the one that was planned in its place."""
    for step, (now, then) in enumerate(zip(_reads(state), _reads(planned), strict=False)):
        if now != then:
            here = name(state.names[state.alloc_nodes[step][0]])
            there = name(planned.names[planned.alloc_nodes[step][0]])
            sizes = f"{count(len(state.alloc_nodes), 'node')} and {count(len(state.alloc_leafs), 'leaf', 'leafs')}"
            return (
                f" Node {step} was {there} and read {_listed(then)}; now it is {here} and reads {_listed(now)}. Both "
                f"graphs have {sizes}, and every tensor fits its place."
            )
    return ""


def _reads(state: State) -> list[tuple[str, ...]]:
    """Of each node of the allocation graph, the places of its sources in the graph: what a plan stands on."""
    at = {tensor: f"leaf {i}" for i, (tensor, _) in enumerate(state.alloc_leafs)}
    at |= {tensor: f"node {i}" for i, (tensor, _) in enumerate(state.alloc_nodes)}
    return [
        tuple(at.get(source, "a tensor with memory of its own") for source in state.src[node] if source >= 0)
        for node, _ in state.alloc_nodes
    ]


def _listed(places: tuple[str, ...]) -> str:
    return " and ".join(dict.fromkeys(places)) or "nothing"


def _leaf(state: State, planned: State | None) -> Sentence | None:
    """A leaf that no node reads: it has the place that was planned at its number, whatever it is now."""
    if state.abort is None or planned is None or "ggml_backend_buffer_get_size" not in state.abort:
        return None
    read = {source for node, _ in state.alloc_nodes for source in state.src[node]}
    for number, (leaf, _) in enumerate(state.alloc_leafs):
        if leaf in read or number >= len(planned.alloc_leafs):
            continue
        before = planned.alloc_leafs[number][0]
        size, place = state.tensors[leaf].nbytes, planned.lifetimes.get(before)
        if place is None or size <= place.size:
            continue
        room = sum(state.buffers[place.buffer].real)
        return Sentence(
            "unchecked",
            f"The plan in force has **{bytes_text(place.size)}** at {hex_text(place.offset)} for leaf {number}, which "
            f"was {name(planned.names[before])}; now {name(state.names[leaf])} needs **{bytes_text(size)}** there, and "
            f"the buffer ends at {bytes_text(room)}. ggml does not notice: it compares the sizes of nodes and of what "
            "they read, and no node reads this leaf, it is only a root of the graph.",
            tensor=leaf,
            alarm=True,
        )
    return None


def _no_plan(state: State) -> Sentence | None:
    """With several buffers alloc_graph does not plan by itself."""
    if state.ok is not False or state.reserved or state.abort is not None or not state.realloc_reason:
        return None
    bufts = sum(buffer.same_as < 0 for buffer in state.buffers)
    return Sentence(
        "no_plan",
        f"**No tensor has an address**: the plan in force does not fit ({state.realloc_reason}), and ggml plans anew "
        f"by itself only where there is one buffer; here are {bufts}. ggml_gallocr_alloc_graph returns false, and "
        "whoever calls it has to reserve first, as the scheduler does.",
        alarm=True,
    )


def _pins(state: State) -> Sentence | None:
    """A computation without allocation resets the scheduler, and its pins with it."""
    writes = [one.writes for one in state.passes if one.name is PassName.PINS]
    lost = [tensor for changes in writes for tensor, backend, _, _ in changes if backend < 0]
    if not lost or state.abort is not None:
        return None
    first = lost[0]
    backends, now = state.backends, state.backend_ids[first]
    where = backends[now].name if now >= 0 else "no device"
    return Sentence(
        "pins",
        f"**{count(len(lost), 'pin is', 'pins are')} lost**: {name(state.names[first])} was pinned to "
        f"{backends[state.tensors[first].pin].name} and is on {where}. The graph was computed without being allocated "
        "first, and then ggml_backend_sched_graph_compute resets the scheduler: only the label `usr` is left.",
        tensor=first,
        alarm=True,
    )
