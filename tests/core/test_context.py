"""Pools of metadata: the sizes of every recording, and ggml's own words where something does not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.allocator.hash_set import galloc_hash_slots, hash_size
from galloscope.core.context import (
    TENSOR_OVERHEAD,
    Pool,
    check_graph,
    check_sched,
    graph_max_nodes,
    graph_nbytes,
    graph_overhead,
    result_pool_bytes,
    sched_hash_slots,
    sched_pool_bytes,
)
from galloscope.core.errors import GgmlAbort
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, recording, reservations, script_of, ubatches

N_COPIED = 4


@pytest.mark.parametrize("name", NAMES)
def test_the_pools_of_a_context(name: str) -> None:
    init = recording(name)["init"]
    header = header_of(script_of(name).model)
    context = script_of(name).context
    nodes = graph_max_nodes(header.architecture, context.n_ubatch, len(header.tensors))
    assert nodes == init["max_nodes"]
    assert sched_hash_slots(nodes) == init["sched_hash_size"]
    assert sched_pool_bytes(nodes) == init["sched_context_buffer"]
    assert graph_overhead(nodes) == init["graph_overhead"]
    assert init["tensor_overhead"] == TENSOR_OVERHEAD


@pytest.mark.parametrize("name", NAMES)
def test_the_pool_of_every_graph(name: str) -> None:
    for one in [*reservations(name), *ubatches(name)]:
        told = one["pool"]
        n_inputs = told["objects"] - 1 - told["n_nodes"]
        if one["n_copies"] < N_COPIED or "n_tokens" in one:  # the recorder lists copies of inputs in their place
            assert n_inputs == len(one["inputs"])
        pool = Pool(told["graph_size"], told["n_nodes"], n_inputs)
        assert pool.used == told["used_bytes"]
        assert pool.hash_slots == told["hash_size"]
        assert pool.objects == told["objects"]
        assert told["graph_obj"][:2] == [32, graph_overhead(told["graph_size"]) - 32]
        assert 0 < pool.fill < 1
        pool.check()
        check_graph(told["graph_size"], told["n_nodes"], told["n_leafs"])
        check_sched(told["graph_size"], told["n_nodes"], told["n_leafs"])


@pytest.mark.parametrize("name", NAMES)
def test_the_hash_set_of_the_allocator_grows_with_the_biggest_plan(name: str) -> None:
    slots = 0
    for one in recording(name)["init"]["reserves"]:
        if not one["split_only"]:
            slots = galloc_hash_slots(one["sched_nodes"], one["sched_leafs"], slots)
        assert slots == one["galloc_hash_size"]


def test_max_nodes_follow_from_the_model() -> None:
    assert graph_max_nodes("llama", 512, 10) == 1024
    assert graph_max_nodes("llama", 512, 1000) == 8000
    assert graph_max_nodes("llama", 512, 1000, n_sampler_nodes=3) == 8003
    assert graph_max_nodes("qwen3next", 512, 10) == 40 * 512
    assert graph_max_nodes("qwen3next", 1, 1000) == 32_000


@given(st.integers(1, 100_000))
def test_a_cgraph_is_its_parts(size: int) -> None:
    slots = hash_size(2 * size)
    least = 96 + 16 * size + 12 * slots + slots // 8
    assert least <= graph_nbytes(size) <= least + 16
    assert graph_overhead(size) % 16 == 0
    assert result_pool_bytes(size) == graph_overhead(size) + 368 * size


@given(st.integers(1, 5000), st.integers(0, 6000), st.integers(0, 50))
def test_as_many_tensors_fit_as_the_pool_was_made_for(max_nodes: int, n_nodes: int, n_inputs: int) -> None:
    pool = Pool(max_nodes, n_nodes, n_inputs)
    assert (pool.fill <= 1) == (n_nodes + n_inputs <= max_nodes)
    if pool.fill <= 1:
        pool.check()
    else:
        with pytest.raises(GgmlAbort, match="not enough space in the context's memory pool"):
            pool.check()


def test_a_full_pool_says_what_was_needed_and_what_it_follows_from() -> None:
    with pytest.raises(GgmlAbort) as error:
        Pool(1024, 1020, 10).check()
    needed, available = 41424 + 368 * 1025, 41424 + 368 * 1024
    assert f"(needed {needed}, available {available}): 1030 tensors" in str(error.value)
    assert "room for 1024; that number is max_nodes" in str(error.value)


def test_a_graph_with_too_many_nodes_and_a_hash_set_that_is_too_small() -> None:
    check_graph(10, 10, 10)
    with pytest.raises(GgmlAbort, match=r"cgraph->n_nodes < cgraph->size\) failed: 11 nodes"):
        check_graph(10, 11, 10)
    with pytest.raises(GgmlAbort, match=r"cgraph->n_leafs < cgraph->size\) failed: 11 leafs"):
        check_graph(10, 10, 11)
    check_sched(1024, 1000, 31)
    with pytest.raises(GgmlAbort, match="1000 nodes and 32 leafs, the scheduler's hash set has 1031 slots"):
        check_sched(1024, 1000, 32)


def test_the_hash_set_of_the_allocator_never_shrinks() -> None:
    assert galloc_hash_slots(189, 57) == 521
    assert galloc_hash_slots(10, 10, 521) == 521
    assert galloc_hash_slots(400, 100, 521) == 1031
