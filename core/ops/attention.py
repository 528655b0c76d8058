"""Positions, softmax and flash attention (ggml.c)."""

from __future__ import annotations

from ..dtypes import DTYPES
from ..op import Op
from .layout import is_contiguous
from .lazy import Lazy, check, dup_tensor, new_tensor
from .matmul import can_mul_mat
from .numbers import float_word

_F32, _F16 = DTYPES["f32"], DTYPES["f16"]

ROPE_NORMAL = 0
ROPE_NEOX = 2
ROPE_MROPE = 8
"""GGML_ROPE_TYPE_NORMAL, _NEOX and the bit of _MROPE."""


def rope_ext(
    a: Lazy,
    positions: Lazy,
    factors: Lazy | None,
    n_dims: int,
    mode: int,
    n_ctx_orig: int,
    freq_base: float,
    freq_scale: float,
    ext_factor: float,
    attn_factor: float,
    beta_fast: float,
    beta_slow: float,
    inplace: bool = False,
) -> Lazy:
    """ggml_rope_ext, _inplace: rotates the first n_dims of each row by its position (i32)."""
    check(mode & 1 == 0, "ROPE", f"mode {mode} is no longer known")
    check(positions.ne[1:] == (1, 1, 1) and positions.dtype.name == "i32", "ROPE", "positions are i32", positions)
    per_token = 4 if mode & ROPE_MROPE else 1
    check(a.ne[2] * per_token == positions.ne[0], "ROPE", f"each token has {per_token} position(s)", a, positions)
    if factors is not None:
        fits = factors.dtype is _F32 and factors.ne[0] >= n_dims // 2
        check(fits, "ROPE", f"the factors are f32, one for each of {n_dims // 2} frequencies", factors)
    floats = (freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow)
    params = (0, n_dims, mode, 0, n_ctx_orig, *map(float_word, floats))
    return dup_tensor(a, inplace).become(Op.ROPE, a, positions, factors, params=params)


def soft_max(a: Lazy) -> Lazy:
    """ggml_soft_max."""
    return soft_max_ext(a, None, 1.0, 0.0)


def soft_max_ext(a: Lazy, mask: Lazy | None, scale: float, max_bias: float) -> Lazy:
    """ggml_soft_max_ext: softmax of a * scale + mask * slope."""
    check(is_contiguous(a), "SOFT_MAX", "the tensor must be contiguous", a)
    if mask is not None:
        check(mask.dtype in (_F16, _F32) and is_contiguous(mask), "SOFT_MAX", "the mask is contiguous f16 or f32", mask)
        check(mask.ne[0] == a.ne[0] and mask.ne[1] >= a.ne[1], "SOFT_MAX", "the mask must cover all rows", a, mask)
        check(_repeats_over(mask, a), "SOFT_MAX", "the mask must repeat over the heads and streams", a, mask)
    check(max_bias <= 0.0 or mask is not None, "SOFT_MAX", "a bias needs a mask", a)
    return dup_tensor(a).become(Op.SOFT_MAX, a, mask, params=(float_word(scale), float_word(max_bias)))


def _repeats_over(mask: Lazy, a: Lazy) -> bool:
    return 0 not in mask.ne[2:] and a.ne[2] % mask.ne[2] == 0 and a.ne[3] % mask.ne[3] == 0


def soft_max_add_sinks(a: Lazy, sinks: Lazy) -> None:
    """ggml_soft_max_add_sinks: one value per head, as third source."""
    check(a.op is Op.SOFT_MAX and len(a.src) == 2, "SOFT_MAX", "only a softmax without sinks takes them", a)
    _check_sinks(a, sinks)
    a.src = (*a.src, sinks)


def flash_attn_ext(
    q: Lazy, k: Lazy, v: Lazy, mask: Lazy | None, scale: float, max_bias: float, logit_softcap: float
) -> Lazy:
    """ggml_flash_attn_ext: q [head size, tokens, heads, streams]; the result has heads and tokens swapped."""
    op = "FLASH_ATTN_EXT"
    check(can_mul_mat(k, q), op, "K and Q rows must have equal length and K repeat over the heads", k, q)
    check(q.ne[3] == k.ne[3] == v.ne[3], op, "Q, K and V must have the same number of streams", q, k, v)
    if mask is not None:
        check(mask.dtype is _F16 and is_contiguous(mask), op, "the mask is contiguous f16", mask)
        check(_repeats_over(mask, q), op, "the mask must repeat over the heads and streams", q, mask)
    check(max_bias <= 0.0 or mask is not None, op, "a bias needs a mask", q)
    result = new_tensor(_F32, v.ne[0], q.ne[2], q.ne[1], q.ne[3])
    params = tuple(map(float_word, (scale, max_bias, logit_softcap)))
    return result.become(Op.FLASH_ATTN_EXT, q, k, v, mask, params=params)


def flash_attn_ext_add_sinks(a: Lazy, sinks: Lazy) -> None:
    """ggml_flash_attn_ext_add_sinks: one value per head, as fifth source."""
    free = a.op is Op.FLASH_ATTN_EXT and len(a.src) == 4
    check(free, "FLASH_ATTN_EXT", "only flash attention without sinks takes them", a)
    _check_sinks(a, sinks)
    a.src = (*a.src, sinks)


def flash_attn_ext_set_n_kv_max(a: Lazy, n_kv_max: int) -> None:
    """ggml_flash_attn_ext_set_n_kv_max."""
    check(a.op is Op.FLASH_ATTN_EXT and n_kv_max >= 0, "FLASH_ATTN_EXT", f"n_kv_max {n_kv_max} is not possible", a)
    a.set_param(4, n_kv_max)


def _check_sinks(a: Lazy, sinks: Lazy) -> None:
    heads = a.src[0].ne[2] if a.src[0] is not None else 0
    check(heads == sinks.ne[0] and sinks.dtype is _F32, a.op, f"sinks are f32, one for each of {heads} heads", sinks)
