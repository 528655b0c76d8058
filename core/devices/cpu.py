"""CPU: what ggml-cpu runs, which is nearly everything: ggml_backend_cpu_device_supports_op (ggml-cpu.cpp).

Weights in the extra buffer type CPU_REPACK are interleaved for wide instructions, and only the matrix multiplications
that know the layout can read them (repack.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping

from ..op import VIEW_OPS, Op
from .conditions import RESULT, either, packed, typed
from .profile import Profile, Rule, anything
from .seen import Seen

REPACK = "CPU_REPACK"

NOT_WRITTEN = ("iq3_xxs", "iq3_s", "iq2_xxs", "iq2_xs", "iq2_s", "iq1_s", "iq1_m")
"""Types that ggml-cpu can read but not write (no from_float in type_traits_cpu)."""

_BY_PARTNER = {
    "f16": ("f16",),
    "bf16": ("bf16",),
    "q8_0": ("q1_0", "q2_0", "q4_0", "q5_0", "q8_0", "mxfp4", "nvfp4", "iq4_nl"),
    "q8_1": ("q4_1", "q5_1", "q8_1"),
    "q8_K": (
        *("q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq2_xxs", "iq2_xs", "iq3_xxs", "iq3_s", "iq2_s", "iq1_s", "iq1_m"),
        *("iq4_xs", "tq1_0", "tq2_0"),
    ),
}
DOT_TYPES = {one: partner for partner, types in _BY_PARTNER.items() for one in types}
"""Type of the rows -> type that they are multiplied with (vec_dot_type of type_traits_cpu); f32 where none is named."""

REPACKED = {"q4_0": "avx2", "q4_K": "avx2", "iq4_nl": "avx2", "mxfp4": "avx2", "q2_K": "avx512"}
"""Type -> instructions that its interleaved layout of 8 rows needs on x86-64 (ggml_repack_get_optimal_repack_type)."""

SOURCE_HADAMARD = 1
"""GGML_HINT_SRC0_IS_HADAMARD."""


def why_not_repacked(weight: Seen, device: Profile) -> str:
    """Why ggml_repack_get_optimal_repack_type finds no layout for a weight; "" when it does."""
    needs = REPACKED.get(weight.type)
    if needs is None:
        return f"{weight.type} has no repacked layout"
    if not device.named[needs]:
        return f"the repacked layout of {weight.type} needs {needs}"
    return "" if weight.ne[1] % 8 == 0 else f"{weight.ne[1]} rows of {weight.type} are not a multiple of 8"


def repacked(op: Seen, device: Profile) -> str:
    """The extra buffer type's own supports_op (repack.cpp), asked when one of the first four sources lies there."""
    if op.op is Op.NONE or op.op in VIEW_OPS or not any(one and one.buft == REPACK for one in op.src[:4]):
        return ""
    a, dims = op.source(0), {Op.MUL_MAT: 2, Op.MUL_MAT_ID: 3}.get(op.op)
    if dims is None or a is None or a.buft != REPACK:
        return f"{op.op}: only MUL_MAT and MUL_MAT_ID, as source 0, read weights in {REPACK}"
    if a.n_dims != dims:
        return f"{op.op}: source 0 in {REPACK} has {a.n_dims} dimensions, not {dims}"
    why = why_not_repacked(a, device)
    if why:
        return f"{op.op}: source 0 lies in {REPACK}, but {why}"
    b = op.need(1)
    if b.buft and not b.host:
        return f"{op.op}: source 1 lies in {b.buft}, which the CPU cannot read"
    return typed(op, 1, "f32")


def written(op: Seen, device: Profile) -> str:
    """The result is not of an iq1, iq2 or iq3 type.

    ggml_backend_cpu_device_supports_op, GGML_OP_CPY and SET_ROWS; ggml 0.25.3.
    """
    return f"{op.op}: ggml-cpu cannot write {op.type}" if op.type in NOT_WRITTEN else ""


def mul_mat(op: Seen, device: Profile) -> str:
    """Source 1 is f32 or the type that rows of source 0 are multiplied with.

    ggml_backend_cpu_device_supports_op, GGML_OP_MUL_MAT; ggml 0.25.3.
    """
    a, b = op.need(0), op.need(1)
    if op.param(1) == SOURCE_HADAMARD and a.type == op.type == "f32":
        return typed(op, 1, "f32", "f16")
    dot = DOT_TYPES.get(a.type, "f32")
    if b.type in ("f32", dot) or (b.type == "bf16" and dot == "f32"):
        return ""
    partners = either(tuple(dict.fromkeys(("f32", dot))))
    return f"MUL_MAT: rows of {a.type} are multiplied with {partners}, not with {b.type}"


