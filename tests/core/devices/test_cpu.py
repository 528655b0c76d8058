"""CPU: the few rules it has, repacked weights, and what it can read."""

import pytest

from galloscope.core.devices.cpu import CPU, DOT_TYPES, NOT_WRITTEN, REPACKED
from galloscope.core.devices.known import device
from galloscope.core.dtypes import DTYPES
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import Op
from galloscope.tests.core.devices.cases import Case, check, gaps, mul_mat, op, t, unshown

HADAMARD = (0, 1)

CASES: dict[str, Case] = {
    "cpy": (op(Op.CPY, t("f32"), t("q4_K", 256, 4), dtype="q4_K", ne=(256, 4)), ""),
    "cpy to iq2_xs": (op(Op.CPY, t("f32"), dtype="iq2_xs", ne=(256, 4)), "CPY: ggml-cpu cannot write iq2_xs"),
    "set_rows": (op(Op.SET_ROWS, t("f32"), t("i64", 32), dtype="f16"), ""),
    "set_rows to iq1_s": (
        op(Op.SET_ROWS, t("f32"), t("i64", 32), dtype="iq1_s", ne=(256, 4)),
        "SET_ROWS: ggml-cpu cannot write iq1_s",
    ),
    "mul_mat": (mul_mat(t("tq1_0", 256, 8), t("f32", 256, 8)), ""),
    "mul_mat with its own partner": (mul_mat(t("f16"), t("f16")), ""),
    "mul_mat of f32 with bf16": (mul_mat(t("f32"), t("bf16")), ""),
    "mul_mat of quants with f16": (
        mul_mat(t("q8_0"), t("f16")),
        "MUL_MAT: rows of q8_0 are multiplied with f32 or q8_0, not with f16",
    ),
    "mul_mat of f32 with f16": (
        mul_mat(t("f32"), t("f16")),
        "MUL_MAT: rows of f32 are multiplied with f32, not with f16",
    ),
    "mul_mat of a Hadamard matrix with f16": (mul_mat(t("f32"), t("f16"), *HADAMARD), ""),
    "mul_mat of a Hadamard matrix with bf16": (
        mul_mat(t("f32"), t("bf16"), *HADAMARD),
        "MUL_MAT: source 1 is bf16, not f32 or f16",
    ),
    "soft_max_back": (op(Op.SOFT_MAX_BACK, t("f32"), t("f32")), ""),
    "soft_max_back of f16": (op(Op.SOFT_MAX_BACK, t("f32"), t("f16")), "SOFT_MAX_BACK: source 1 is f16, not f32"),
    "soft_max_back with ALiBi": (
        op(Op.SOFT_MAX_BACK, t("f32"), t("f32"), params=[1.0, 4.0]),
        "SOFT_MAX_BACK: ALiBi is on (max_bias 4)",
    ),
    "im2col_back": (op(Op.IM2COL_BACK, t("f32"), t("f16")), ""),
    "im2col_back of f16": (op(Op.IM2COL_BACK, t("f16"), t("f16")), "IM2COL_BACK: source 0 is f16, not f32"),
    "get_rows_back": (op(Op.GET_ROWS_BACK, t("f16"), t("i32", 4)), ""),
    "get_rows_back of bf16": (
        op(Op.GET_ROWS_BACK, t("bf16"), t("i32", 4)),
        "GET_ROWS_BACK: source 0 is bf16, not f32 or f16",
    ),
    "out_prod": (op(Op.OUT_PROD, t("q4_0"), t("f32")), ""),
    "out_prod of bf16": (
        op(Op.OUT_PROD, t("bf16"), t("f32")),
        "OUT_PROD: source 0 is bf16, not f32, f16 or quantised",
    ),
    "out_prod of quants over planes": (
        op(Op.OUT_PROD, t("q4_0", 64, 32, 2), t("f32", 64, 32, 4)),
        "OUT_PROD: q4_0 source 0 has planes [2, 1], not [4, 1] like source 1",
    ),
    "out_prod of f32 over planes": (op(Op.OUT_PROD, t("f32", 64, 32, 2), t("f32", 64, 32, 4)), ""),
    "conv_2d": (op(Op.CONV_2D, t("f16"), gaps("f32")), ""),
    "conv_2d with gaps": (
        op(Op.CONV_2D, gaps("f16"), t("f32")),
        "CONV_2D: source 0 is not contiguous (f16 [64, 32], strides 2, 256, 8192, 8192)",
    ),
    "ssm_scan": (op(Op.SSM_SCAN, t("f32"), t("f32"), t("f32"), t("f32", 1, 24), params=[4]), ""),
    "ssm_scan of Mamba 1": (op(Op.SSM_SCAN, t("f32"), t("f32"), t("f32"), t("f32", 16, 24), params=[1]), ""),
    "ssm_scan that keeps states": (
        op(Op.SSM_SCAN, t("f32"), t("f32"), t("f32"), t("f32", 16, 24), params=[4]),
        "SSM_SCAN: Mamba 1 keeps one state, not 4",
    ),
    "attention of any kind": (op(Op.FLASH_ATTN_EXT, t("f32"), t("iq4_nl"), t("q8_0")), ""),
    "an op it does not name": (op(Op.WIN_PART, t("f32")), ""),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    check(CPU, CASES[name])


def test_every_rule_is_shown_from_both_sides() -> None:
    assert unshown("cpu", CASES) == {}


REPACK = {
    "repacked": (mul_mat(t("q4_0", 64, 32, buft="CPU_REPACK"), t("f32")), ""),
    "repacked experts": (
        op(Op.MUL_MAT_ID, t("q4_K", 256, 32, 8, buft="CPU_REPACK"), t("f32", 256, 1, 4), t("i32", 2, 4)),
        "",
    ),
    "a view of them": (op(Op.VIEW, t("q4_0", 64, 32, buft="CPU_REPACK"), dtype="q4_0"), ""),
    "experts in mul_mat": (
        mul_mat(t("q4_0", 64, 32, 8, buft="CPU_REPACK"), t("f32", 64, 4, 8)),
        "MUL_MAT: source 0 in CPU_REPACK has 3 dimensions, not 2",
    ),
    "get_rows": (
        op(Op.GET_ROWS, t("q4_0", 64, 32, buft="CPU_REPACK"), t("i32", 4)),
        "GET_ROWS: only MUL_MAT and MUL_MAT_ID, as source 0, read weights in CPU_REPACK",
    ),
    "as source 1": (
        mul_mat(t("f32"), t("q4_0", 64, 32, buft="CPU_REPACK")),
        "MUL_MAT: only MUL_MAT and MUL_MAT_ID, as source 0, read weights in CPU_REPACK",
    ),
    "with f16": (
        mul_mat(t("q4_0", 64, 32, buft="CPU_REPACK"), t("f16")),
        "MUL_MAT: source 1 is f16, not f32",
    ),
    "with what lies on a GPU": (
        mul_mat(t("q4_0", 64, 32, buft="CPU_REPACK"), t("f32", buft="CUDA0")),
        "MUL_MAT: source 1 lies in CUDA0, which the CPU cannot read",
    ),
    "of a type without a layout": (
        mul_mat(t("q8_0", 64, 32, buft="CPU_REPACK"), t("f32")),
        "MUL_MAT: source 0 lies in CPU_REPACK, but q8_0 has no repacked layout",
    ),
    "of an odd number of rows": (
        mul_mat(t("q4_0", 64, 30, buft="CPU_REPACK"), t("f32")),
        "MUL_MAT: source 0 lies in CPU_REPACK, but 30 rows of q4_0 are not a multiple of 8",
    ),
    "of a type for AVX-512": (
        mul_mat(t("q2_K", 256, 32, buft="CPU_REPACK"), t("f32", 256, 4)),
        "MUL_MAT: source 0 lies in CPU_REPACK, but the repacked layout of q2_K needs avx512",
    ),
}


@pytest.mark.parametrize("name", REPACK)
def test_repacked_weights(name: str) -> None:
    check(CPU, REPACK[name])


def test_all_host_memory_is_as_good_as_its_own() -> None:
    """The CPU may compute in the pinned memory of a GPU and read weights in its own."""
    seen = mul_mat(t("f16", buft="CPU", maker="cpu"), t("f32"))
    assert CPU.supports(seen, "CUDA_Host") == ""
    repacked = mul_mat(t("q4_0", 64, 32, buft="CPU_REPACK", maker="cpu"), t("f32"))
    assert CPU.supports(repacked, "CPU") == ""


def test_instructions_are_limits() -> None:
    wide = device(DeviceSpec("cpu", limits={"avx512": 1}))
    old = device(DeviceSpec("cpu", limits={"avx2": 0}))
    assert wide.supports(REPACK["of a type for AVX-512"][0]) == ""
    assert old.supports(REPACK["repacked"][0]).endswith("the repacked layout of q4_0 needs avx2")


def test_it_reads_host_memory_and_its_own_layouts() -> None:
    answers = {
        (buft, host): CPU.supports_buft("CPU", buft, host)
        for buft, host in [("CPU", True), ("CUDA_Host", True), ("CPU_REPACK", False), ("CUDA0", False)]
    }
    assert list(answers.values()) == [True, True, True, False]


def test_it_takes_nothing_over() -> None:
    assert CPU.offload(t("f32")) == "NONE: CPU takes nothing over from the CPU"


def test_tables_name_types_that_exist() -> None:
    assert {*DOT_TYPES, *DOT_TYPES.values(), *NOT_WRITTEN, *REPACKED} <= set(DTYPES)
    assert {name for name, dtype in DTYPES.items() if dtype.quantized} - set(DOT_TYPES) == {"q8_K"}
