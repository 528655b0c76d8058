"""Compares a builder's graph with a captured one, field by field, leaving out what only a placement knows."""

from galloscope.core.build import build_forward
from galloscope.core.events import Event, MarkCompute, Visit
from galloscope.core.graph import Graph, Order
from galloscope.core.op import Op
from galloscope.core.tensor import Tensor

FIELDS = ("op", "dtype", "ne", "nb", "nbytes", "view_offs", "flags")
CUT = ".."
"""What some recorded graphs have in place of the end of a long name."""


def computed(graph: Graph) -> tuple[list[int], list[int], set[int]]:
    """Leafs, nodes, and the ids that get the COMPUTE flag."""
    events: list[Event] = []
    built = build_forward(graph, Order.LEFT_TO_RIGHT, events.append)
    marked = {event.tensor for event in events if isinstance(event, MarkCompute)}
    marked |= {event.tensor for event in events if isinstance(event, Visit) and event.compute}
    return built.leafs, built.nodes, marked


def same_name(mine: str, theirs: str) -> bool:
    start, cut, _ = theirs.partition(CUT)
    return mine.startswith(start) if cut else mine == theirs


def tensor_differences(mine: Tensor, theirs: Tensor) -> list[str]:
    found = [
        f"{field}: {getattr(mine, field)} != {getattr(theirs, field)}"
        for field in FIELDS
        if getattr(mine, field) != getattr(theirs, field)
    ]
    if not same_name(mine.name, theirs.name):
        found.append(f"name: {mine.name} != {theirs.name}")
    # Captures that went through the older converter have no offset in the op_params of a view.
    if mine.op_params != theirs.op_params and not (mine.op is Op.VIEW and not theirs.op_params):
        found.append(f"op_params: {mine.op_params} != {theirs.op_params}")
    return found


def differences(mine: Graph, theirs: Graph) -> list[str]:
    """Everything in which two graphs differ but buffers, pins and the order in which tensors stand in the file."""
    my_leafs, my_nodes, my_marked = computed(mine)
    their_leafs, their_nodes, their_marked = computed(theirs)
    found = []
    pairs = {-1: -1}
    for kind, ours, real in (("leaf", my_leafs, their_leafs), ("node", my_nodes, their_nodes)):
        if len(ours) != len(real):
            found.append(f"{len(ours)} {kind}s, not {len(real)}")
        pairs.update(zip(ours, real, strict=False))
    for i, j in pairs.items():
        if i < 0:
            continue
        a, b = mine.tensors[i], theirs.tensors[j]
        wrong = tensor_differences(a, b)
        if tuple(pairs.get(source, -2) for source in a.src) != b.src:
            wrong.append(f"src: {[mine.tensors[s].name for s in a.src]} != {[theirs.tensors[s].name for s in b.src]}")
        if pairs.get(a.view_src, -2) != b.view_src:
            wrong.append("view_src")
        if (i in my_marked) != (j in their_marked):
            wrong.append(f"compute: {i in my_marked} != {j in their_marked}")
        found += [f"{b.name}: {text}" for text in wrong]
    return found
