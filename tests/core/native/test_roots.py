"""The shortest roots of a captured graph, on graphs that the engine itself builds."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from galloscope.core.build import build_forward
from galloscope.core.dtypes import F32
from galloscope.core.events import Event, MarkCompute, Visit
from galloscope.core.graph import Graph, Order, Root
from galloscope.core.native.layouts import FLAG_COMPUTE
from galloscope.core.native.messages import RawGraph, RawTensor
from galloscope.core.native.roots import NONE, NoRoots, minimal_roots
from galloscope.core.op import Op
from galloscope.core.tensor import Tensor

ADD = list(Op).index(Op.ADD)


def raw(sources: list[list[int]], computed: set[int], n_leafs: int) -> RawGraph:
    """A graph from the sources of each tensor: leafs first, then nodes."""
    tensors = [
        RawTensor(
            f"t{i}", NONE if i < n_leafs else ADD, 0, (1, 1, 1, 1), (4, 4, 4, 4), (), FLAG_COMPUTE * (i in computed),
            src, -1, 0, "", False,
        )
        for i, src in enumerate(sources)
    ]  # fmt: skip
    return RawGraph(tensors, n_leafs, len(sources) - n_leafs, 1, 1, [], [], [], [], [], [], 1)


def built(sources: list[list[int]], roots: list[Root]) -> tuple[list[int], list[int], set[int]]:
    """Nodes, leafs and computed tensors of a graph."""
    tensors = tuple(
        Tensor(f"t{i}", Op.ADD if src else Op.NONE, F32, (1, 1, 1, 1), (4, 4, 4, 4), tuple(src), 4)
        for i, src in enumerate(sources)
    )
    events: list[Event] = []
    found = build_forward(Graph(tensors, tuple(roots)), Order.LEFT_TO_RIGHT, events.append)
    computed = {e.tensor for e in events if (isinstance(e, Visit) and e.compute) or isinstance(e, MarkCompute)}
    return found.nodes, found.leafs, computed


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[list[int]], list[Root]]:
    """A random graph and random roots."""
    n_leafs, n_nodes = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    sources: list[list[int]] = [[] for _ in range(n_leafs)]
    for i in range(n_leafs, n_leafs + n_nodes):
        sources.append(draw(st.lists(st.integers(0, i - 1), min_size=1, max_size=3)))
    asked = draw(st.lists(st.tuples(st.integers(0, len(sources) - 1), st.booleans()), min_size=1, max_size=6))
    return sources, [Root(tensor, compute) for tensor, compute in asked]


LEAF_FIRST: tuple[list[list[int]], list[Root]] = (
    [[], [], [], [0], [0], [2, 4]],
    [Root(3), Root(1), Root(5)],
)
"""Leaf 1 must be a root before 5 can be one; taking the run up to 4 first costs a root more."""


@given(problems())
@example(LEAF_FIRST)
@example((LEAF_FIRST[0], [Root(root.tensor, compute=False) for root in LEAF_FIRST[1]]))
@example(([[], [0], [1]], [Root(1), Root(2, compute=False)]))
@settings(max_examples=100)
def test_they_give_the_graph_and_are_no_more_than_needed(problem: tuple[list[list[int]], list[Root]]) -> None:
    sources, roots = problem
    nodes, leafs, computed = built(sources, roots)
    order = [*leafs, *nodes]
    place = {tensor: at for at, tensor in enumerate(order)}
    renamed = [[place[s] for s in sources[tensor]] for tensor in order]
    graph = raw(renamed, {place[tensor] for tensor in computed}, len(leafs))
    found = minimal_roots(graph)
    assert len(found) <= len({root.tensor for root in roots})
    again = built(renamed, list(found))
    assert (again[0], again[1]) == (list(range(len(leafs), len(order))), list(range(len(leafs))))
    assert again[2] == {place[tensor] for tensor in computed}


def test_an_order_that_no_call_gives_is_refused() -> None:
    with pytest.raises(NoRoots, match="no root explains node 0"):
        minimal_roots(raw([[], [2], [0]], {1, 2}, 1))


def test_a_compute_flag_from_nowhere_is_refused() -> None:
    with pytest.raises(NoRoots, match="the COMPUTE flag of 't1'"):
        minimal_roots(raw([[], [0], [1]], {2}, 1))
