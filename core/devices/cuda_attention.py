"""Flash attention on CUDA: which kernel runs, why none does, and what it needs behind the result (fattn.cu)."""

from __future__ import annotations

from enum import Enum

from .conditions import sized, typed
from .profile import Profile
from .seen import Seen

VOLTA, TURING, ADA = 700, 750, 890
KQ_STRIDE = 256
"""FATTN_KQ_STRIDE: the kernels with grouped queries want that many cells of K at a time."""

HEADS = (40, 64, 72, 80, 96, 112, 128, 256)
"""Head sizes whose K and V are equally wide and that need nothing else."""
WIDE_HEADS = {192: (128, 8), 320: (256, 32), 512: (512, 1), 576: (512, 1)}
"""Head size of K -> head size of V, and the divisor that the ratio of Q heads to KV heads must have."""

KV_TYPES = ("f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0")
DEFAULT_PAIRS = ("f16", "bf16", "q4_0", "q8_0")
"""Types whose vector kernel, K and V alike, a release build compiles (GGML_CUDA_FA_QUANTS)."""


class Kernel(Enum):
    """enum best_fattn_kernel."""

    NONE = 0
    VEC = 100
    TILE = 200
    MMA_F16 = 400


def flash_attention(op: Seen, device: Profile) -> str:
    """A head size and K and V types in the kernel table; wide heads only with grouped queries; one mask for all heads.

    ggml_cuda_flash_attn_ext_supported, that is ggml_cuda_get_best_fattn_kernel (fattn.cu), ggml 0.25.3.
    With the limit `fa_convert` 0: the kernel table of builds before the conversion to f16 (b10819 and earlier).
    """
    q, k, v, mask = op.need(0), op.need(1), op.need(2), op.source(3)
    if k.ne[2] < 1 or q.ne[2] % k.ne[2]:
        return f"FLASH_ATTN_EXT: {q.ne[2]} heads of Q are not a multiple of the {k.ne[2]} heads of K"
    why = _head_sizes(op, k, v) or _types(op, device, k, v)
    if not why and mask is not None and mask.ne[2] != 1:
        why = f"FLASH_ATTN_EXT: the mask has {mask.ne[2]} head planes, the kernels take one for all heads"
    return why


def _head_sizes(op: Seen, k: Seen, v: Seen) -> str:
    head = k.ne[0]
    if head not in WIDE_HEADS:
        if head not in HEADS:
            table = ", ".join(map(str, sorted((*HEADS, *WIDE_HEADS))))
            return f"FLASH_ATTN_EXT: head size {head} is not in the kernel table ({table})"
        return "" if v.ne[0] == head else f"FLASH_ATTN_EXT: head size {head} of K needs the same of V, not {v.ne[0]}"
    wanted, divisor = WIDE_HEADS[head]
    why = sized(op, f"with head size {head} of K that of V", v.ne[0], wanted)
    if why:
        return why
    why = _why_not_grouped(op)
    if why:
        return f"FLASH_ATTN_EXT: head size {head} has only kernels with grouped queries, and {why}"
    ratio = _ratio(op)
    if ratio % divisor:
        return f"FLASH_ATTN_EXT: head size {head} needs a multiple of {divisor} Q heads per KV head, not {ratio}"
    return ""


def _types(op: Seen, device: Profile, k: Seen, v: Seen) -> str:
    table: tuple[str, ...] = KV_TYPES
    where = "the kernel table"
    strict = not device.named["fa_convert"] and not device.named["fa_all_quants"]
    if strict:
        table, where = (*DEFAULT_PAIRS, "f32"), "the kernel table of a build without GGML_CUDA_FA_ALL_QUANTS"
    for name, one in (("K", k), ("V", v)):
        if one.type not in table:
            return f"FLASH_ATTN_EXT: head size {k.ne[0]} with {name} {one.type} is not in {where}"
    if strict and k.type != v.type and (k.type, v.type) != ("q8_0", "q4_0"):
        return f"FLASH_ATTN_EXT: head size {k.ne[0]} with K {k.type} and V {v.type} is not in {where}"
    return ""


def _ratio(op: Seen) -> int:
    """Q heads per KV head (gqa_ratio)."""
    return op.need(0).ne[2] // op.need(1).ne[2]


def _why_not_grouped(op: Seen) -> str:
    """Why the kernels that treat the queries of a KV head together cannot run; "" when they can (gqa_opt_applies)."""
    k, mask = op.need(1), op.source(3)
    if _ratio(op) < 2:
        return "there is 1 Q head per KV head"
    if mask is None:
        return "there is no mask"
    if op.param_f32(1) != 0:
        return f"ALiBi is on (max_bias {op.param_f32(1):g})"
    if k.ne[1] % KQ_STRIDE:
        return f"{k.ne[1]} cells of K are not a multiple of {KQ_STRIDE}"
    for name, one in (("Q", op.need(0)), ("K", k), ("V", op.need(2)), ("the mask", mask)):
        if not one.dtype.quantized and any(stride % 16 for stride in one.nb[1:]):
            return f"the strides {list(one.nb[1:])} of {name} are not multiples of 16 bytes"
    return ""


