"""Metal: each rule with an accepted and a refused side, the scratch of its kernels, what it takes over."""

import pytest

from galloscope.core.devices.known import DEVICES
from galloscope.core.devices.metal import METAL
from galloscope.core.devices.metal_matrix import HEAD_SIZES
from galloscope.core.devices.seen import Seen, see
from galloscope.core.op import GLU_OPS, UNARY_OPS, VIEW_OPS, Op
from galloscope.tests.core.devices.rows import Row, check, gappy, loose, no, ok, one_sided, turned, x

F16, BF16, Q8, I32 = x(dtype="f16"), x(dtype="bf16"), x(dtype="q8_0"), x(dtype="i32")
LACKS = "needs simdgroup"


def attention(q: int = 128, k: int = 128, v: int = 128, types: str = "f16 f16", batch: int = 1) -> list[Seen]:
    of_k, of_v = types.split()
    mask = x(256, batch, dtype="f16")
    return [x(q, batch, 4), x(k, 256, 2, dtype=of_k), x(v, 256, 2, dtype=of_v), mask]


def indexer(q: Seen, k: str = "f16", w: str = "f32", m: str = "f16") -> list[Seen]:
    return [q, x(128, 1, 32, dtype=k), x(64, 7, dtype=w), x(32, 7, dtype=m)]


ELEMENTWISE = (Op.SCALE, Op.FILL, Op.CLAMP, Op.SQR, Op.SQRT, Op.SIN, Op.COS, Op.LOG)
REDUCING = (Op.SUM_ROWS, Op.CUMSUM, Op.MEAN, Op.SOFT_MAX, Op.GROUP_NORM, Op.L2_NORM, Op.NORM, Op.RMS_NORM)
Q, COMB = x(128, 64, 7), (x(24, 7), x(3), x(24))

