"""Counts of work, against plain loops over small shapes."""

import json
from itertools import product
from typing import Any

import pytest

from galloscope.core.dtypes import DTYPES, contiguous, nbytes
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.op import VIEW_OPS, Op
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.tensor import Tensor
from galloscope.core.timeline.cost import assumed, read_cost
from galloscope.core.timeline.flops import NOTHING, Work, work_of
from galloscope.core.timeline.simulate import simulate


def tensor(*ne: int, op: Op = Op.NONE, type_: str = "f32", **more: Any) -> Tensor:
    a, b, c, d = (*ne, 1, 1, 1)[:4]
    shape = (a, b, c, d)
    dtype = DTYPES[type_]
    nb = contiguous(dtype, shape)
    return Tensor("t", op, dtype, shape, nb, (), nbytes(dtype, shape, nb), **more)


def test_mul_mat_is_two_operations_per_product() -> None:
    weight, values, node = tensor(8, 5, type_="f16"), tensor(8, 3, 2), tensor(5, 3, 2, op=Op.MUL_MAT)
    products = sum(1 for _ in product(range(5), range(3), range(2), range(8)))
    assert work_of(node, [weight, values]) == Work(2 * products, 8 * 5 * 2 + 8 * 6 * 4 + 30 * 4, matrix=True)


def test_mul_mat_id_reads_no_more_experts_than_ids_name() -> None:
    experts, values, ids = tensor(32, 4, 16, type_="q8_0"), tensor(32, 1, 3), tensor(2, 3, type_="i32")
    node = tensor(4, 2, 3, op=Op.MUL_MAT_ID)
    one = 4 * 34
    assert work_of(node, [experts, values, ids]).bytes == 6 * one + 32 * 3 * 4 + 6 * 4 + 24 * 4
    assert work_of(node, [experts, values, ids]).flops == 2 * 32 * 24
    many = tensor(2, 300, type_="i32")
    assert work_of(node, [experts, values, many]).bytes == 16 * one + 32 * 3 * 4 + 600 * 4 + 24 * 4


def test_flash_attention_is_two_products() -> None:
    q, k, v = tensor(16, 4, 2), tensor(16, 10, 1, type_="f16"), tensor(8, 10, 1, type_="f16")
    node = tensor(8, 2, 4, op=Op.FLASH_ATTN_EXT)
    by_loop = sum(2 * 16 + 2 * 8 for _ in product(range(4), range(2), range(10)))
    assert work_of(node, [q, k, v]).flops == by_loop
    assert work_of(node, [q, k, v]).matrix


def test_rows_are_read_and_written_one_by_one() -> None:
    table, ids = tensor(32, 1000, type_="q4_0"), tensor(7, type_="i32")
    assert work_of(tensor(32, 7, op=Op.GET_ROWS), [table, ids]) == Work(0, 7 * 18 + 28 + 32 * 7 * 4)
    cache = tensor(32, 1000, type_="f16", op=Op.SET_ROWS)
    assert work_of(cache, [tensor(32, 7), ids, tensor(32, 1000, type_="f16")]) == Work(0, 32 * 7 * 4 + 28 + 7 * 64)


def test_a_copy_does_not_read_its_target() -> None:
    node = tensor(64, type_="f16", op=Op.CPY)
    assert work_of(node, [tensor(64), tensor(64, type_="f16")]) == Work(0, 64 * 4 + 64 * 2)


@pytest.mark.parametrize("op", [*sorted(VIEW_OPS, key=str), Op.NONE])
def test_views_and_leafs_are_no_work(op: Op) -> None:
    assert work_of(tensor(64, op=op), [tensor(64)]) == NOTHING


def test_an_empty_result_is_no_work() -> None:
    assert work_of(tensor(64, 0, op=Op.ADD), [tensor(64, 0), tensor(64, 0)]) == NOTHING


def test_a_view_counts_its_elements_not_its_reach() -> None:
    strided = Tensor("v", Op.VIEW, DTYPES["f32"], (4, 2, 1, 1), (4, 4096, 8192, 8192), (), 4112)
    assert work_of(tensor(4, 2, op=Op.SCALE), [strided]).bytes == 8 * 4 + 8 * 4


@pytest.mark.parametrize("op", [op for op in Op if op not in VIEW_OPS and op is not Op.NONE])
@pytest.mark.parametrize("sources", [0, 1, 2, 3])
def test_any_op_with_any_sources_has_a_count(op: Op, sources: int) -> None:
    found = work_of(tensor(8, 4, op=op), [tensor(8, 4)] * sources)
    assert found.bytes > 0
    assert found.flops >= 0


def test_a_node_takes_the_longer_of_math_and_memory_and_its_launch() -> None:
    document = {
        "backends": [{"name": "CPU"}],
        "mode": "sched",
        "tensors": [
            {"name": "x", "ne": [64, 8], "flags": ["input"]},
            {"name": "w", "ne": [64, 64], "weight_of": "CPU"},
            {"name": "y", "op": "MUL_MAT", "src": ["w", "x"], "ne": [64, 8], "flags": ["output"]},
        ],
        "outputs": ["y"],
    }
    run = trace(parse_graph(json.dumps(document).encode())).runs[0]
    state = replay(run)
    flops, moved = 2 * 64 * 64 * 8, 64 * 64 * 4 + 2 * 64 * 8 * 4

    def total(**rates: float) -> int:
        data = json.dumps({"devices": {"CPU": {"launch": 0, **rates}}}).encode()
        return simulate(run, state, read_cost(data, "x", state.backends)).total

    assert total(matrix=1e9, memory=1e12) == flops
    assert total(matrix=1e15, memory=1e9) == moved
    assert total(matrix=1e15, memory=1e9, launch=1e-6) == moved + 1000
    assert total(matrix=1e15, memory=1e9, other=1.0) == moved
    assert assumed(state.backends).names == ("CPU",)
