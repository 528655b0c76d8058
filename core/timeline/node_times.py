"""How long each node of a run takes under a cost model. Computed once, whatever the number of micro-batches."""

from __future__ import annotations

from ..state import State
from .cost import Cost, latency, nanoseconds
from .flops import NOTHING, Work, work_of
from .lanes import Nodes


def node_times(state: State, cost: Cost, backends: list[int]) -> Nodes:
    """A row per node of the graph, in its order.

    The time of a node is the longer of its operations at the device's rate and its bytes at the memory's, and the
    launch of the device. Offsets count from the start of its split.

    Args:
        state: of the run.
        cost: the rates.
        backends: who computes each row.
    """
    nodes = Nodes(tensor=list(state.nodes), backend=backends)
    tensors, src, computed = state.tensors, state.src, state.computed
    starts = {split.start for split in state.splits}
    launches = [latency(device.launch) for device in cost.devices]
    known: dict[tuple[int, Work], tuple[int, int]] = {}  # layers repeat each other
    at = 0
    for row, node in enumerate(state.nodes):
        if row in starts:
            at = 0
        work = work_of(tensors[node], [tensors[s] for s in src[node] if s >= 0]) if node in computed else NOTHING
        ns = math = memory = 0
        if work.bytes or work.flops:
            key = (backends[row], work)
            found = known.get(key)
            if found is None:
                device = cost.devices[backends[row]]
                rate = device.matrix if work.matrix else device.other
                found = known[key] = nanoseconds(work.flops, rate), nanoseconds(work.bytes, device.memory)
            math, memory = found
            ns = max(math, memory) + launches[backends[row]]
        nodes.offset.append(at)
        nodes.ns.append(ns)
        nodes.flops.append(work.flops)
        nodes.nbytes.append(work.bytes)
        nodes.math.append(math)
        nodes.memory.append(memory)
        at += ns
    return nodes
