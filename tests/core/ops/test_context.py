"""The list of a graph under construction: order, names given on the way, COMPUTE, view owners."""

import pytest

from galloscope.core import ops
from galloscope.core.build import build_forward
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.events import Visit
from galloscope.core.graph import Graph, Order
from galloscope.core.op import Op
from galloscope.core.ops import Context, Lazy, OpError

F32 = DTYPES["f32"]


def leaf(*ne: int, name: str = "") -> Lazy:
    tensor = ops.new_tensor(F32, *ne)
    return tensor.set_name(name) if name else tensor


def finished(context: Context) -> Graph:
    names = [f"{lazy.name}#{i}" for i, lazy in enumerate(context.members())]
    return context.finish(names).graph


def test_unnamed_tensors_are_named_when_they_are_listed() -> None:
    context = Context()
    first = ops.add(leaf(4), leaf(4, name="b"))
    early = ops.view(first, (2,))
    context.expand(first)
    late = ops.view(first, (2,))
    context.expand(ops.add(early, late))
    assert [lazy.name for lazy in context.leafs] == ["leaf_0", "b"]
    assert [lazy.name for lazy in context.nodes] == ["node_0", " (view)", "node_0 (view)", "node_3"]


def test_listing_equals_the_engines_build() -> None:
    context = Context()
    a, b = leaf(4, 4, name="a"), leaf(4, 4, name="b")
    product = ops.mul_mat(a, b)
    context.expand(ops.sqr(product))
    context.expand(product)
    context.expand(ops.add(ops.cont(ops.transpose(product)), ops.mul_mat(b, a)))
    graph = finished(context)
    visits: list[Visit] = []
    built = build_forward(graph, Order.LEFT_TO_RIGHT, lambda event: visits.append(event))  # type: ignore[arg-type]
    n = len(context.leafs)
    assert built.leafs == list(range(n))
    assert built.nodes == list(range(n, len(graph.tensors)))


def test_a_root_that_leaves_no_trace_is_dropped() -> None:
    context = Context()
    node = ops.sqr(leaf(4))
    context.expand(node)
    context.expand(node)
    context.expand(node, compute=False)
    assert [root.compute for root in finished(context).roots] == [True]


def test_a_root_listed_without_compute_is_kept_when_it_is_computed_later() -> None:
    context = Context()
    node = ops.sqr(leaf(4))
    context.expand(node, compute=False)
    context.expand(node)
    assert [root.compute for root in finished(context).roots] == [False, True]


def test_select_computes_only_the_chosen_one() -> None:
    context = Context()
    pair = [ops.sqr(leaf(4)), ops.sqrt(leaf(4))]
    assert context.select(pair, 1) is pair[1]
    assert [root.compute for root in finished(context).roots] == [False, True]


def test_the_owner_of_a_view_is_a_member_though_nothing_reads_it() -> None:
    context = Context()
    owner = leaf(8, name="owner")
    view = ops.view(owner, (4,), offset=16)
    view.src = ()
    view.op = Op.NONE
    context.expand(ops.sqr(view))
    graph = finished(context)
    assert [tensor.name.split("#")[0] for tensor in graph.tensors] == ["owner (view)", "owner", "node_0"]
    assert graph.tensors[0].view_src == 1
    assert graph.tensors[0].view_offs == 16


def test_a_chain_of_any_length_fits() -> None:
    context = Context()
    tensor = leaf(1)
    for _ in range(5000):
        tensor = ops.sqr(tensor)
    context.expand(tensor)
    assert len(context.nodes) == 5000


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: ops.mul_mat(leaf(4, 2, name="w"), leaf(5)),
            r"MUL_MAT: rows must have equal length.*w \(f32 \[4, 2\]\)",
        ),
        (lambda: ops.add(leaf(4), leaf(3)), "ADD: the second must repeat to the shape of the first"),
        (lambda: ops.reshape(leaf(4), 5), r"RESHAPE: \[5\] has another number of elements"),
        (lambda: ops.permute(leaf(4), 0, 0, 1, 2), r"PERMUTE: \(0, 0, 1, 2\) is no order of the four dimensions"),
        (lambda: ops.view(leaf(4), (8,)), "a view of .* does not fit in an unnamed tensor"),
        (lambda: ops.unary(leaf(4), "GELLU"), "there is no unary op 'GELLU'"),
        (lambda: ops.glu(leaf(4), "GLU"), "there is no gate 'GLU'"),
        (
            lambda: ops.new_tensor(DTYPES["q4_K"], 100),
            "a row of 100 elements is not whole blocks of 256 as type q4_K needs",
        ),
        (lambda: ops.new_tensor(F32, 1 << 40, 1 << 40), "fewer than 2\\^63 elements"),
        (lambda: ops.new_tensor(F32, -1), "no negative size"),
        (lambda: ops.new_tensor(F32, 1, 1, 1, 1, 1), "1 to 4 dimensions"),
        (lambda: ops.argsort_top_k(leaf(4), 5), "at least k = 5 elements"),
    ],
)
def test_a_refusal_is_a_sentence(make: object, sentence: str) -> None:
    assert callable(make)
    with pytest.raises(OpError, match=sentence) as refusal:
        make()
    assert isinstance(refusal.value, InputError)


def test_floats_are_rounded_and_capped_like_cs() -> None:
    assert ops.float_word(float("inf")) == 0x7F800000
    assert ops.as_float(1e300) == float("inf")
    assert ops.as_float(-1e300) == float("-inf")
    assert ops.float_word(-1e300) == ops.float_word(float("-inf"))