def soft_max_back(op: Seen, device: Profile) -> str:
    """Both sources are f32, no ALiBi.

    ggml_backend_cpu_device_supports_op, GGML_OP_SOFT_MAX_BACK; ggml 0.25.3.
    """
    bias = op.param_f32(1)
    why = typed(op, 0, "f32") or typed(op, 1, "f32")
    return why or ("" if bias == 0 else f"SOFT_MAX_BACK: ALiBi is on (max_bias {bias:g})")


def im2col_back(op: Seen, device: Profile) -> str:
    """f32, with an f32 or f16 kernel.

    ggml_backend_cpu_device_supports_op, GGML_OP_IM2COL_BACK; ggml 0.25.3.
    """
    return typed(op, 0, "f32") or typed(op, 1, "f32", "f16")


def get_rows_back(op: Seen, device: Profile) -> str:
    """It is f32 or f16.

    ggml_backend_cpu_device_supports_op, GGML_OP_GET_ROWS_BACK; ggml 0.25.3.
    """
    return typed(op, 0, "f32", "f16")


def out_prod(op: Seen, device: Profile) -> str:
    """f32 with f32; f16 and quants only with equal planes.

    ggml_backend_cpu_device_supports_op, GGML_OP_OUT_PROD; ggml 0.25.3.
    """
    a, b = op.need(0), op.need(1)
    if a.type != "f32":
        if a.type != "f16" and not a.dtype.quantized:
            return f"OUT_PROD: source 0 is {a.type}, not f32, f16 or quantised"
        if a.ne[2:] != b.ne[2:]:
            return f"OUT_PROD: {a.type} source 0 has planes {list(a.ne[2:])}, not {list(b.ne[2:])} like source 1"
    return typed(op, 1, "f32") or typed(op, RESULT, "f32")


def conv_2d(op: Seen, device: Profile) -> str:
    """The kernel is contiguous.

    ggml_backend_cpu_device_supports_op, GGML_OP_CONV_2D; ggml 0.25.3.
    """
    return packed(op, 0)


def ssm_scan(op: Seen, device: Profile) -> str:
    """Mamba 2, or Mamba 1 that keeps one state.

    ggml_backend_cpu_device_supports_op, GGML_OP_SSM_SCAN; ggml 0.25.3.
    """
    if op.param(0) == 1 or op.need(3).ne[0] == 1:
        return ""
    return f"SSM_SCAN: Mamba 1 keeps one state, not {op.param(0)}"


RULES: Mapping[Op, Rule] = {
    **dict.fromkeys((Op.NONE, *sorted(VIEW_OPS)), anything),
    **dict.fromkeys((Op.CPY, Op.SET_ROWS), written),
    Op.MUL_MAT: mul_mat,
    Op.SOFT_MAX_BACK: soft_max_back,
    Op.IM2COL_BACK: im2col_back,
    Op.GET_ROWS_BACK: get_rows_back,
    Op.OUT_PROD: out_prod,
    Op.CONV_2D: conv_2d,
    Op.SSM_SCAN: ssm_scan,
}
"""The rule of every op that supports_op names; all others are supported."""


def _reads(device: Profile, own: str, buft: str, host: bool) -> bool:
    """ggml_backend_cpu_device_supports_buft: all host memory, and its own extra buffer types."""
    return host or buft in device.extra_bufts


CPU = Profile(
    name="cpu",
    title="CPU",
    backend="CPU",
    type="cpu",
    memory=64 << 30,
    source="ggml_backend_cpu_device_supports_op, _supports_buft, _get_props (ggml-cpu.cpp), type_traits_cpu "
    "(ggml-cpu.c) and ggml_repack_get_optimal_repack_type (repack.cpp), ggml 0.25.3",
    rules=RULES,
    other=anything,
    numbered=False,
    host=True,
    extra_bufts=(REPACK,),
    named={"avx2": 1, "avx512": 0},
    units={
        "avx2": "1: an x86-64 CPU with AVX2 (it decides which weights --repack can repack)",
        "avx512": "1: it has AVX-512 as well",
    },
    first=repacked,
    reads=_reads,
    simplified=(
        "The rules are those of ggml 0.25.3; the tests compare them with the CPU device of b11549 (ggml 0.26.0).",
        "Repacked weights are those of an x86-64 CPU; Arm, RISC-V and s390x have other layouts.",
        "AMX, KleidiAI and HBM buffer types are not simulated.",
        "The work buffer of the threads (ggml_graph_plan) is not counted.",
    ),
)
