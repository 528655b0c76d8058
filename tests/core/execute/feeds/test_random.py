"""Random feeds: the same bytes whatever the order, numbers of the right size, ids that every use can take."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.backends.backend import make_backend
from galloscope.core.backends.quants import dequantize
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.execute.executor import Executor
from galloscope.core.execute.feeds.blocks import QUANTISED
from galloscope.core.execute.feeds.random import RandomFeed, _cell_ids
from galloscope.core.execute.feeds.uses import Cells
from galloscope.core.graph import Graph
from galloscope.core.llama.options import GraphMode
from galloscope.core.op import Op
from galloscope.core.ops import (
    Lazy,
    add_id,
    argsort_top_k,
    cast,
    flash_attn_ext,
    get_rows,
    mul,
    mul_mat_id,
    permute,
    reshape,
    rms_norm,
    rope_ext,
    set_rows,
    soft_max_ext,
    view,
)
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.tensor import Tensor
from galloscope.tests.core.execute.feeds.leafs import F16, F32, I32, I64, graph_of, leaf, named, same, tensor
from galloscope.tests.core.execute.problems import MODELS_MADE, problem_of

NUMPY = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64, "f64": np.float64, "i8": np.int8}
DEVIATION_OF_TYPE = 0.2
"""How far the deviation of a quantised weight may be from 1/sqrt(row), as a share of it."""


def values(feed: RandomFeed, one: Tensor) -> np.ndarray:
    data = feed.external(one) if one.is_weight else feed.leaf(one)
    assert data is not None
    assert data.dtype == np.uint8
    assert data.shape == (one.nbytes,)
    if one.dtype.name == "bf16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if one.dtype.quantized:
        return dequantize(data.reshape(-1, one.dtype.size), one.dtype)
    return data.view(NUMPY[one.dtype.name])


def input_of(graph: Graph, name: str, seed: int = 1) -> np.ndarray:
    one = named(graph, name)
    return values(RandomFeed(graph, seed), one).reshape(one.ne[::-1])


@pytest.mark.parametrize("name", sorted(QUANTISED | {"f32", "f16", "bf16"}))
def test_weights_of_every_type_are_numbers_of_the_right_size(name: str) -> None:
    one = tensor("w", DTYPES[name], 1024, 256, weight=True)
    found = values(RandomFeed(Graph((one,), ()), 7), one).astype(np.float64)
    assert np.isfinite(found).all()
    deviation = np.sqrt((found**2).mean()) * 32
    assert deviation == pytest.approx(1, rel=DEVIATION_OF_TYPE)


def test_every_quantised_type_has_a_layout() -> None:
    assert {dtype.name for dtype in DTYPES.values() if dtype.quantized} == QUANTISED


@given(
    name=st.sampled_from(sorted(DTYPES)),
    blocks=st.integers(1, 3),
    rest=st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2)),
    seed=st.integers(0, 2**40),
    weight=st.booleans(),
)
def test_any_shape_and_type(name: str, blocks: int, rest: tuple[int, int, int], seed: int, weight: bool) -> None:
    dtype = DTYPES[name]
    one = tensor("x", dtype, blocks * dtype.block, *rest, weight=weight)
    other = tensor("y", dtype, 4 * dtype.block, 64, weight=weight)
    graph = Graph((one, other), ())
    for asked in (RandomFeed(graph, seed), RandomFeed(Graph((other, one), ()), seed)):
        data = asked.external(one) if weight else asked.leaf(one)
        again = RandomFeed(graph, seed)
        again.leaf(other)
        assert data is not None
        given_again = again.external(one) if weight else again.leaf(one)
        assert same(data, given_again)
        assert data.size == one.nbytes
    first, second = (RandomFeed(graph, number).leaf(other) for number in (seed, seed + 1))
    assert not same(first, second), "the seed does not matter"


def test_nothing_but_the_name_tells_two_tensors_apart() -> None:
    graph = Graph((tensor("a", F32, 64), tensor("b", F32, 64)), ())
    feed = RandomFeed(graph, 3)
    assert not same(feed.leaf(graph.tensors[0]), feed.leaf(graph.tensors[1]))


def test_leafs_that_ggml_names_itself() -> None:
    x = Lazy(F32, (8, 1, 1, 1), (4, 32, 32, 32))
    ids = Lazy(I32, (300, 1, 1, 1), (4, 1200, 1200, 1200))
    graph = graph_of(get_rows(reshape(x, 2, 4), ids))
    nameless = Graph(tuple(msgspec.structs.replace(one, name="") for one in graph.tensors), graph.roots)
    asked = next(one for one in nameless.tensors if one.dtype is I32)
    assert np.array_equal(
        values(RandomFeed(nameless, 1), asked),
        values(RandomFeed(graph, 1), next(one for one in graph.tensors if one.dtype is I32)),
    )


def test_caches_are_zeros_and_weights_are_bounded() -> None:
    cache = msgspec.structs.replace(tensor("cache_k_l0", F16, 64), buft=0)
    weights = [tensor(f"w{i}", F32, 256, weight=True) for i in range(3)]
    feed = RandomFeed(Graph((cache, *weights), ()), 1, limit=2048)
    assert feed.external(cache) is None
    feed.external(weights[0])
    feed.external(weights[1])
    with pytest.raises(InputError, match=r"'w2': random weights up to it take 3,072 bytes, the limit is 2,048"):
        feed.external(weights[2])


def test_large_weights_are_made_piece_by_piece() -> None:
    """The pieces follow one another: a longer tensor begins as a shorter one of the same name and row."""
    for name in ("f16", "q4_0"):
        short, long = (tensor("w", DTYPES[name], 1024, rows, weight=True) for rows in (8, 2000))
        first = RandomFeed(Graph((short,), ()), 1).external(short)
        assert first is not None
        whole = RandomFeed(Graph((long,), ()), 1).external(long)
        assert whole is not None
        assert whole[-1000:].any()
        assert np.array_equal(whole[: first.size], first)


def test_norms_and_rope_factors_lie_around_one() -> None:
    x, weight, plain = leaf("x", F32, 64, 5), leaf("norm", F32, 64), leaf("bias", F32, 64)
    factors = leaf("factors", F32, 8)
    pos = leaf("pos", I32, 5)
    normed = mul(rms_norm(x, 1e-5), weight)
    turned = rope_ext(reshape(x, 16, 4, 5), pos, factors, 16, 0, 0, 1e4, 1.0, 0.0, 1.0, 32.0, 1.0)
    graph = graph_of(normed, turned, rms_norm(plain, 1e-5))
    graph = Graph(
        tuple(
            msgspec.structs.replace(one, is_weight=one.name in ("norm", "bias", "factors"), buft=0)
            for one in graph.tensors
        ),
        graph.roots,
    )
    for name in ("norm", "factors"):
        found = input_of(graph, name)
        assert 0.6 < found.min() <= found.max() < 1.4
    assert abs(input_of(graph, "bias").mean()) < 0.1


def test_ids_of_rows_are_within_the_table() -> None:
    table = leaf("table", F32, 4, 7)
    graph = graph_of(get_rows(table, leaf("ids", I32, 200)))
    found = input_of(graph, "ids")
    assert set(found.reshape(-1)) == set(range(7))


@given(st.integers(1, 300), st.integers(0, 200), st.sampled_from([I32, I64]))
def test_rows_to_write_are_distinct_and_within_the_destination(n: int, more: int, dtype: object) -> None:
    cache, rows = leaf("cache", F32, 4, n + more), leaf("rows", F32, 4, n)
    graph = graph_of(set_rows(cache, rows, leaf("ids", dtype, n)))  # type: ignore[arg-type]
    found = input_of(graph, "ids").reshape(-1)
    assert len(set(found)) == n
    assert 0 <= found.min() <= found.max() < n + more


def test_experts_of_each_token_are_distinct() -> None:
    experts, x = leaf("experts", F32, 8, 4, 6), leaf("x", F32, 8, 1, 50)
    ids = leaf("ids", I32, 3, 50)
    bias = leaf("bias", F32, 4, 5)
    graph = graph_of(add_id(mul_mat_id(experts, x, ids), bias, ids))
    found = input_of(graph, "ids").reshape(50, 3)
    assert all(len(set(row)) == 3 for row in found)
    assert 0 <= found.min() <= found.max() < 5, "the bias has only five rows"
    assert len({tuple(row) for row in found}) > 3, "every token has the same experts"


def test_positions_count_up_in_each_section() -> None:
    pos = leaf("pos", I32, 6)
    graph = graph_of(rope_ext(leaf("x", F32, 16, 2, 6), pos, None, 16, 0, 0, 1e4, 1.0, 0.0, 1.0, 32.0, 1.0))
    assert list(input_of(graph, "pos").reshape(-1)) == [0, 1, 2, 3, 4, 5]


def test_views_and_copies_are_looked_through() -> None:
    ids = leaf("ids", I32, 40)
    part = view(ids, (10,), (), 4 * 20)
    graph = graph_of(get_rows(leaf("table", F32, 4, 3), reshape(part, 10)))
    assert input_of(graph, "ids").max() == 2
    scores = leaf("scores", F32, 8, 5)
    chosen = argsort_top_k(scores, 2)
    graph = graph_of(mul_mat_id(leaf("experts", F32, 8, 4, 8), leaf("x", F32, 8, 1, 5), chosen))
    assert input_of(graph, "scores").std() > 0.5


def test_what_nothing_limits_is_small() -> None:
    graph = graph_of(cast(leaf("numbers", I32, 50), F32))
    assert 0 <= input_of(graph, "numbers").min() <= input_of(graph, "numbers").max() < 8


def test_masks_are_causal() -> None:
    scores = leaf("scores", F32, 6, 4, 2)
    half = leaf("half", F16, 6, 4)
    graph = graph_of(soft_max_ext(scores, leaf("mask", F32, 6, 4), 1.0, 0.0), soft_max_ext(scores, half, 1.0, 0.0))
    wanted = np.where(np.arange(6) <= np.arange(4)[:, None], 0, -np.inf)
    assert np.array_equal(input_of(graph, "mask")[0, 0], wanted)
    assert np.array_equal(input_of(graph, "half")[0, 0], wanted)
    q, k, v = (leaf(name, F32, 16, 4, 2) for name in "qkv")
    mask = cast(leaf("mask", F32, 4, 4), F16)
    graph = graph_of(flash_attn_ext(permute(q, 0, 1, 2, 3), k, v, mask, 1.0, 0.0, 0.0))
    assert np.array_equal(input_of(graph, "mask")[0, 0] == 0, np.tri(4, dtype=bool))


def test_data_of_the_file_come_first() -> None:
    graph = graph_of(get_rows(leaf("table", F32, 4, 7), leaf("ids", I32, 4)))
    with_data = Graph(
        tuple(msgspec.structs.replace(one, data=(6, 5, 0)) if one.name == "ids" else one for one in graph.tensors),
        graph.roots,
    )
    assert list(input_of(with_data, "ids").reshape(-1)) == [6, 5, 0, 0]


@pytest.mark.parametrize("flash", [False, True])
@pytest.mark.parametrize("mode", list(GraphMode))
@pytest.mark.parametrize("model", MODELS_MADE)
def test_attention_sees_what_was_written(model: str, mode: GraphMode, flash: bool) -> None:
    """Tokens go to the cells that the causal mask lets them see: attention over cells of zeros would hide mistakes."""
    problem = problem_of(model, 0, 1, mode, flash)
    run = trace(problem).runs[-1]
    state = replay(run)
    execution = Executor(make_backend("numpy")).run(run, state, RandomFeed(problem.requests[-1].graph, 1))
    tensors = state.tensors
    scores = {node for node in state.nodes if tensors[node].op is Op.SOFT_MAX}
    attention = [
        one
        for one in execution.nodes
        if tensors[one.node].op is Op.FLASH_ATTN_EXT
        or (tensors[one.node].op is Op.MUL_MAT and scores & set(state.src[one.node]))
    ]
    assert attention
    for one in attention:
        assert one.low is not None
        assert one.high is not None
        assert one.low < 0 < one.high


def test_cells_of_several_sequences() -> None:
    whole = Cells(size=4, streams=2, width=1)
    assert _cell_ids(whole, 6).tolist() == [0, 1, 2, 4, 5, 6]
    by_element = Cells(size=4, streams=1, width=3)
    assert _cell_ids(by_element, 6).tolist() == [0, 4, 8, 1, 5, 9]
    assert not whole.fits(5)
    assert not whole.fits(10)
    assert not by_element.fits(7)
