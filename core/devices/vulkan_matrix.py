"""Vulkan: matrix products, attention and the recurrent ops (ggml_backend_vk_device_supports_op, ggml 0.25.3)."""

from __future__ import annotations

from .conditions import FLOATS, RESULT, able, all_f32, either, not_typed, sized, typed
from .profile import Profile
from .seen import Seen

WEIGHTS = (
    *("f32", "f16", "bf16", "q1_0", "q2_0", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"),
    *("q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s"),
    *("iq4_xs", "iq4_nl", "mxfp4", "nvfp4", "tq1_0", "tq2_0"),
)
"""Types with MUL_MAT, MUL_MAT_ID and GET_ROWS kernels."""

_CACHE = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
"""Types of K with FLASH_ATTN_EXT and LIGHTNING_INDEXER kernels."""

_GRIDS = {
    **dict.fromkeys(("iq1_s", "iq1_m"), 2 * 2048),
    "iq2_xxs": 8 * 256,
    "iq2_xs": 8 * 512,
    "iq2_s": 8 * 1024,
    "iq3_xxs": 4 * 256,
    "iq3_s": 4 * 512,
    **dict.fromkeys(("iq4_nl", "iq4_xs", "mxfp4"), 4 * 16),
    "nvfp4": 4 * 16 + 4 * 128,
}
"""Bytes of shared memory that a type's look-up table takes."""

_PREC_F32 = 10  # GGML_PREC_F32


def mul_mat(op: Seen, device: Profile) -> str:
    """Types with a kernel; gaps in the planes only for floats; no bf16 with f16.

    MUL_MAT.
    """
    return _product(op, op.need(0))


def mul_mat_id(op: Seen, device: Profile) -> str:
    """As MUL_MAT; a tile fits in shared memory; not in f32 precision.

    MUL_MAT_ID: its tiles and the row numbers must fit into shared memory.
    """
    wanted, there = shared_memory(op.need(0).type, device), device.named["shared_memory"]
    if wanted > there:
        return f"{op.op}: source 0 of type {op.need(0).type} wants {wanted} bytes of shared memory, there are {there}"
    if op.param(3) == _PREC_F32:
        return f"{op.op}: there is no kernel for precision f32"
    return _product(op, op.need(2))


def shared_memory(weights: str, device: Profile) -> int:
    """Bytes of the smallest MUL_MAT_ID tile without matrix cores (ggml_vk_matmul_shmem_support, s_warptile_mmqid)."""
    lanes = device.named["subgroup_size"]
    warps = max(lanes, 32) // max(lanes, 8)
    tile = (32 + 32) * (32 + 1) * (2 if device.named["fp16"] else 4)
    return tile + 32 * 2 * 2 + warps * 4 * 4 + _GRIDS.get(weights, 0)


def _product(op: Seen, planes: Seen) -> str:
    weights, inputs = op.need(0), op.need(1)
    if reason := typed(op, 0, *WEIGHTS):
        return reason
    if planes.ne[3] != inputs.ne[3]:
        return f"{op.op}: the sources have {planes.ne[3]} and {inputs.ne[3]} in the last dimension, which must be equal"
    for slot, types in ((0, (*FLOATS, "bf16")), (1, FLOATS)):
        one = op.need(slot)
        if not _packed_planes(one) and one.type not in types:
            return (
                f"{op.op}: source {slot} is {one.type} with gaps in its planes (strides {', '.join(map(str, one.nb))})"
            )
    if weights.type == "bf16" and inputs.type == "f16":
        return f"{op.op}: there is no kernel for bf16 times f16"
    return not_typed(op, 1, "bf16") if weights.type != "bf16" else ""


def _packed_planes(one: Seen) -> bool:
    """ggml_vk_dim01_contiguous."""
    return (
        one.nb[0] == one.dtype.size
        and one.nb[1] == one.nb[0] * one.ne[0] // one.dtype.block
        and (one.ne[3] == 1 or one.nb[3] == one.nb[2] * one.ne[2])
    )


def flash_attn_ext(op: Seen, device: Profile) -> str:
    """Head sizes that are multiples of 8; K and V of types with a kernel, bf16 with bf16 only; subgroup operations.

    FLASH_ATTN_EXT; source 3 is the mask, source 4 the sinks.
    """
    for what, slot in (("K", 1), ("V", 2)):
        size = op.need(slot).ne[0]
        if size % 8:
            return f"{op.op}: {what} head size {size} is not a multiple of 8"
    reason = (typed(op, 4, "f32") if op.source(4) else "") or all_f32(op, 0, RESULT)
    reason = reason or (typed(op, 3, "f16") if op.source(3) else "")
    for what, slot in (("K", 1), ("V", 2)):
        if not reason and op.need(slot).type not in _CACHE:
            reason = f"{op.op}: {what} is {op.need(slot).type}, not {either(_CACHE)}"
    if not reason and (op.need(1).type == "bf16") != (op.need(2).type == "bf16"):
        reason = f"{op.op}: K is {op.need(1).type} and V {op.need(2).type}; bf16 goes only with bf16"
    if reason or device.named["coopmat2"]:
        return reason
    return able(op, device, "subgroup_shuffle") or able(op, device, "subgroup_vote")


def lightning_indexer(op: Seen, device: Profile) -> str:
    """A head size of 128; K of a type with a kernel; strides of whole elements; f16 arithmetic.

    LIGHTNING_INDEXER: the kernel counts strides and offsets in elements.
    """
    reason = typed(op, 1, *_CACHE) or able(op, device, "fp16") or sized(op, "the head size", op.need(0).ne[0], 128)
    for what, one in (*((f"source {slot}", op.need(slot)) for slot in range(4)), ("the result", op)):
        if not reason and (one.nb[0] != one.dtype.size or any(step % one.dtype.size for step in one.nb[1:])):
            reason = f"{op.op}: {what} has strides {', '.join(map(str, one.nb))}, not whole elements of {one.type}"
        if not reason and one.offset % device.align:
            reason = f"{op.op}: {what} starts at byte {one.offset}, not aligned to {device.align}"
    return reason


def gated_linear_attn(op: Seen, device: Profile) -> str:
    """All f32, a head size of 64.

    GATED_LINEAR_ATTN.
    """
    return all_f32(op, 0, RESULT) or sized(op, "the head size", op.need(0).ne[0], 64)


def gated_delta_net(op: Seen, device: Profile) -> str:
    """All f32, a head size of 16, 32, 64 or 128.

    GATED_DELTA_NET.
    """
    return sized(op, "the head size", op.need(2).ne[0], 16, 32, 64, 128) or all_f32(op, 0, 1, 2, 3, 4, 5, RESULT)


def ssm_scan(op: Seen, device: Profile) -> str:
    """Mamba 2 with a state of 128 or 256 and heads of a multiple of 16; subgroup operations.

    SSM_SCAN: only as Mamba 2 uses it, one number per head in source 3.
    """
    for slot in range(6):
        one = op.source(slot)
        if one is not None and one.dtype.quantized:
            return f"{op.op}: source {slot} is quantised ({one.type})"
    reason = (typed(op, 6, "i32") if op.source(6) else "") or all_f32(op, 0, RESULT)
    if reason:
        return reason
    state, head = op.need(0).ne[:2]
    decay = op.source(3)
    if decay is None or decay.nb[1] != 4:
        stride = "missing" if decay is None else f"{decay.nb[1]} bytes"
        return f"{op.op}: the row stride of source 3 is {stride}, not the 4 bytes of Mamba 2"
    if head % 16:
        return f"{op.op}: head size {head} is not a multiple of 16"
    if reason := sized(op, "the state size", state, 128, 256):
        return reason
    if 4 * state > device.named["shared_memory"]:
        there = device.named["shared_memory"]
        return f"{op.op}: a state of {state} wants {4 * state} bytes of shared memory, there are {there}"
    return able(op, device, "subgroup_basic")
