"""CUDA: every rule with an op that it accepts and one that it refuses, the sentence word for word."""

import pytest

from galloscope.core.devices.cuda import CUDA
from galloscope.core.devices.known import device
from galloscope.core.devices.seen import Seen, see
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import Op
from galloscope.tests.core.devices.cases import (
    Case,
    apart,
    attention,
    check,
    gaps,
    glu,
    mul_mat,
    op,
    t,
    unary,
    unshown,
)

OLD = device(DeviceSpec("cuda", limits={"fa_convert": 0}))
OLD_ALL = device(DeviceSpec("cuda", limits={"fa_convert": 0, "fa_all_quants": 1}))
HADAMARD = (0, 1)

CASES: dict[str, Case] = {
    "unary": (unary("SILU", t("f32")), ""),
    "unary of rows with gaps": (
        unary("SILU", gaps("f32")),
        "UNARY SILU: source 0 is not contiguous (f32 [64, 32], strides 4, 512, 16384, 16384)",
    ),
    "xielu of bf16": (unary("XIELU", t("bf16")), "UNARY XIELU: there is no kernel for bf16"),
    "xielu of f16": (unary("XIELU", t("f16")), ""),
    "unary of a later version": (
        op(Op.UNARY, t("f32"), params=[99]),
        "UNARY number 99: there is no kernel for this function",
    ),
    "glu": (glu("SWIGLU", gaps("f32")), ""),
    "glu of split rows": (
        glu("SWIGLU", apart("f32")),
        "GLU SWIGLU: source 0 is not contiguous, gaps between rows aside (f32 [64, 32], strides 8, 512, 16384, 16384)",
    ),
    "swiglu_oai of bf16": (glu("SWIGLU_OAI", t("bf16")), "GLU SWIGLU_OAI: there is no kernel for bf16"),
    "swiglu of bf16": (glu("SWIGLU", t("bf16")), ""),
    "glu of a later version": (
        op(Op.GLU, t("f32"), params=[99]),
        "GLU number 99: there is no kernel for this function",
    ),
    "mul_mat": (mul_mat(t("q4_K", 256, 32), t("f32", 256, 8)), ""),
    "mul_mat of tq1_0": (
        mul_mat(t("tq1_0", 256, 32), t("f32", 256, 8)),
        "MUL_MAT: there is no kernel for source 0 of type tq1_0",
    ),
    "mul_mat with f16": (
        mul_mat(t("q8_0"), t("f16", 64, 8)),
        "MUL_MAT: source 1 is f16 and source 0 q8_0; f16 goes with f16 only",
    ),
    "mul_mat of f16 with f16": (mul_mat(t("f16"), t("f16", 64, 8)), ""),
    "mul_mat of a Hadamard matrix": (mul_mat(t("f32", 64, 64), t("f16", 64, 8), *HADAMARD), ""),
    "mul_mat of a transposed weight": (
        mul_mat(apart("f16"), t("f32", 64, 8)),
        "MUL_MAT: the elements of source 0 are 4 bytes apart, not 2",
    ),
    "mul_mat with transposed activations": (
        mul_mat(t("f16"), apart("f32", 64, 8)),
        "MUL_MAT: the elements of source 1 are 8 bytes apart, not 4",
    ),
    "mul_mat_id": (op(Op.MUL_MAT_ID, t("q4_K", 256, 32, 8), t("f32", 256, 2, 4), t("i32", 2, 4)), ""),
    "mul_mat_id in f32": (
        op(Op.MUL_MAT_ID, t("q4_K", 256, 32, 8), t("f32", 256, 2, 4), t("i32", 2, 4), params=[0, 0, 0, 10]),
        "MUL_MAT_ID: f32 precision was asked for (op_params[3]), which its kernels do not have",
    ),
    "out_prod": (op(Op.OUT_PROD, t("f32"), t("f32")), ""),
    "out_prod of f16": (op(Op.OUT_PROD, t("f16"), t("f32")), "OUT_PROD: source 0 is f16, not f32"),
    "get_rows": (op(Op.GET_ROWS, t("q6_K", 256, 99), t("i32", 4)), ""),
    "get_rows of whole super-blocks": (op(Op.GET_ROWS, t("mxfp4", 512, 99), t("i32", 4)), ""),
    "get_rows of mxfp4": (
        op(Op.GET_ROWS, t("mxfp4", 96, 99), t("i32", 4)),
        "GET_ROWS: rows of 96 mxfp4 are not a multiple of 256 elements",
    ),
    "get_rows of nvfp4": (
        op(Op.GET_ROWS, t("nvfp4"), t("i32", 4)),
        "GET_ROWS: there is no kernel for source 0 of type nvfp4",
    ),
    "get_rows_back": (op(Op.GET_ROWS_BACK, t("f32"), t("i32", 4)), ""),
    "get_rows_back of f16": (op(Op.GET_ROWS_BACK, t("f16"), t("i32", 4)), "GET_ROWS_BACK: source 0 is f16, not f32"),
    "get_rows_back of planes": (
        op(Op.GET_ROWS_BACK, t("f32", 64, 4, 2), t("i32", 4)),
        "GET_ROWS_BACK: the result has 2 planes, not 1",
    ),
    "set_rows": (op(Op.SET_ROWS, t("f32"), t("i64", 32), dtype="q5_1"), ""),
    "set_rows of f16": (op(Op.SET_ROWS, t("f16"), t("i64", 32), dtype="f16"), ""),
    "set_rows to K quants": (
        op(Op.SET_ROWS, t("f32", 256, 4), t("i64", 4), dtype="q4_K"),
        "SET_ROWS: there is no kernel that stores f32 as q4_K",
    ),
    "set_rows by f32": (op(Op.SET_ROWS, t("f32"), t("f32", 32)), "SET_ROWS: source 1 is f32, not i32 or i64"),
    "set": (op(Op.SET, t("i32"), t("i32"), dtype="i32"), ""),
    "set of f16": (op(Op.SET, t("f16"), t("f16"), dtype="f16"), "SET: the result is f16, not f32 or i32"),
    "set of two types": (op(Op.SET, t("f32"), t("i32")), "SET: source 1 is i32, not f32"),
    "cpy": (op(Op.CPY, t("f32"), t("q8_0")), ""),
    "cpy of equal types": (op(Op.CPY, t("q4_K", 256, 4), t("q4_K", 256, 4)), ""),
    "cpy of equal types with gaps": (
        op(Op.CPY, gaps("q4_K", 256, 4), t("q4_K", 256, 4)),
        "CPY: q4_K is copied to q4_K only when both are contiguous",
    ),
    "cpy from K quants": (
        op(Op.CPY, t("q4_K", 256, 4), t("f32", 256, 4)),
        "CPY: there is no kernel from q4_K to f32",
    ),
    "repeat": (op(Op.REPEAT, t("f16"), t("f16")), ""),
    "repeat of i32": (op(Op.REPEAT, t("i32"), t("i32")), "REPEAT: source 0 is i32, not f32 or f16"),
    "repeat_back": (op(Op.REPEAT_BACK, t("f32")), ""),
    "repeat_back of f16": (op(Op.REPEAT_BACK, t("f16"), dtype="f16"), "REPEAT_BACK: the result is f16, not f32"),
    "repeat_back of many planes": (
        op(Op.REPEAT_BACK, t("f32", 1, 1, 40000)),
        "REPEAT_BACK: source 0 has 40000 planes, more than 32768",
    ),
    "concat": (op(Op.CONCAT, gaps("f32"), gaps("f32"), params=[1]), ""),
    "concat of quants": (op(Op.CONCAT, t("q8_0"), t("q8_0"), dtype="q8_0", params=[3]), ""),
    "concat of two types": (
        op(Op.CONCAT, t("f32"), t("f16")),
        "CONCAT: f32 and f16 into f32; all three must be of one type",
    ),
    "concat of quants with gaps": (
        op(Op.CONCAT, gaps("q8_0"), t("q8_0"), dtype="q8_0"),
        "CONCAT: source 0 is not contiguous as quants must be (q8_0 [64, 32], strides 34, 136, 4352, 4352)",
    ),
    "conv_transpose_1d": (op(Op.CONV_TRANSPOSE_1D, t("f32"), t("f32")), ""),
    "conv_transpose_1d of f16": (
        op(Op.CONV_TRANSPOSE_1D, t("f16"), t("f32")),
        "CONV_TRANSPOSE_1D: source 0 is f16, not f32",
    ),
    "col2im_1d": (op(Op.COL2IM_1D, t("f16"), dtype="f16"), ""),
    "col2im_1d with gaps": (
        op(Op.COL2IM_1D, gaps("f32")),
        "COL2IM_1D: source 0 is not contiguous (f32 [64, 32], strides 4, 512, 16384, 16384)",
    ),
    "col2im_1d to another type": (op(Op.COL2IM_1D, t("f16")), "COL2IM_1D: the result is f32, not f16"),
    "silu_back": (op(Op.SILU_BACK, t("f32"), t("f32")), ""),
    "silu_back of f16": (op(Op.SILU_BACK, t("f16"), t("f16")), "SILU_BACK: source 0 is f16, not f32"),
    **{f"{kind} accepted": (op(kind, gaps("f32")), "") for kind in (Op.NORM, Op.RMS_NORM, Op.L2_NORM, Op.SUM)},
    **{
        f"{kind} of split rows": (
            op(kind, apart("f32")),
            f"{kind}: source 0 is not contiguous in its rows (f32 [64, 32], strides 8, 512, 16384, 16384)",
        )
        for kind in (Op.NORM, Op.RMS_NORM, Op.L2_NORM, Op.SUM, Op.SUM_ROWS, Op.MEAN)
    },
    **{f"{kind} accepted": (op(kind, t("f32")), "") for kind in (Op.RMS_NORM_BACK, Op.GROUP_NORM)},
    **{
        f"{kind} of rows with gaps": (
            op(kind, gaps("f32")),
            f"{kind}: source 0 is not contiguous (f32 [64, 32], strides 4, 512, 16384, 16384)",
        )
        for kind in (Op.RMS_NORM_BACK, Op.GROUP_NORM)
    },
    **{
        f"{kind} accepted": (op(kind, t("f32"), t("f32")), "")
        for kind in (Op.IM2COL, Op.IM2COL_3D, Op.CONV_2D, Op.ACC, Op.ADD, Op.SUB, Op.MUL, Op.DIV)
    },
    **{
        f"{kind} of rows with gaps": (
            op(kind, t("f32"), gaps("f32")),
            f"{kind}: source 1 is not contiguous (f32 [64, 32], strides 4, 512, 16384, 16384)",
        )
        for kind in (Op.IM2COL, Op.IM2COL_3D, Op.CONV_2D, Op.ACC)
    },
    **{f"{kind} accepted": (op(kind, gaps("f32")), "") for kind in (Op.SUM_ROWS, Op.MEAN)},
    "mean of f16": (op(Op.MEAN, t("f16")), "MEAN: source 0 is f16, not f32"),
    "scale": (op(Op.SCALE, t("bf16"), dtype="bf16"), ""),
    "scale of f16": (op(Op.SCALE, t("f16"), dtype="f16"), "SCALE: source 0 is f16, not f32 or bf16"),
    "scale to another type": (op(Op.SCALE, t("bf16")), "SCALE: the result is f32, not bf16"),
    **{
        f"{kind} of i32": (op(kind, t("f32"), t("i32")), f"{kind}: source 1 is i32, not f32 or f16")
        for kind in (Op.ADD, Op.SUB, Op.MUL, Op.DIV)
    },
    "add of bf16": (op(Op.ADD, t("bf16"), t("f32"), dtype="bf16"), ""),
    "add of bf16 into f32": (op(Op.ADD, t("bf16"), t("f32")), "ADD: the result is f32, not bf16"),
    "add of f16 to bf16": (op(Op.ADD, t("bf16"), t("f16"), dtype="bf16"), "ADD: source 1 is f16, not bf16 or f32"),
    **{
        f"{kind} accepted": (op(kind, t("f32"), t("f32"), t("f32")), "")
        for kind in (Op.DSV4_HC_COMB, Op.DSV4_HC_PRE, Op.DSV4_HC_POST)
    },
    **{
        f"{kind} of f16": (op(kind, t("f32"), t("f16"), t("f32")), f"{kind}: source 1 is f16, not f32")
        for kind in (Op.DSV4_HC_COMB, Op.DSV4_HC_PRE, Op.DSV4_HC_POST)
    },
    "dsv4_hc_post with an f16 fourth": (
        op(Op.DSV4_HC_POST, t("f32"), t("f32"), t("f32"), t("f16")),
        "DSV4_HC_POST: source 3 is f16, not f32",
    ),
    "mamba 2": (op(Op.SSM_SCAN, t("f32", 128, 64, 24), t("f32"), t("f32"), t("f32", 1, 24), t("f32", 128, 1)), ""),
    "mamba 2 of a state of 64": (
        op(Op.SSM_SCAN, t("f32", 64, 64, 24), t("f32"), t("f32"), t("f32", 1, 24), t("f32", 64, 1)),
        "SSM_SCAN: d_state is 64, not 96, 128 or 256",
    ),
    "mamba 2 of heads of 20": (
        op(Op.SSM_SCAN, t("f32", 128, 20, 24), t("f32"), t("f32"), t("f32", 1, 24), t("f32", 128, 1)),
        "SSM_SCAN: head size 20 is not a multiple of 16",
    ),
    "mamba 1": (op(Op.SSM_SCAN, t("f32", 16, 1, 256), t("f32"), t("f32"), t("f32", 16, 256), t("f32", 16, 1)), ""),
    "mamba 1 of 100 heads": (
        op(Op.SSM_SCAN, t("f32", 16, 1, 100), t("f32"), t("f32"), t("f32", 16, 100), t("f32", 16, 1)),
        "SSM_SCAN: 100 heads are not a multiple of 128",
    ),
    "mamba 1 of two groups": (
        op(Op.SSM_SCAN, t("f32", 16, 1, 256), t("f32"), t("f32"), t("f32", 16, 256), t("f32", 16, 2)),
        "SSM_SCAN: its number of groups is 2, not 1",
    ),
    "mamba 1 that keeps states": (
        op(Op.SSM_SCAN, t("f32", 16, 1, 256), t("f32"), t("f32"), t("f32", 16, 256), t("f32", 16, 1), params=[4]),
        "SSM_SCAN: Mamba 1 has no kernel that keeps 4 states",
    ),
    "ssm_conv": (op(Op.SSM_CONV, t("f32", 8, 256), t("f32")), ""),
    "ssm_conv of 100": (op(Op.SSM_CONV, t("f32", 8, 100), t("f32")), "SSM_CONV: d_inner 100 is not a multiple of 128"),
    "soft_max_back": (op(Op.SOFT_MAX_BACK, t("f32"), t("f32"), params=[1.0, 0.0]), ""),
    "soft_max_back with ALiBi": (
        op(Op.SOFT_MAX_BACK, t("f32"), t("f32"), params=[1.0, 8.0]),
        "SOFT_MAX_BACK: ALiBi is on (max_bias 8)",
    ),
    "roll": (op(Op.ROLL, t("f32")), ""),
    "roll of f16": (op(Op.ROLL, t("f16")), "ROLL: source 0 is f16, not f32"),
    **{f"{kind} accepted": (op(kind, gaps("f32", 64, 4, 2)), "") for kind in (Op.ROPE, Op.ROPE_BACK)},
    **{
        f"{kind} of split rows": (
            op(kind, apart("f32", 64, 4, 2)),
            f"{kind}: the elements of source 0 are 8 bytes apart, not 4",
        )
        for kind in (Op.ROPE, Op.ROPE_BACK)
    },
    "rope of sequences apart": (
        op(Op.ROPE, t("f32", 64, 4, 2, 2, nb=(4, 256, 1024, 4096))),
        "ROPE: source 0 is not contiguous over its sequences (f32 [64, 4, 2, 2], strides 4, 256, 1024, 4096)",
    ),
    "conv_3d": (op(Op.CONV_3D, t("f16"), t("f32")), ""),
    "conv_3d of bf16": (op(Op.CONV_3D, t("bf16"), t("f32")), "CONV_3D: source 0 is bf16, not f32 or f16"),
    "conv_2d_dw": (op(Op.CONV_2D_DW, gaps("f16"), t("f32")), ""),
    "conv_2d_dw over f16": (op(Op.CONV_2D_DW, t("f16"), t("f16")), "CONV_2D_DW: source 1 is f16, not f32"),
    "attention": (attention(), ""),
    "attention with every KV type": (attention(256, "q5_1", "q4_0"), ""),
    "attention with iq4_nl": (
        attention(256, "iq4_nl"),
        "FLASH_ATTN_EXT: head size 256 with K iq4_nl is not in the kernel table",
    ),
    "attention with V iq4_nl": (
        attention(128, "f16", "iq4_nl"),
        "FLASH_ATTN_EXT: head size 128 with V iq4_nl is not in the kernel table",
    ),
    "attention of heads of 48": (
        attention(48),
        "FLASH_ATTN_EXT: head size 48 is not in the kernel table "
        "(40, 64, 72, 80, 96, 112, 128, 192, 256, 320, 512, 576)",
    ),
    "attention of unlike heads": (
        attention(128, v_head=64),
        "FLASH_ATTN_EXT: head size 128 of K needs the same of V, not 64",
    ),
    "attention of 192": (attention(192, v_head=128, heads=64), ""),
    "attention of 192 and 192": (
        attention(192, heads=64),
        "FLASH_ATTN_EXT: with head size 192 of K that of V is 192, not 128",
    ),
    "attention of 192 with 4 heads per KV head": (
        attention(192, v_head=128),
        "FLASH_ATTN_EXT: head size 192 needs a multiple of 8 Q heads per KV head, not 4",
    ),
    "attention of 320": (attention(320, v_head=256, heads=32, kv_heads=1), ""),
    "attention of 320 with 4 heads per KV head": (
        attention(320, v_head=256),
        "FLASH_ATTN_EXT: head size 320 needs a multiple of 32 Q heads per KV head, not 4",
    ),
    "attention of 512 with heads alone": (
        attention(512, heads=8),
        "FLASH_ATTN_EXT: head size 512 has only kernels with grouped queries, and there is 1 Q head per KV head",
    ),
    "attention of 512 without a mask": (
        attention(512, mask=None),
        "FLASH_ATTN_EXT: head size 512 has only kernels with grouped queries, and there is no mask",
    ),
    "attention of 512 with ALiBi": (
        attention(512, max_bias=8.0),
        "FLASH_ATTN_EXT: head size 512 has only kernels with grouped queries, and ALiBi is on (max_bias 8)",
    ),
    "attention of 576 over 1000 cells": (
        attention(576, v_head=512, cells=1000),
        "FLASH_ATTN_EXT: head size 576 has only kernels with grouped queries, "
        "and 1000 cells of K are not a multiple of 256",
    ),
    "attention of 512 with a crooked mask": (
        attention(512, mask=t("f16", 1024, 512, nb=(2, 2050, 2050 * 512, 2050 * 512))),
        "FLASH_ATTN_EXT: head size 512 has only kernels with grouped queries, "
        "and the strides [2050, 1049600, 1049600] of the mask are not multiples of 16 bytes",
    ),
    "attention with a mask per head": (
        attention(mask=t("f16", 1024, 512, 32)),
        "FLASH_ATTN_EXT: the mask has 32 head planes, the kernels take one for all heads",
    ),
    "attention of 3 heads over 2": (
        attention(heads=3, kv_heads=2),
        "FLASH_ATTN_EXT: 3 heads of Q are not a multiple of the 2 heads of K",
    ),
    "attention without V": (
        op(Op.FLASH_ATTN_EXT, t("f32"), t("f16")),
        "FLASH_ATTN_EXT: its source 2 is missing",
    ),
    "indexer": (op(Op.LIGHTNING_INDEXER, t("f32", 128, 64, 4), t("q8_0", 128, 512), t("f32"), t("f16")), ""),
    "indexer of 16 heads": (
        op(Op.LIGHTNING_INDEXER, t("f32", 128, 16, 4), t("q8_0", 128, 512), t("f32"), t("f16")),
        "LIGHTNING_INDEXER: the number of heads of Q is 16, not 32 or 64",
    ),
    "indexer of crooked K": (
        op(
            Op.LIGHTNING_INDEXER,
            t("f32", 128, 32, 4),
            t("f16", 128, 4, nb=(2, 258, 1032, 1032)),
            t("f32"),
            t("f16"),
        ),
        "LIGHTNING_INDEXER: the strides [258, 1032, 1032] of K are not multiples of 16 bytes",
    ),
    "indexer of iq4_nl": (
        op(Op.LIGHTNING_INDEXER, t("f32", 128, 32, 4), t("iq4_nl", 128, 512), t("f32"), t("f16")),
        "LIGHTNING_INDEXER: there is no kernel for source 1 of type iq4_nl",
    ),
    "an op without a kernel": (op(Op.WIN_PART, t("f32")), "WIN_PART: CUDA has no kernel for it"),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    check(CUDA, CASES[name])


def test_every_rule_is_shown_from_both_sides() -> None:
    assert unshown("cuda", CASES) == {}


def test_other_devices_memory_is_refused() -> None:
    a, b = (t("f16", buft=f"CUDA{i}", maker="cuda") for i in (0, 1))
    host = t("f16", buft="CUDA_Host", maker="cuda")
    assert CUDA.supports(op(Op.MUL_MAT, a, t("f32")), "CUDA0") == ""
    assert CUDA.supports(op(Op.MUL_MAT, host, t("f32")), "CUDA0") == ""
    assert CUDA.supports(op(Op.MUL_MAT, b, t("f32")), "CUDA0") == (
        "MUL_MAT: source 0 lies in CUDA1, the memory of another CUDA device"
    )
    assert CUDA.supports(op(Op.ADD, t("f32"), b), "CUDA0").startswith("ADD: source 1 lies in CUDA1")


@pytest.mark.parametrize(
    ("k", "v", "wanted"),
    [
        ("q8_0", "q8_0", ""),
        ("f32", "f32", ""),
        ("q8_0", "q4_0", ""),
        (
            "q5_1",
            "q5_1",
            "FLASH_ATTN_EXT: head size 256 with K q5_1 is not in the kernel table of a build without "
            "GGML_CUDA_FA_ALL_QUANTS",
        ),
        (
            "f16",
            "q4_1",
            "FLASH_ATTN_EXT: head size 256 with V q4_1 is not in the kernel table of a build without "
            "GGML_CUDA_FA_ALL_QUANTS",
        ),
        (
            "q8_0",
            "f16",
            "FLASH_ATTN_EXT: head size 256 with K q8_0 and V f16 is not in the kernel table of a build without "
            "GGML_CUDA_FA_ALL_QUANTS",
        ),
    ],
)
def test_older_builds_refuse_types_they_have_no_kernel_for(k: str, v: str, wanted: str) -> None:
    check(OLD, (attention(256, k, v), wanted))
    check(OLD_ALL, (attention(256, k, v), ""))
    check(CUDA, (attention(256, k, v), ""))


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (see(Op.MUL_MAT, "f32", (64, 32)), ""),
        (see(Op.MUL_MAT, "f32", (64, 31)), "MUL_MAT: a batch of 31 is below the offload minimum of 32"),
        (see(Op.MUL_MAT_ID, "f32", (64, 8, 32)), ""),
        (see(Op.MUL_MAT_ID, "f32", (64, 64, 4)), "MUL_MAT_ID: a batch of 4 is below the offload minimum of 32"),
        (see(Op.GET_ROWS, "f32", (64, 512)), "GET_ROWS: a batch of 0 is below the offload minimum of 32"),
        (see(Op.ADD, "f32", (64, 8, 4)), ""),
    ],
)
def test_offload(kind: Seen, wanted: str) -> None:
    assert CUDA.offload(kind) == wanted


def test_offload_minimum_is_a_limit() -> None:
    small = see(Op.MUL_MAT, "f32", (64, 4))
    assert device(DeviceSpec("cuda", limits={"offload_min_batch": 4})).offload(small) == ""


def test_buffers() -> None:
    assert CUDA.supports_buft("CUDA0", "CUDA0", False)
    assert not CUDA.supports_buft("CUDA0", "CUDA1", False)
    assert not CUDA.supports_buft("CUDA0", "CUDA_Host", True)
    assert device(DeviceSpec("cuda", limits={"integrated": 1})).supports_buft("CUDA0", "CUDA_Host", True)