ROWS: list[Row] = [
    *(row for op in ELEMENTWISE for row in (ok(op, F16), ok(op, gappy()), no("source 0 is bf16", op, BF16))),
    no("source 0 is not contiguous in its rows (f32 [64, 4], strides 8, 512, 2048, 2048)", Op.SCALE, loose()),
    *(ok(Op.UNARY, F16, params=[number]) for number in range(len(UNARY_OPS))),
    no("UNARY number 22", Op.UNARY, x(), params=[22]),
    no("UNARY GELU: source 0 is q8_0", Op.UNARY, Q8, params=[8]),
    *(ok(Op.GLU, gappy(), params=[number]) for number in range(len(GLU_OPS))),
    no("GLU number 99", Op.GLU, x(), params=[99]),
    no("GLU SWIGLU: source 0 is not contiguous", Op.GLU, loose(), params=[2]),
    no("GLU REGLU: source 0 is i32", Op.GLU, I32),
    ok(Op.SILU_BACK, x(), x()),
    no("source 1 is f16", Op.SILU_BACK, x(), F16),
    no("source 1 is not contiguous", Op.SILU_BACK, x(), gappy()),
    no("the shapes must be equal", Op.SILU_BACK, x(64, 4), x(64, 5)),
    *(ok(op, x()) for op in (*VIEW_OPS, Op.NONE, Op.REPEAT, Op.CONV_TRANSPOSE_1D, Op.ROPE, Op.ROPE_BACK, Op.DIAG)),
    *(ok(op, x()) for op in (Op.ARGSORT, Op.TOP_K, Op.ARANGE, Op.RWKV_WKV6, Op.RWKV_WKV7)),
    *(ok(Op.CONCAT, x(dtype=t), x(dtype=t)) for t in ("f32", "i8", "i64", "bf16", "q4_0", "q8_0")),
    no("source 1 is f16, the result is f32, and the types must be equal", Op.CONCAT, x(), F16),
    no("no kernel for source 0 of type f64", Op.CONCAT, x(dtype="f64"), x(dtype="f64")),
    no("the GPU lacks bfloat", Op.CONCAT, BF16, BF16, bfloat=0),
    *(ok(op, gappy(), x()) for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ADD_ID)),
    *(no("the types must be equal", op, x(), F16) for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ADD_ID)),
    no("source 1 is not contiguous in its rows", Op.ADD, x(), loose()),
    no("source 0 is bf16", Op.ADD, BF16, BF16),
    ok(Op.ACC, x(), F16),
    no("source 0 is f16", Op.ACC, F16, x()),
    no("source 1 is not contiguous in its rows", Op.ACC, x(), loose()),
    ok(Op.CONV_TRANSPOSE_2D, F16, x(), result=x()),
    no("source 1 is not contiguous", Op.CONV_TRANSPOSE_2D, F16, gappy(), result=x()),
    ok(Op.CONV_2D, F16, gappy(), result=x()),
    no("source 0 is not contiguous", Op.CONV_2D, gappy(), x()),
    no("source 1 is f16", Op.CONV_2D, F16, F16, result=x()),
    ok(Op.CONV_2D_DW, gappy(), gappy(), result=x()),
    no("the result is f16", Op.CONV_2D_DW, F16, x()),
    ok(Op.CONV_3D, F16, x()),
    no("source 0 is bf16", Op.CONV_3D, BF16, x()),
    no("source 0 is not contiguous", Op.CONV_3D, gappy(), x()),
    ok(Op.COL2IM_1D, BF16),
    no("the types must be equal", Op.COL2IM_1D, BF16, result=x()),
    no("the result is not contiguous", Op.COL2IM_1D, x(), result=gappy()),
    ok(Op.SUM, Q8),
    no("source 0 is not contiguous", Op.SUM, gappy()),
    no(
        "needs simdgroup reduction (Apple7 or Metal 3), and simdgroup_reduction is 0",
        Op.SUM,
        x(),
        simdgroup_reduction=0,
    ),
    ok(Op.TRI, gappy()),
    no("source 0 is not contiguous in its rows", Op.TRI, loose()),
    *(row for op in REDUCING for row in (ok(op, gappy()), no("contiguous in its rows", op, loose()))),
    *(no(LACKS, op, x(), simdgroup_reduction=0) for op in REDUCING),
    ok(Op.COUNT_EQUAL, I32, I32, result=x(1, dtype="i64")),
    no("source 1 is f32", Op.COUNT_EQUAL, I32, x(), result=x(1, dtype="i64")),
    no("the result is i32", Op.COUNT_EQUAL, I32, I32),
    *(ok(op, loose()) for op in (Op.ARGMAX, Op.SSM_SCAN, Op.SSM_CONV, Op.OPT_STEP_ADAMW, Op.OPT_STEP_SGD)),
    *(no(LACKS, op, x(), simdgroup_reduction=0) for op in (Op.ARGMAX, Op.SSM_SCAN, Op.SSM_CONV)),
    *(no(LACKS, op, x(), simdgroup_reduction=0) for op in (Op.OPT_STEP_ADAMW, Op.OPT_STEP_SGD)),
    ok(Op.IM2COL, BF16, x(), result=F16),
    no("source 1 is not contiguous", Op.IM2COL, F16, gappy(), result=F16),
    no("the result is bf16", Op.IM2COL, F16, x(), result=BF16),
    *(ok(op, loose()) for op in (Op.UPSCALE, Op.POOL_2D, Op.PAD, Op.PAD_REFLECT_1D, Op.TIMESTEP_EMBEDDING)),
    *(no("source 0 is f16, not f32", op, F16) for op in (Op.UPSCALE, Op.POOL_2D, Op.PAD, Op.PAD_REFLECT_1D)),
    no("source 0 is f16, not f32", Op.TIMESTEP_EMBEDDING, F16),
    ok(Op.POOL_1D, x()),
    no("source 0 is not contiguous", Op.POOL_1D, gappy()),
    ok(Op.LEAKY_RELU, loose()),
    no("source 0 is i32, not f32 or f16", Op.LEAKY_RELU, I32),
    ok(Op.ROLL, Q8),
    no("source 0 is not contiguous", Op.ROLL, gappy()),
    *(ok(Op.FLASH_ATTN_EXT, *attention(size, size, size)) for size in HEAD_SIZES),
    *(
        ok(Op.FLASH_ATTN_EXT, *attention(types=f"{t} {t}"))
        for t in ("f32", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
    ),
    ok(Op.FLASH_ATTN_EXT, *attention(576, 576, 512)),
    no("head size 100 is not in the kernel table (32, 40, 48", Op.FLASH_ATTN_EXT, *attention(100, 100, 100)),
    no("K head size 72 with V head size 64 is not in the kernel table", Op.FLASH_ATTN_EXT, *attention(72, 72, 64)),
    no("K head size 64 with V head size 128", Op.FLASH_ATTN_EXT, *attention(64, 64, 128)),
    no("K is q8_0 and V f16; they must be of one type", Op.FLASH_ATTN_EXT, *attention(types="q8_0 f16")),
    no("no kernel for source 1 of type iq4_nl", Op.FLASH_ATTN_EXT, *attention(types="iq4_nl iq4_nl")),
    no("the GPU lacks bfloat", Op.FLASH_ATTN_EXT, *attention(types="bf16 bf16"), bfloat=0),
    no("needs simdgroup matrix multiplication", Op.FLASH_ATTN_EXT, *attention(), simdgroup_mm=0),
    *(ok(Op.LIGHTNING_INDEXER, *indexer(Q, k)) for k in ("f32", "bf16", "q5_1")),
    no("the head size is 64, not 128", Op.LIGHTNING_INDEXER, *indexer(x(64, 64))),
    no("the number of heads is 32, not 64", Op.LIGHTNING_INDEXER, *indexer(x(128, 32))),
    no("no kernel for source 1 of type iq4_nl", Op.LIGHTNING_INDEXER, *indexer(Q, "iq4_nl")),
    no("source 2 is f16", Op.LIGHTNING_INDEXER, *indexer(Q, w="f16")),
    no("source 3 is f32", Op.LIGHTNING_INDEXER, *indexer(Q, m="f32")),
    no("source 0 is not contiguous in its rows", Op.LIGHTNING_INDEXER, *indexer(loose(128, 64, 7)), result=Q),
    no("needs simdgroup matrix", Op.LIGHTNING_INDEXER, *indexer(Q), simdgroup_mm=0),
    ok(Op.DSV4_HC_COMB, *COMB),
    no("the first dimension of source 0 is 25, not 24", Op.DSV4_HC_COMB, x(25, 7), x(3), x(24)),
    no("the first dimension of source 1 is 2, below 3", Op.DSV4_HC_COMB, x(24, 7), x(2), x(24)),
    no("the first dimension of source 2 is 23, not 24", Op.DSV4_HC_COMB, x(24, 7), x(3), x(23)),
    no("source 2 is f16", Op.DSV4_HC_COMB, x(24, 7), x(3), x(24, dtype="f16")),
    no("source 0 is not contiguous in its rows", Op.DSV4_HC_COMB, loose(24, 7), x(3), x(24)),
    no(LACKS, Op.DSV4_HC_COMB, *COMB, simdgroup_reduction=0),
    ok(Op.DSV4_HC_PRE, gappy(), x()),
    no("source 1 is f16", Op.DSV4_HC_PRE, x(), F16),
    no("source 1 is not contiguous in its rows", Op.DSV4_HC_PRE, x(), loose()),
    ok(Op.DSV4_HC_POST, x(), x(64, 4), x(4)),
    ok(Op.DSV4_HC_POST, x(), x(64, 4), x(4), x(4, 4)),
    no("the second dimension of source 1 is 5, not 4", Op.DSV4_HC_POST, x(), x(64, 5), x(4)),
    no("the first dimension of source 2 is 8, not 4", Op.DSV4_HC_POST, x(), x(64, 4), x(8)),
    no("the second dimension of source 3 is 3, not 4", Op.DSV4_HC_POST, x(), x(64, 4), x(4), x(4, 3)),
    no("source 3 is f16", Op.DSV4_HC_POST, x(), x(64, 4), x(4), x(4, 4, dtype="f16")),
    no("source 3 is not contiguous in its rows", Op.DSV4_HC_POST, x(), x(64, 4), x(4), loose(4, 4)),
    ok(Op.GATED_DELTA_NET, x(), x(), x(96)),
    no("head size 48 is not a multiple of 32", Op.GATED_DELTA_NET, x(), x(), x(48)),
    ok(Op.SOLVE_TRI, loose()),
    no("source 0 is f16", Op.SOLVE_TRI, F16),
    ok(Op.MUL_MAT, x(64, 8, dtype="q4_0"), x(64, 1)),
    no("no kernel for source 0 of type", Op.MUL_MAT, x(256, 8, dtype="tq1_0"), x(256)),
    no("no kernel for source 0 of type nvfp4", Op.MUL_MAT, x(64, 8, dtype="nvfp4"), x(64)),
    no(LACKS, Op.MUL_MAT, x(), x(), simdgroup_reduction=0),
    ok(Op.MUL_MAT, F16, x(64, 1, dtype="f16")),
    ok(Op.MUL_MAT, Q8, x(64, 9, dtype="f16")),
    no("more than 8 rows of source 1 (here 8)", Op.MUL_MAT, Q8, x(64, 8, dtype="f16")),
    no("64 elements in a row of source 0 (here 32)", Op.MUL_MAT, x(32, 4), x(32, 9, dtype="f16")),
    no("it needs source 1 not transposed", Op.MUL_MAT, x(64, 4), turned(64, 9, dtype="f16")),
    no("it needs simdgroup matrix multiplication", Op.MUL_MAT, Q8, x(64, 9, dtype="f16"), simdgroup_mm=0),
    no("source 0 is bf16 and source 1 f16, for which there is no kernel", Op.MUL_MAT, BF16, x(64, 9, dtype="f16")),
    ok(Op.MUL_MAT, x(128, 128), x(128, 1, dtype="f16"), result=x(128, 1), params=[0, 1]),
    ok(Op.MUL_MAT, x(8192, 8192), x(8192, 1, dtype="f16"), result=x(8192, 1), params=[0, 1]),
    no("rows of source 1 (here 1)", Op.MUL_MAT, x(128, 96), x(128, 1, dtype="f16"), result=x(96, 1), params=[0, 1]),
    no(
        "rows of source 1 (here 1)",
        *(Op.MUL_MAT, x(8192, 8192), x(8192, 1, dtype="f16")),
        result=x(8192, 1),
        params=[0, 1],
        threadgroup_memory=16384,
    ),
    ok(Op.MUL_MAT_ID, x(64, 8, 4, dtype="q8_0"), x(64, 2, 7), x(2, 7, dtype="i32")),
    ok(Op.MUL_MAT_ID, x(64, 8, 4, dtype="f16"), x(64, 2, 32, dtype="f16"), x(2, 32, dtype="i32")),
    no("it needs 32 tokens (here 31)", Op.MUL_MAT_ID, F16, x(64, 2, 31, dtype="f16"), x(2, 31, dtype="i32")),
    no("(here 32) and 32 tokens (here 7)", Op.MUL_MAT_ID, x(32, dtype="f16"), x(32, dtype="f16"), x(2, 7, dtype="i32")),
    *(ok(Op.CPY, x(), x(dtype=t), result=x(dtype=t)) for t in ("f32", "f16", "bf16", "q8_0", "q4_0", "iq4_nl", "i32")),
    no("no kernel from f32 to q4_K", Op.CPY, x(256), result=x(256, dtype="q4_K")),
    no("no kernel from f16 to q8_0", Op.CPY, F16, result=Q8),
    no("no kernel from bf16 to f16", Op.CPY, BF16, result=F16),
    no("no kernel from q4_K to f32", Op.CPY, x(256, dtype="q4_K"), result=x(256)),
    *(ok(op, I32) for op in (Op.SET, Op.DUP, Op.CONT)),
    *(no("no kernel from i64 to i64", op, x(dtype="i64")) for op in (Op.SET, Op.DUP, Op.CONT)),
    ok(Op.GET_ROWS, x(256, dtype="iq1_m"), I32),
    no("no kernel for source 0 of type nvfp4", Op.GET_ROWS, x(64, dtype="nvfp4"), I32),
    *(ok(Op.SET_ROWS, x(), result=x(dtype=t)) for t in ("f32", "f16", "bf16", "q8_0", "iq4_nl")),
    ok(Op.SET_ROWS, F16, result=F16),
    no("no kernel from f16 to f32", Op.SET_ROWS, F16, result=x()),
    no("no kernel from f32 to q4_K", Op.SET_ROWS, x(256), result=x(256, dtype="q4_K")),
    no("no kernel from bf16 to bf16", Op.SET_ROWS, BF16),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_rule(row: Row) -> None:
    check("metal", row)


def test_every_rule_is_seen_from_both_sides() -> None:
    assert one_sided("metal", ROWS) == {}


@pytest.mark.parametrize("op", [op for op in Op if op not in METAL.rules], ids=str)
def test_other_ops_have_no_kernel(op: Op) -> None:
    assert METAL.supports(see(op, "f32", (64,), x(), x(), x())) == f"{op}: Metal has no kernel for it"


def test_without_bfloat_even_a_view_is_refused() -> None:
    check("metal", no("VIEW: source 0 is bf16, and the GPU lacks bfloat", Op.VIEW, BF16, result=x(), bfloat=0))
    check("metal", ok(Op.VIEW, BF16))


def test_only_big_matrix_products_are_taken_over() -> None:
    assert METAL.offload(see(Op.MUL_MAT, "f32", (64, 32))) == ""
    assert (
        METAL.offload(see(Op.MUL_MAT, "f32", (64, 31, 9)))
        == "MUL_MAT: a batch of 31 is below the offload minimum of 32"
    )
    assert METAL.offload(see(Op.MUL_MAT_ID, "f32", (64, 2, 32))) == ""
    assert METAL.offload(see(Op.ADD, "f32", (64, 512))) == "ADD: Metal takes over only MUL_MAT and MUL_MAT_ID"


def test_it_reads_its_own_three_buffer_types() -> None:
    assert all(METAL.supports_buft("MTL0", buft, False) for buft in ("MTL0", "MTL0_Private", "MTL0_Mapped"))
    assert not any(METAL.supports_buft("MTL0", buft, True) for buft in ("CPU", "MTL1", "MTL1_Mapped"))


def test_scratch_of_sorting_and_experts() -> None:
    assert METAL.alloc_size(see(Op.ARGSORT, "i32", (8, 3), x(8, 3))) == 2 * 8 * 3 * 4
    assert METAL.alloc_size(see(Op.CUMSUM, "f32", (8, 3), x(8, 3))) == 2 * 8 * 3 * 4
    assert METAL.alloc_size(see(Op.TOP_K, "i32", (2, 3), x(8, 3))) == 2 * 4 * 24
    experts = see(Op.MUL_MAT_ID, "f32", (8, 2, 7), x(64, 8, 4), x(64, 2, 7), x(2, 7, dtype="i32"))
    assert METAL.alloc_size(experts) == 8 * 2 * 7 * 4 + 4 * 4 + 4 * 4 * 7 + 8 + 1024
    assert METAL.alloc_size(see(Op.ADD, "f32", (8, 2), x(8, 2), x(8, 2))) == 64


def test_scratch_of_attention() -> None:
    def bytes_of(sources: list[Seen], cells: int = 0) -> int:
        return METAL.alloc_size(see(Op.FLASH_ATTN_EXT, "f32", (128, 4, 1), *sources, params=[0, 0, 0, 0, cells])) - 2048

    # One token: padding of K, V and the mask, one block flag per 32 cells, 32 partial results, K and V as f16.
    half = 2 * 128
    small = 64 * (half * 2 + half * 2 + 2) + 32 + 4 * 4 * 32 * 130 + 2 * half * 256 * 2
    assert bytes_of(attention()) == small
    assert bytes_of(attention()[:3]) == small - 64 * 2 - 32
    # A list of 100 cells is padded to 128 and 16 bytes; 4097 are too many.
    assert bytes_of(attention(), 100) == small + 4 * 128
    assert bytes_of(attention(), 4097) == small
    # From 32 tokens on a quantised cache is unpacked first, so its padding is that of f16.
    packed, unpacked = (
        bytes_of(attention(types="q8_0 q8_0", batch=31)),
        bytes_of(attention(types="q8_0 q8_0", batch=32)),
    )
    per_token = 64 * 2 + 4 * 4 * 32 * 130
    assert unpacked - packed == per_token + 64 * 4 * (half - 136)


def test_a_v_that_is_a_view_of_k_is_unpacked_once() -> None:
    k = see(Op.VIEW, "f16", (576, 256), owner=9, view=0)
    v = see(Op.VIEW, "f16", (512, 256), nb=k.nb, owner=9, view=0)
    apart = see(Op.VIEW, "f16", (512, 256), nb=k.nb, owner=9, view=128)
    sizes = [METAL.alloc_size(see(Op.FLASH_ATTN_EXT, "f32", (512, 4), x(576, 1, 4), k, one)) for one in (v, apart)]
    assert sizes[1] - sizes[0] == 2 * 512 * 256


def test_it_is_registered_with_its_facts() -> None:
    assert DEVICES["metal"] is METAL
    assert (METAL.backend, METAL.type, METAL.host, METAL.host_buft, METAL.align) == ("MTL", "gpu", False, "", 32)
    assert METAL.is_async
    assert METAL.has_events
    assert set(METAL.units) == set(METAL.named)
