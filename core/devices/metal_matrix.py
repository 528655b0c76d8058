"""Metal: matrix products and attention, and the scratch their kernels want behind the result (ggml 0.25.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ..op import Op
from .conditions import RESULT, able, all_f32, either, not_typed, packed_rows, sized, typed
from .profile import Extra, Profile
from .seen import Seen

HEAD_SIZES = (32, 40, 48, 64, 72, 80, 96, 112, 128, 192, 256, 320, 512, 576)
"""Sizes of a query head with FLASH_ATTN_EXT kernels."""

_CACHE = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
_KEYS = ("f32", "f16", "bf16", *_CACHE)
_SPARSE = frozenset(
    {
        (32, 32),
        (64, 64),
        (96, 96),
        (96, 64),
        (128, 128),
        (192, 128),
        (192, 192),
        (256, 256),
        (320, 256),
        (512, 512),
        (576, 512),
    }
)
"""(K head size, V head size) of the vector kernels that can run over lists of cells."""

_HADAMARD = 1  # GGML_HINT_SRC0_IS_HADAMARD


def mul_mat(op: Seen, device: Profile) -> str:
    """A type other than nvfp4 and tq1_0; f16 inputs only where the kernel for them runs; simdgroup reduction.

    MUL_MAT (ggml_metal_supports_mul_mat_op, ggml_metal_op_mul_mat_use_fwht, ggml_metal_op_mul_mat_use_mm).
    """
    weights, inputs = op.need(0), op.need(1)
    if weights.type == "f32" and inputs.type == "f16" and _transforms(op, inputs, device):
        return able(op, device, "simdgroup_reduction")
    missing = []
    if weights.ne[0] < 64:
        missing.append(f"64 elements in a row of source 0 (here {weights.ne[0]})")
    if inputs.ne[1] <= 8:
        missing.append(f"more than 8 rows of source 1 (here {inputs.ne[1]})")
    missing += [f"source {slot} not transposed" for slot in (0, 1) if op.need(slot).is_transposed()]
    return _product(op, device, True, missing)


def mul_mat_id(op: Seen, device: Profile) -> str:
    """A type other than nvfp4 and tq1_0; f16 inputs only for the matrix kernel; simdgroup reduction.

    MUL_MAT_ID (ggml_metal_supports_mul_mat_op, ggml_metal_op_mul_mat_id_use_mm).
    """
    missing = []
    if op.need(0).ne[0] < 64:
        missing.append(f"64 elements in a row of source 0 (here {op.need(0).ne[0]})")
    if op.need(2).ne[1] < 32:
        missing.append(f"32 tokens (here {op.need(2).ne[1]})")
    return _product(op, device, False, missing)


def _transforms(op: Seen, inputs: Seen, device: Profile) -> bool:
    width = inputs.ne[0]
    fits = width in (64, 128, 256, 512) or (
        width in (1024, 2048, 4096, 8192) and 4 * width <= device.named["threadgroup_memory"]
    )
    alike = inputs.is_contiguous() and op.is_contiguous() and inputs.same_shape(op)
    return op.param(1) == _HADAMARD and op.type == "f32" and alike and fits


def _product(op: Seen, device: Profile, vector_f16: bool, missing: Sequence[str]) -> str:
    weights, inputs = op.need(0), op.need(1)
    if reason := able(op, device, "simdgroup_reduction") or not_typed(op, 0, "nvfp4", "tq1_0"):
        return reason
    if inputs.type != "f16" or (vector_f16 and weights.type == "f16"):
        return ""
    pair = f"{op.op}: source 0 is {weights.type} and source 1 f16"
    if weights.type == "bf16":
        return f"{pair}, for which there is no kernel"
    wanted = [*missing] if device.named["simdgroup_mm"] else [*missing, f"{device.units['simdgroup_mm']}"]
    return f"{pair}, which only the matrix kernel takes; it needs {' and '.join(wanted)}" if wanted else ""


def flash_attn_ext(op: Seen, device: Profile) -> str:
    """Head sizes in the kernel table, K and V of one type with a kernel; simdgroup matrices.

    FLASH_ATTN_EXT.
    """
    queries, keys, values = op.need(0), op.need(1), op.need(2)
    if queries.ne[0] not in HEAD_SIZES:
        return f"{op.op}: head size {queries.ne[0]} is not in the kernel table ({either(HEAD_SIZES)})"
    heads = f"{op.op}: K head size {keys.ne[0]} with V head size {values.ne[0]}"
    if keys.ne[0] == 72 and values.ne[0] != 72:
        return f"{heads} is not in the kernel table: 72 goes only with 72"
    if keys.ne[0] < values.ne[0]:
        return f"{heads} is not in the kernel table: V may not be larger"
    if keys.type != values.type:
        return f"{op.op}: K is {keys.type} and V {values.type}; they must be of one type"
    return typed(op, 1, *_KEYS) or able(op, device, "simdgroup_mm")


def lightning_indexer(op: Seen, device: Profile) -> str:
    """64 heads of 128, K of a type with a kernel, rows contiguous; simdgroup matrices.

    LIGHTNING_INDEXER.
    """
    return (
        sized(op, "the head size", op.need(0).ne[0], 128)
        or sized(op, "the number of heads", op.need(0).ne[1], 64)
        or able(op, device, "simdgroup_mm")
        or all_f32(op, 0, 2, RESULT)
        or typed(op, 3, "f16")
        or packed_rows(op, 0, 1, 2, 3)
        or typed(op, 1, *_KEYS)
    )


def _pad(size: int, to: int) -> int:
    return -(-size // to) * to


def experts_scratch(op: Seen, device: Profile) -> int:
    """Bytes behind a MUL_MAT_ID: tokens per expert, their ids, scale factors (ggml_metal_op_mul_mat_id_extra_*)."""
    experts, tokens = op.need(0).ne[2], op.need(2).ne[1]
    return 4 * experts + 4 * experts * tokens + 8 + 4 * 256


def attention_scratch(op: Seen, device: Profile) -> int:
    """Bytes behind a FLASH_ATTN_EXT, reserved whichever kernel runs (ggml_metal_op_flash_attn_ext_extra_*)."""
    queries, keys, values, mask = op.need(0), op.need(1), op.need(2), op.source(3)
    one_storage = values.is_view and values.owner == keys.owner
    shared = one_storage and (not keys.is_view or keys.offset == values.offset)
    key_row, value_row = keys.nb[1], values.nb[1]
    if queries.ne[1] >= 32 and keys.type in _CACHE:  # unpacked to f16 first
        key_row = 2 * keys.ne[0]
        value_row = 2 * (keys.ne[0] if shared else values.ne[0])
    size = 64 * (key_row * keys.ne[2] * keys.ne[3] + value_row * values.ne[2] * values.ne[3])
    if mask is not None:
        planes = mask.ne[2] * mask.ne[3]
        size += 64 * 2 * mask.ne[1] * planes
        per_group, per_chunk = (1, 32) if queries.ne[1] < 20 and queries.ne[0] % 32 == 0 else (8, 64)
        size += _pad(-(-queries.ne[1] // per_group) * -(-mask.ne[0] // per_chunk) * planes, 32)
        size += _sparse_lists(op, keys, values, mask)
    size += 4 * min(queries.ne[1], 32) * queries.ne[2] * queries.ne[3] * 32 * (values.ne[0] + 2)
    return size + _pad(2 * keys.n_elements, 16) + (0 if shared else _pad(2 * values.n_elements, 16))


def _sparse_lists(op: Seen, keys: Seen, values: Seen, mask: Seen) -> int:
    most = op.param(4)  # how many cells a row of the mask leaves, 0 when nobody said
    if not 0 < most <= 4096 or (keys.ne[0], values.ne[0]) not in _SPARSE or keys.type not in _KEYS:
        return 0
    return _pad(4 * _pad(most, 32) * mask.ne[1] * mask.ne[2] * mask.ne[3], 16)


def twice(op: Seen, device: Profile) -> int:
    """Bytes behind a CUMSUM or an ARGSORT: as many again."""
    return op.nbytes


def top_k_scratch(op: Seen, device: Profile) -> int:
    """Bytes behind a TOP_K, which takes two numbers for every element it chooses from."""
    return 2 * 4 * op.need(0).n_elements - op.nbytes


SCRATCH: dict[Op, Extra] = {
    Op.MUL_MAT_ID: experts_scratch,
    Op.FLASH_ATTN_EXT: attention_scratch,
    Op.CUMSUM: twice,
    Op.ARGSORT: twice,
    Op.TOP_K: top_k_scratch,
}
"""ggml_backend_metal_buffer_type_get_alloc_size."""
