"""BLAS: each rule with an accepted and a refused side."""

import pytest

from galloscope.core.devices.blas import BLAS
from galloscope.core.devices.known import DEVICES
from galloscope.core.devices.seen import see
from galloscope.core.dtypes import DTYPES
from galloscope.core.op import VIEW_OPS, Op
from galloscope.tests.core.devices.rows import Row, check, gappy, no, ok, one_sided, turned, x

BIG = x(64, 32)
NOT_UNPACKED = ("i8", "i16", "i32", "i64", "f64", "q8_1", "q8_K")

ROWS: list[Row] = [
    *(ok(op, gappy()) for op in (*VIEW_OPS, Op.NONE)),
    *(ok(Op.MUL_MAT, x(256, 32, dtype=t), x(256, 32), result=BIG) for t in DTYPES if t not in NOT_UNPACKED),
    *(no(f"of type {t}", Op.MUL_MAT, x(256, 32, dtype=t), x(256, 32), result=BIG) for t in NOT_UNPACKED),
    ok(Op.MUL_MAT, x(32, 32), x(32, 32), result=x(32, 32)),
    no("31 rows of source 0 are below the minimum of 32", Op.MUL_MAT, x(64, 31), x(64, 32), result=x(31, 32)),
    no("31 rows of source 1 are below the minimum of 32", Op.MUL_MAT, x(64, 32), x(64, 31), result=x(32, 31)),
    no("31 columns are below the minimum of 32", Op.MUL_MAT, x(31, 32), x(31, 32), result=x(32, 32)),
    ok(Op.MUL_MAT, x(16, 16), x(16, 16), result=x(16, 16), min_batch=16),
    no("source 0 is a Hadamard matrix", Op.MUL_MAT, x(64, 64), x(64, 64), result=x(64, 64), params=[0, 1]),
    no("source 0 is not contiguous", Op.MUL_MAT, gappy(64, 32), BIG, result=BIG),
    no("source 1 is not contiguous", Op.MUL_MAT, BIG, gappy(64, 32), result=BIG),
    no("source 1 is f16, not f32", Op.MUL_MAT, BIG, x(64, 32, dtype="f16"), result=BIG),
    ok(Op.OUT_PROD, x(8, 4), x(8, 4)),
    ok(Op.OUT_PROD, x(8, 4), turned(8, 4)),
    no("source 1 is f16", Op.OUT_PROD, x(8, 4), x(8, 4, dtype="f16")),
    no("source 0 is not a matrix", Op.OUT_PROD, x(8, 4, 2), x(8, 4, 2)),
    no("source 0 is not contiguous", Op.OUT_PROD, gappy(8, 4), x(8, 4)),
    no("source 1 is not contiguous or transposed", Op.OUT_PROD, x(8, 4), gappy(8, 4)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_rule(row: Row) -> None:
    check("blas", row)


def test_every_rule_is_seen_from_both_sides() -> None:
    assert one_sided("blas", ROWS) == {}


@pytest.mark.parametrize("op", [op for op in Op if op not in BLAS.rules], ids=str)
def test_other_ops_have_no_kernel(op: Op) -> None:
    assert BLAS.supports(see(op, "f32", (64,), BIG, BIG)) == f"{op}: BLAS has no kernel for it"


def test_it_works_in_host_memory_and_takes_nothing_over() -> None:
    assert BLAS.buft_of("BLAS") == "CPU"
    assert BLAS.supports_buft("BLAS", "CUDA_Host", True)
    assert not BLAS.supports_buft("BLAS", "CUDA0", False)
    assert BLAS.offload(see(Op.MUL_MAT, "f32", (512, 512))) == "MUL_MAT: BLAS takes nothing over from the CPU"
    assert BLAS.alloc_size(see(Op.MUL_MAT, "f32", (512, 512), BIG, BIG)) == 4 * 512 * 512


def test_it_is_registered_with_its_facts() -> None:
    assert DEVICES["blas"] is BLAS
    assert (BLAS.backend, BLAS.type, BLAS.host, BLAS.numbered, BLAS.memory) == ("BLAS", "accel", True, False, 0)
    assert not BLAS.is_async
    assert not BLAS.has_events