def best_kernel(op: Seen, device: Profile) -> Kernel:
    """ggml_cuda_get_best_fattn_kernel for NVIDIA devices."""
    if flash_attention(op, device):
        return Kernel.NONE
    q, k, v = op.need(0), op.need(1), op.need(2)
    head, batch, cc, ratio = q.ne[0], q.ne[1], device.named["cc"], _ratio(op)
    grouped = not _why_not_grouped(op)
    quantized = k.dtype.quantized or v.dtype.quantized
    vector = head <= 256 and head % 64 == 0 and head != 192 and k.ne[1] % KQ_STRIDE == 0
    if head not in (40, 72):
        if cc >= TURING:
            return Kernel.VEC if vector and _vector_on_turing(op, cc, grouped, quantized) else Kernel.MMA_F16
        if cc >= VOLTA:
            columns = batch * _whole_groups(head, ratio)
            if vector and columns <= 2:
                return Kernel.VEC
            return Kernel.TILE if columns <= 16 else Kernel.MMA_F16
    if vector and (batch <= 2 if quantized else batch == 1 and not grouped):
        return Kernel.VEC
    return Kernel.TILE


def _vector_on_turing(op: Seen, cc: int, grouped: bool, quantized: bool) -> bool:
    """The vector kernel is preferred to the tensor cores: one query, or two with quantised K or V.

    ggml also keeps it from sparse masks, which only matter where K is wide and shared enough to be `large` below.
    """
    q, k = op.need(0), op.need(1)
    head, batch, ratio = q.ne[0], q.ne[1], _ratio(op)
    if batch == 1 and not grouped:
        return True
    if quantized:
        return batch <= (2 if cc >= ADA else 1)
    large = ratio > 4 and (head >= 256 or k.ne[1] >= 8192)
    return cc >= ADA and batch == 1 and q.ne[3] == 1 and not large


def _whole_groups(head: int, ratio: int) -> int:
    """Largest power of two that divides the ratio, up to what the kernels of the head size take (gqa_ratio_eff)."""
    most = {320: 32, 576: 16, 192: 16}.get(head, 8)
    groups = 1
    while ratio % (2 * groups) == 0 and groups < most:
        groups *= 2
    return groups


def _compiled(k: str, v: str, head: int, device: Profile) -> bool:
    """A vector kernel for the types was compiled (ggml_cuda_get_fattn_vec_case); f32 goes through that of f16."""
    k, v = ("f16" if one == "f32" else one for one in (k, v))
    if head not in (64, 128, 256):
        return False
    return (
        bool(device.named["fa_all_quants"])
        or (k == v and k in DEFAULT_PAIRS)
        or (not device.named["fa_convert"] and (k, v) == ("q8_0", "q4_0"))
    )


def converted_kv(op: Seen, device: Profile) -> int:
    """Bytes behind the result for K and V as f16, where the kernel cannot read their own type.

    ggml_cuda_flash_attn_ext_get_alloc_size and ggml_cuda_flash_attn_ext_get_f16_extra_data (ggml 0.25.3).
    """
    q, k, v = op.need(0), op.need(1), op.need(2)
    kernel = best_kernel(op, device)
    if kernel is Kernel.NONE:
        return 0
    wants_k = wants_v = True
    if kernel is Kernel.VEC:
        missing = not _compiled(k.type, v.type, q.ne[0], device)
        wants_k, wants_v = missing or k.type == "f32", missing or v.type == "f32"
    end = op.nbytes
    if wants_k and k.type != "f16":
        end = -(-end // 128) * 128 + 2 * k.n_elements
    one_storage = v.is_view and v.owner == k.owner and (v.offset == k.offset or not k.is_view)
    if wants_v and v.type != "f16" and not one_storage:
        end = -(-end // 128) * 128 + 2 * v.n_elements
    return end - op.nbytes


def lightning_indexer(op: Seen, device: Profile) -> str:
    """Heads of 128, 32 or 64 of them; K of a type with a kernel; strides of 16 bytes.

    ggml_cuda_lightning_indexer_supported (lightning-indexer.cu), ggml 0.25.3.
    """
    q, k = op.need(0), op.need(1)
    why = sized(op, "the head size of Q", q.ne[0], 128) or sized(op, "the number of heads of Q", q.ne[1], 32, 64)
    if why:
        return why
    for name, one in (("Q", q), ("K", k)):
        if not one.dtype.quantized and any(stride % 16 for stride in one.nb[1:]):
            return f"LIGHTNING_INDEXER: the strides {list(one.nb[1:])} of {name} are not multiples of 16 bytes"
    return typed(op, 1, *KV_TYPES)
