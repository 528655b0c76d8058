"""Vulkan: each rule with an accepted and a refused side, the limits of the driver, what it takes over."""

import pytest

from galloscope.core.devices.known import DEVICES, device
from galloscope.core.devices.seen import Seen, see
from galloscope.core.devices.vulkan import VULKAN
from galloscope.core.devices.vulkan_matrix import WEIGHTS, shared_memory
from galloscope.core.dtypes import DTYPES
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import GLU_OPS, UNARY_OPS, VIEW_OPS, Op
from galloscope.tests.core.devices.rows import Row, check, gappy, loose, no, ok, one_sided, turned, x

F16, BF16, Q8, I32, I64 = (x(dtype=t) for t in ("f16", "bf16", "q8_0", "i32", "i64"))
STORED = ("f32", "f16", "bf16", "q1_0", "q2_0", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl")
CACHE = ("f32", "f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
OTHERS = tuple(name for name in DTYPES if name not in WEIGHTS)


def attention(k: int = 128, v: int = 128, types: str = "f16 f16", mask: str = "f16", sinks: str = "f32") -> list[Seen]:
    of_k, of_v = types.split()
    return [x(k, 4, 4), x(k, 256, 2, dtype=of_k), x(v, 256, 2, dtype=of_v), x(256, 4, dtype=mask), x(4, dtype=sinks)]


def indexer(size: int = 128, k: str = "f16", q: Seen | None = None) -> list[Seen]:
    return [q or x(size, 64, 7), x(size, 1, 32, dtype=k), x(64, 7), x(32, 7, dtype="f16")]


def mamba(state: int = 128, head: int = 64, ids: str = "i32", dt: str = "f32", decay: int = 1) -> list[Seen]:
    return [
        x(state, head, 8),
        x(head, 8, 7),
        x(8, 7, dtype=dt),
        x(decay, 8),
        x(state, 1, 7),
        x(state, 1, 7),
        x(1, dtype=ids),
    ]


def delta(size: int = 128, beta: str = "f32") -> list[Seen]:
    return [x(size, 4), x(size, 4), x(size, 4), x(1, 4), x(1, 4, dtype=beta), x(size, size)]


FLOAT_OPS = (Op.SQR, Op.SQRT, Op.SIN, Op.COS, Op.CLAMP, Op.LEAKY_RELU, Op.LOG, Op.TRI, Op.DIAG)
PACKED_OPS = (Op.SCALE, Op.DIAG_MASK_INF, Op.ARGMAX, Op.POOL_1D, Op.POOL_2D, Op.SILU_BACK, Op.RMS_NORM_BACK)
PACKED = (*PACKED_OPS, Op.OPT_STEP_ADAMW, Op.OPT_STEP_SGD, Op.SOFT_MAX)
SINGLE = (Op.PAD, Op.PAD_REFLECT_1D, Op.ROLL, Op.TIMESTEP_EMBEDDING, Op.SSM_CONV)
Q, ONE, SPREAD = x(128, 64, 7), x(1), see(Op.NONE, "f16", (1, 3, 2, 5), nb=(8, 2, 6, 12))

ROWS: list[Row] = [
    *(ok(Op.UNARY, F16, params=[number]) for number in range(len(UNARY_OPS))),
    no("UNARY number 99", Op.UNARY, x(), params=[99]),
    no("UNARY SILU: source 0 is bf16", Op.UNARY, BF16, params=[10]),
    *(ok(Op.GLU, F16, F16, params=[number]) for number in range(len(GLU_OPS))),
    no("GLU number 99", Op.GLU, x(), params=[99]),
    no("GLU REGLU: source 0 is f32, source 1 is f16, and the types must be equal", Op.GLU, x(), F16),
    *(ok(Op.MUL_MAT, x(256, 8, dtype=t), x(256)) for t in WEIGHTS),
    *(no(f"of type {t}", Op.MUL_MAT, x(256, 8, dtype=t), x(256)) for t in OTHERS),
    no("the sources have 2 and 4 in the last dimension", Op.MUL_MAT, x(64, 4, 1, 2), x(64, 4, 1, 4)),
    ok(Op.MUL_MAT, loose(), turned(64, 4)),
    no("source 0 is q8_0 with gaps in its planes", Op.MUL_MAT, gappy(dtype="q8_0"), x()),
    no("source 1 is i32 with gaps in its planes", Op.MUL_MAT, x(), gappy(dtype="i32")),
    ok(Op.MUL_MAT, BF16, BF16),
    no("no kernel for bf16 times f16", Op.MUL_MAT, BF16, F16),
    no("no kernel for source 1 of type bf16", Op.MUL_MAT, F16, BF16),
    ok(Op.MUL_MAT_ID, x(256, 8, 4, dtype="iq2_s"), x(256, 2, 7), x(2, 7, dtype="i32")),
    no("no kernel for precision f32", Op.MUL_MAT_ID, F16, x(64, 2, 7), x(2, 7, dtype="i32"), params=[0, 0, 0, 10]),
    no("no kernel for source 0 of type q8_K", Op.MUL_MAT_ID, x(256, dtype="q8_K"), x(256), x(2, dtype="i32")),
    no("2 and 1 in the last dimension", Op.MUL_MAT_ID, F16, x(64, 2, 7), x(2, 7, 1, 2, dtype="i32")),
    no(
        "of type iq2_s wants 12560 bytes of shared memory, there are 8192",
        *(Op.MUL_MAT_ID, x(256, dtype="iq2_s"), x(256), x(2, dtype="i32")),
        shared_memory=8192,
    ),
    *(ok(Op.FLASH_ATTN_EXT, *attention(types=f"{k} {v}"), result=x()) for k in CACHE for v in ("f16", "q8_0")),
    ok(Op.FLASH_ATTN_EXT, *attention(8, 104, "bf16 bf16"), result=x()),
    ok(Op.FLASH_ATTN_EXT, *attention()[:3], result=x()),
    no("K head size 100 is not a multiple of 8", Op.FLASH_ATTN_EXT, *attention(100), result=x()),
    no("V head size 100 is not a multiple of 8", Op.FLASH_ATTN_EXT, *attention(v=100), result=x()),
    no("source 4 is f16", Op.FLASH_ATTN_EXT, *attention(sinks="f16"), result=x()),
    no("source 3 is f32", Op.FLASH_ATTN_EXT, *attention(mask="f32"), result=x()),
    no("source 0 is f16", Op.FLASH_ATTN_EXT, F16, x(128), x(128), result=x()),
    no("the result is f16", Op.FLASH_ATTN_EXT, *attention(), result=F16),
    no("K is q2_K, not f32", Op.FLASH_ATTN_EXT, *attention(256, 256, "q2_K f16"), result=x()),
    no("V is q2_K, not f32", Op.FLASH_ATTN_EXT, *attention(256, 256, "f16 q2_K"), result=x()),
    no("K is bf16 and V f16; bf16 goes only with bf16", Op.FLASH_ATTN_EXT, *attention(types="bf16 f16"), result=x()),
    no("needs subgroup shuffles", Op.FLASH_ATTN_EXT, *attention(), result=x(), subgroup_shuffle=0),
    no("needs subgroup votes, and subgroup_vote is 0", Op.FLASH_ATTN_EXT, *attention(), result=x(), subgroup_vote=0),
    ok(Op.FLASH_ATTN_EXT, *attention(), result=x(), subgroup_vote=0, coopmat2=1),
    *(ok(Op.GET_ROWS, x(256, dtype=t), I32) for t in (*WEIGHTS, "i32")),
    *(no(f"of type {t}", Op.GET_ROWS, x(256, dtype=t), I32) for t in OTHERS if t != "i32"),
    ok(Op.GET_ROWS_BACK, x()),
    no("source 0 is f16", Op.GET_ROWS_BACK, F16, result=x()),
    *(ok(Op.SET_ROWS, source, ids, result=x(64, dtype="f32")) for source in (x(), F16) for ids in (I32, I64)),
    *(ok(Op.SET_ROWS, x(), I64, result=x(128, dtype=t)) for t in STORED),
    no("source 0 is bf16", Op.SET_ROWS, BF16, I32, result=x()),
    no("source 1 is f32, not i32 or i64", Op.SET_ROWS, x(), x()),
    no("no kernel for the result of type q4_K", Op.SET_ROWS, x(), I32, result=x(256, dtype="q4_K")),
    *(ok(Op.CPY, x(128), x(128, dtype=t), result=x(128, dtype=t)) for t in (*STORED, "i32")),
    *(ok(Op.CPY, x(128, dtype=t), x(128), result=x(128)) for t in (*STORED, "i32")),
    *(ok(op, x(256, dtype=t)) for op in (Op.CONT, Op.DUP) for t in ("f16", "i64", "i16", "q4_K", "bf16")),
    *(no("no kernel from i8 to i8", op, x(dtype="i8")) for op in (Op.CONT, Op.DUP)),
    no("no kernel from mxfp4 to mxfp4", Op.CPY, x(dtype="mxfp4"), x(dtype="mxfp4")),
    no("no kernel from f16 to bf16", Op.CPY, F16, BF16, result=BF16),
    no("source 0 is not contiguous", Op.CPY, gappy(256, 4, dtype="q4_K"), result=x(256, 4, dtype="q4_K")),
    no("the result is not contiguous", Op.CPY, x(256, 4, dtype="q4_K"), result=gappy(256, 4, dtype="q4_K")),
    *(ok(Op.REPEAT, one) for one in (x(), F16, I32)),
    no("the elements have 2 and 4 bytes", Op.REPEAT, F16, result=x()),
    no("the size of an element in bytes is 8, not 2 or 4", Op.REPEAT, I64),
    ok(Op.REPEAT_BACK, x()),
    no("the result is f16", Op.REPEAT_BACK, x(), result=F16),
    ok(Op.ROPE, gappy(), result=gappy()),
    no("source 0 is not contiguous in its rows", Op.ROPE, loose(), result=x()),
    no("the result is not contiguous in its rows", Op.ROPE, x(), result=loose()),
    *(ok(op, loose()) for op in (*VIEW_OPS, Op.NONE, Op.ROPE_BACK, Op.RMS_NORM, Op.RWKV_WKV6, Op.RWKV_WKV7)),
    ok(Op.GROUP_NORM, x()),
    no("source 0 is not contiguous", Op.GROUP_NORM, gappy()),
    *(row for op in (Op.NORM, Op.L2_NORM) for row in (ok(op, loose()), no("is f16", op, F16))),
    *(ok(op, F16, x(), result=x()) for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV)),
    *(no("source 1 is bf16", op, x(), BF16) for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV)),
    no("source 0 is i32", Op.ADD, I32, x(), result=x()),
    no("the result is i32", Op.ADD, x(), x(), result=I32),
    ok(Op.ADD_ID, x(), x(), I32),
    no("source 2 is i64, not i32", Op.ADD_ID, x(), x(), I64),
    no("source 1 is f16", Op.ADD_ID, x(), F16, I32),
    *(row for op in PACKED for row in (ok(op, x()), no("not contiguous", op, gappy()), no("is f16", op, F16))),
    *(row for op in FLOAT_OPS for row in (ok(op, loose(dtype="f16")), no("is bf16", op, BF16))),
    no("the types must be equal", Op.SQR, x(), result=F16),
    *(ok(op, x(4096)) for op in (Op.ARGSORT, Op.TOP_K)),
    *(no("source 0 is not contiguous", op, gappy(), result=x()) for op in (Op.ARGSORT, Op.TOP_K)),
    no("the result is not contiguous", Op.ARGSORT, x(), result=gappy()),
    ok(Op.ARGSORT, x(1024), vulkan_memory_model=0),
    no("rows of 1025 are longer than 1024", Op.ARGSORT, x(1025), vulkan_memory_model=0),
    no("rows of 513 are longer than 512", Op.ARGSORT, x(513), vulkan_memory_model=0, workgroup_size=1000),
    ok(Op.UPSCALE, x(), params=[1 | 512]),
    no("antialiasing with mode 2", Op.UPSCALE, x(), params=[2 | 512]),
    no("source 0 is f16", Op.UPSCALE, F16),
    ok(Op.ACC, x(), x()),
    no("source 1 is f16", Op.ACC, x(), F16),
    ok(Op.SET, I32, I32),
    no("source 0 is f16, not f32 or i32", Op.SET, F16, F16),
    no("the types must be equal", Op.SET, I32, x()),
    *(ok(Op.CONCAT, x(dtype=t), x(dtype=t)) for t in ("i8", "i64", "q8_0")),
    no("the types must be equal", Op.CONCAT, x(), F16),
    no("source 1 is not contiguous in its rows", Op.CONCAT, Q8, loose(dtype="q8_0")),
    *(ok(Op.ADD1, a, b) for a, b in ((x(), x()), (F16, x()), (F16, F16))),
    no("source 1 is f16, not f32", Op.ADD1, x(), F16),
    no("source 0 is bf16", Op.ADD1, BF16, x()),
    ok(Op.ARANGE, x()),
    no("the result is f16", Op.ARANGE, F16),
    ok(Op.FILL, F16),
    no("the result is i32", Op.FILL, I32),
    *(ok(Op.SOFT_MAX, x(), mask) for mask in (x(), F16)),
    no("source 1 is bf16", Op.SOFT_MAX, x(), BF16),
    ok(Op.SOFT_MAX_BACK, x(), x()),
    no("source 1 is not contiguous", Op.SOFT_MAX_BACK, x(), gappy()),
    no("source 1 is f16", Op.SOFT_MAX_BACK, x(), F16),
    *(ok(op, gappy()) for op in (Op.SUM, Op.SUM_ROWS, Op.MEAN, Op.CUMSUM)),
    *(no("contiguous in its rows", op, loose()) for op in (Op.SUM, Op.SUM_ROWS, Op.MEAN, Op.CUMSUM)),
    no("source 0 is f16", Op.SUM, F16),
    no("needs subgroup arithmetic", Op.CUMSUM, x(), subgroup_arithmetic=0),
    no("needs full subgroups", Op.CUMSUM, x(), subgroup_full=0),
    ok(Op.DSV4_HC_COMB, x(24, 7), x(3), x(24)),
    no("needs basic subgroup operations", Op.DSV4_HC_COMB, x(24, 7), x(3), x(24), subgroup_basic=0),
    no("needs subgroup shuffles", Op.DSV4_HC_COMB, x(24, 7), x(3), x(24), subgroup_shuffle=0),
    no("needs full subgroups", Op.DSV4_HC_COMB, x(24, 7), x(3), x(24), subgroup_full=0),
    no("a subgroup has 8 lanes", Op.DSV4_HC_COMB, x(24, 7), x(3), x(24), subgroup_size=8),
    no("source 2 is f16", Op.DSV4_HC_COMB, x(24, 7), x(3), x(24, dtype="f16")),
    ok(Op.DSV4_HC_PRE, x(64, 4), x(4)),
    no("the second dimension of source 0 is 5, not 4", Op.DSV4_HC_PRE, x(64, 5), x(4)),
    ok(Op.DSV4_HC_POST, x(), x(64, 4), x(4)),
    no("the second dimension of source 1 is 3, not 4", Op.DSV4_HC_POST, x(), x(64, 3), x(4)),
    ok(Op.SOLVE_TRI, x(64, 64), x(1024, 64)),
    no("source 0 is f16", Op.SOLVE_TRI, F16, x(), result=x()),
    no("1025 right sides are more than the 1024 threads", Op.SOLVE_TRI, x(64, 64), x(1025, 64)),
    no("4352 bytes of shared memory are wanted, there are 4096", Op.SOLVE_TRI, x(64), x(1024), shared_memory=4096),
    ok(Op.CROSS_ENTROPY_LOSS, x(), x(), result=ONE),
    no("the result is not a scalar", Op.CROSS_ENTROPY_LOSS, x(), x()),
    no("source 1 is f16", Op.CROSS_ENTROPY_LOSS, x(), F16, result=ONE),
    no("the shapes must be equal", Op.CROSS_ENTROPY_LOSS, x(64, 4), x(64, 5), result=ONE),
    ok(Op.CROSS_ENTROPY_LOSS_BACK, ONE, x(), x(), result=x()),
    no("source 0 is not a scalar", Op.CROSS_ENTROPY_LOSS_BACK, x(), x(), x(), result=x()),
    no("source 1 is [64, 4], the result is [64, 5]", Op.CROSS_ENTROPY_LOSS_BACK, ONE, x(), x(), result=x(64, 5)),
    ok(Op.COUNT_EQUAL, I32, I32),
    no("source 1 is f32", Op.COUNT_EQUAL, I32, x()),
    ok(Op.OUT_PROD, x(), x()),
    no("source 1 is not contiguous", Op.OUT_PROD, x(), turned(64, 4)),
    no("the result is f16", Op.OUT_PROD, x(), x(), result=F16),
    *(ok(op, F16, x(), result=F16) for op in (Op.IM2COL, Op.IM2COL_3D)),
    *(no("the result is bf16", op, F16, x(), result=BF16) for op in (Op.IM2COL, Op.IM2COL_3D)),
    no("source 1 is not contiguous", Op.IM2COL, F16, gappy()),
    *(ok(op, loose()) for op in SINGLE),
    *(no("source 0 is f16", op, F16) for op in SINGLE),
    ok(Op.CONV_2D_DW, F16, x()),
    no("source 1 is f16", Op.CONV_2D_DW, F16, F16),
    ok(Op.GATED_LINEAR_ATTN, x()),
    no("the head size is 128, not 64", Op.GATED_LINEAR_ATTN, x(128)),
    *(ok(Op.LIGHTNING_INDEXER, *indexer(k=t)) for t in (*CACHE, "bf16")),
    no("no kernel for source 1 of type q4_K", Op.LIGHTNING_INDEXER, *indexer(256, "q4_K")),
    no("the head size is 64, not 128", Op.LIGHTNING_INDEXER, *indexer(64)),
    no("needs 16-bit floats", Op.LIGHTNING_INDEXER, *indexer(), fp16=0),
    no("source 0 has strides 8,", Op.LIGHTNING_INDEXER, *indexer(q=loose(128, 64, 7)), result=Q),
    no(
        "source 0 starts at byte 8, not aligned to 16",
        Op.LIGHTNING_INDEXER,
        *indexer(q=see(Op.VIEW, "f32", (128, 64, 7), view=8)),
        result=Q,
    ),
    *(ok(Op.GATED_DELTA_NET, *delta(size)) for size in (16, 32, 64, 128)),
    no("the head size is 96, not 16, 32, 64 or 128", Op.GATED_DELTA_NET, *delta(96)),
    no("source 4 is f16", Op.GATED_DELTA_NET, *delta(beta="f16")),
    no("its source 5 is missing", Op.GATED_DELTA_NET, *delta()[:5]),
    *(ok(Op.SSM_SCAN, *mamba(state)) for state in (128, 256)),
    no("the state size is 64, not 128 or 256", Op.SSM_SCAN, *mamba(64)),
    no("head size 72 is not a multiple of 16", Op.SSM_SCAN, *mamba(head=72)),
    no("the row stride of source 3 is 64 bytes", Op.SSM_SCAN, *mamba(decay=16)),
    no("the row stride of source 3 is missing", Op.SSM_SCAN, *mamba()[:3]),
    no("source 6 is i64", Op.SSM_SCAN, *mamba(ids="i64")),
    no("source 2 is quantised (q8_0)", Op.SSM_SCAN, *mamba(head=64)[:2], Q8, *mamba()[3:]),
    no("a state of 128 wants 512 bytes of shared memory, there are 256", Op.SSM_SCAN, *mamba(), shared_memory=256),
    no("needs basic subgroup operations", Op.SSM_SCAN, *mamba(), subgroup_basic=0),
    ok(Op.CONV_TRANSPOSE_1D, x(), x()),
    no("source 1 is f16", Op.CONV_TRANSPOSE_1D, x(), F16),
    ok(Op.COL2IM_1D, BF16),
    no("the types must be equal", Op.COL2IM_1D, BF16, result=x()),
    ok(Op.CONV_2D, x(3, 3, 2, 5), x(9, 9, 2), result=x(7, 7, 5)),
    no("channels of the result is 6, not 5", Op.CONV_2D, x(3, 3, 2, 5), x(9, 9, 2), result=x(7, 7, 6)),
    ok(Op.CONV_TRANSPOSE_2D, x(3, 3, 5, 2), x(9, 9, 2), result=x(7, 7, 5)),
    no("channels of source 1 is 3, not 2", Op.CONV_TRANSPOSE_2D, x(3, 3, 5, 2), x(9, 9, 3), result=x(7, 7, 5)),
    no("element stride of source 0", Op.CONV_2D, SPREAD, x(9, 9, 2), result=x(7, 7, 5)),
    ok(Op.CONV_3D, F16, x(), result=x()),
    no("the result is not contiguous", Op.CONV_3D, x(), x(), result=gappy()),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_rule(row: Row) -> None:
    check("vulkan", row)


def test_every_rule_is_seen_from_both_sides() -> None:
    assert one_sided("vulkan", ROWS) == {}


@pytest.mark.parametrize("op", [op for op in Op if op not in VULKAN.rules], ids=str)
def test_other_ops_have_no_kernel(op: Op) -> None:
    assert VULKAN.supports(see(op, "f32", (64,), x(), x(), x())) == f"{op}: Vulkan has no kernel for it"


def test_no_tensor_is_larger_than_a_buffer_or_than_a_kernel_can_address() -> None:
    whole, half = x(1 << 18), x(1 << 17)
    check("vulkan", ok(Op.SQR, whole, max_buffer_size=1 << 20, max_storage_range=1 << 20))
    check(
        "vulkan",
        no("source 0 has 1048576 bytes, more than max_buffer_size = 524288", Op.SQR, whole, max_buffer_size=1 << 19),
    )
    check("vulkan", no("the result has 1048576 bytes", Op.REPEAT, half, result=whole, max_storage_range=1 << 19))
    check("vulkan", ok(Op.REPEAT, half, result=whole, max_storage_range=1 << 19, shader_64bit_indexing=1))
    check("vulkan", ok(Op.IM2COL, F16, half, result=whole, max_storage_range=1 << 18))
    check(
        "vulkan",
        no(
            "more than max_storage_range",
            Op.IM2COL,
            F16,
            half,
            result=whole,
            max_storage_range=1 << 18,
            buffer_device_address=0,
        ),
    )


def test_a_table_over_4_gib_is_refused_by_default() -> None:
    table = x(8192, 262208, dtype="f16")
    check(
        "vulkan",
        no(
            "source 0 has 4296015872 bytes, more than max_buffer_size = 4294967296", Op.GET_ROWS, table, I32, result=x()
        ),
    )


def test_shared_memory_of_the_smallest_tile() -> None:
    assert shared_memory("f16", VULKAN) == 64 * 33 * 2 + 128 + 16
    assert shared_memory("f16", device(DeviceSpec("vulkan", None, {"fp16": 0}))) == 64 * 33 * 4 + 128 + 16
    assert shared_memory("f16", device(DeviceSpec("vulkan", None, {"subgroup_size": 8}))) == 64 * 33 * 2 + 128 + 64
    assert shared_memory("nvfp4", VULKAN) - shared_memory("mxfp4", VULKAN) == 512


def test_big_batches_are_taken_over_whatever_the_op() -> None:
    assert VULKAN.offload(see(Op.ADD, "f32", (64, 32))) == ""
    assert VULKAN.offload(see(Op.MUL_MAT_ID, "f32", (64, 2, 32))) == ""
    assert (
        VULKAN.offload(see(Op.MUL_MAT, "f32", (64, 31))) == "MUL_MAT: a batch of 31 is below the offload minimum of 32"
    )
    assert (
        VULKAN.offload(see(Op.GET_ROWS, "f32", (64, 512)))
        == "GET_ROWS: a batch of 0 is below the offload minimum of 32"
    )


def test_it_is_registered_with_its_facts() -> None:
    assert DEVICES["vulkan"] is VULKAN
    assert (VULKAN.backend, VULKAN.type, VULKAN.host, VULKAN.host_buft) == ("Vulkan", "gpu", False, "Vulkan_Host")
    assert (VULKAN.align, VULKAN.max_size, VULKAN.pad_quant) == (16, 1 << 30, 0)
    assert VULKAN.supports_buft("Vulkan0", "Vulkan0", False)
    assert not any(VULKAN.supports_buft("Vulkan0", buft, True) for buft in ("Vulkan_Host", "CPU", "Vulkan1"))
    assert VULKAN.alloc_size(see(Op.ARGSORT, "i32", (8, 3), x(8, 3))) == 96
    assert VULKAN.is_async
    assert VULKAN.has_events
    assert set(VULKAN.units) == set(VULKAN.named)
