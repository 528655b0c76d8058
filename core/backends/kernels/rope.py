"""Rotary positions (ggml_compute_forward_rope_flt of ggml-cpu): normal, neox, mrope, imrope, vision, with YaRN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...ops.layout import shape_text
from ...ops.numbers import as_float, logarithm, quotient
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from .arguments import absent, elementwise, is_float, optional, other_type, present
from .scalars import larger, power, smaller, whole

NORMAL, NEOX, MROPE, VISION, IMROPE = 0, 2, 8, 24, 40
"""GGML_ROPE_TYPE_*; the bit of MROPE is set in VISION and IMROPE too."""


class Params(NamedTuple):
    """The op_params of ggml_rope_impl.

    Attributes:
        n_dims: how many elements of a row are rotated.
        mode: one of GGML_ROPE_TYPE_*.
        n_ctx_orig: the context of the training, for YaRN.
        floats: freq_base, freq_scale, ext_factor, attn_factor, beta_fast, beta_slow.
        sections: pairs for time, height, width and the fourth position of mrope.
        offset: elements of a row before the first that is rotated.
    """

    n_dims: int
    mode: int
    n_ctx_orig: int
    floats: tuple[float, float, float, float, float, float]
    sections: tuple[int, int, int, int]
    offset: int

    @property
    def pairs(self) -> int:
        """How many pairs of elements are rotated; vision rotates the whole row of twice n_dims."""
        return self.n_dims if self.mode == VISION else self.n_dims // 2


def params_of(call: Call) -> Params:
    """As ggml_compute_forward_rope_flt reads them."""
    base, scale, ext, attn, fast, slow = (call.f32(word) for word in range(5, 11))
    s0, s1, s2, s3 = (call.i32(word) for word in range(11, 15))
    return Params(
        call.i32(1), call.i32(2), call.i32(4), (base, scale, ext, attn, fast, slow), (s0, s1, s2, s3), call.i32(15)
    )


def _check(call: Call) -> str:
    found = elementwise(call) or absent(call, 1) or other_type(call, 1, "i32")
    if found:
        return found
    x, positions, factors, params = call.source(0), call.source(1), optional(call, 2), params_of(call)
    n_dims, mode, offset = params.n_dims, params.mode, params.offset
    if mode not in (NORMAL, NEOX, MROPE, VISION, IMROPE):
        return f"there is no mode {mode}"
    if n_dims < 0 or n_dims % 2 or offset < 0 or offset % 2 or offset + n_dims > x.ne[0]:
        return f"{n_dims} elements from {offset} on cannot be rotated in rows of {x.ne[0]}"
    per_token = 4 if mode & MROPE else 1
    if positions.ne != (x.ne[2] * per_token, 1, 1, 1):
        return f"{shape_text(positions.ne)} are not {per_token} position(s) for each of {x.ne[2]} tokens"
    if mode & MROPE:
        wrong = min(params.sections) < 0 or not any(params.sections[:3]) or sum(params.sections) > x.ne[0]
        if wrong:
            return f"sections {list(params.sections)} do not divide rows of {x.ne[0]}"
    if mode == VISION and (n_dims * 2 != x.ne[0] or offset):
        return f"vision rotates rows of twice n_dims from the start on, not {n_dims} of {x.ne[0]} from {offset} on"
    if factors is not None and (not is_float(factors.dtype) or factors.ne[0] < params.pairs or 0 in factors.ne):
        return f"the factors are {factors.dtype.name} {shape_text(factors.ne)}, not one float for {params.pairs} pairs"
    return ""


@lru_cache(maxsize=64)
def _sectors(params: Params) -> tuple[int, ...]:
    """For each pair, where its angle stands in a table of [4 positions][pairs] (ggml_mrope_cache_init).

    Vision starts each position anew at the first pair of its section, the others multiply all four from pair 0 on.
    """
    s0, s1, s2, s3 = params.sections
    starts = (0, s0, s0 + s1, s0 + s1 + s2)
    passed = [0, 0, 0, 0]
    places = []
    for pair in range(params.pairs):
        sector = pair % (s0 + s1 + s2 + s3)
        if params.mode == VISION and sector in starts:
            passed[starts.index(sector)] = 0
        if params.mode == IMROPE:
            axis = sector % 3 if sector < 3 * (s0, s1, s2)[sector % 3] else 3
        else:
            axis = max(i for i in range(4) if i == 0 or sector >= starts[i])
        places.append(axis * params.pairs + passed[axis])
        passed = [n + 1 for n in passed]
    return tuple(places)


@lru_cache(maxsize=64)
def _yarn(params: Params) -> tuple[tuple[float, ...], float]:
    """How much each pair keeps of its own frequency, and the factor of cosine and sine (rope_yarn)."""
    base, scale, ext, attn, fast, slow = params.floats
    if ext == 0.0:
        return (), attn
    low = larger(0.0, whole(_corrected(params.n_dims, params.n_ctx_orig, fast, base), up=False))
    high = smaller(params.n_dims - 1.0, whole(_corrected(params.n_dims, params.n_ctx_orig, slow, base), up=True))
    width = larger(as_float(0.001), as_float(high - low))
    mixes = []
    for pair in range(params.pairs):
        y = quotient(as_float(pair - low), width)
        mixes.append(as_float(as_float(1.0 - smaller(1.0, larger(0.0, y))) * ext))
    grown = as_float(1.0 + as_float(as_float(0.1) * logarithm(quotient(1.0, scale))))
    return tuple(mixes), as_float(attn * grown)


def _corrected(n_dims: int, n_ctx_orig: int, rotations: float, base: float) -> float:
    """ggml_rope_yarn_corr_dim."""
    turns = as_float(as_float(rotations * 2.0) * as_float(math.pi))
    length = logarithm(quotient(as_float(n_ctx_orig), turns))
    return quotient(as_float(n_dims * length), as_float(2.0 * logarithm(base)))


def thetas(maths: Maths, params: Params, positions: Array, factors: Array | None) -> tuple[Array, float]:
    """The angle of each token and pair, (1, tokens, 1, pairs), and YaRN's factor of cosine and sine."""
    xp = maths.xp
    pairs, per_token = params.pairs, 4 if params.mode & MROPE else 1
    tokens = positions.shape[3] // per_token
    base, scale = params.floats[:2]
    # theta is multiplied up pair by pair in float, as ggml does: a power would differ.
    start = xp.reshape(xp.astype(positions, xp.float32), (per_token * tokens, 1))
    step = xp.full((per_token * tokens, pairs - 1), power(base, as_float(-2.0 / params.n_dims)), dtype=xp.float32)
    theta = xp.cumulative_prod(xp.concat([start, step], axis=1), axis=1)
    if per_token == 4:
        table = xp.reshape(xp.permute_dims(xp.reshape(theta, (4, tokens, pairs)), (1, 0, 2)), (tokens, 4 * pairs))
        theta = xp.take(table, xp.asarray(_sectors(params), dtype=xp.int64), axis=1)
    if factors is not None:
        theta = theta / factors[0, 0, 0, :pairs]
    mixes, magnitude = _yarn(params)
    turned = theta * scale
    if mixes:
        mix = xp.asarray(mixes, dtype=xp.float32)
        # ggml's compilers add without rounding one product first; in double the product of two floats is exact.
        own = xp.astype(turned, xp.float64) * xp.astype(1.0 - mix, xp.float64)
        turned = xp.astype(own + xp.astype(theta * mix, xp.float64), xp.float32)
    return xp.reshape(turned, (1, tokens, 1, pairs)), magnitude


def _angles(maths: Maths, params: Params, positions: Array, factors: Array | None) -> tuple[Array, Array]:
    """Cosine and sine for each token and pair, with YaRN's factor."""
    xp = maths.xp
    theta, magnitude = thetas(maths, params, positions, factors)
    wide = xp.astype(theta, xp.float64)
    return xp.astype(xp.cos(wide), xp.float32) * magnitude, xp.astype(xp.sin(wide), xp.float32) * magnitude


def _rope(maths: Maths, call: Call, sources: Sequence[Array], forward: bool) -> Array:
    xp = maths.xp
    x, params = sources[0], params_of(call)
    if not params.pairs:
        return x
    cos, sin = _angles(maths, params, sources[1], present(sources, 2))
    if not forward:
        sin = -sin
    first, n = params.offset, 2 * params.pairs
    part = x[:, :, :, first : first + n]
    if params.mode == NORMAL:
        twos = xp.reshape(part, (*x.shape[:3], params.pairs, 2))
        a, b = twos[..., 0], twos[..., 1]
        turned = xp.reshape(xp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1), part.shape)
    else:
        a, b = part[:, :, :, : params.pairs], part[:, :, :, params.pairs :]
        turned = xp.concat([a * cos - b * sin, a * sin + b * cos], axis=3)
    if n == x.shape[3]:
        return turned
    return xp.concat([x[:, :, :, :first], turned, x[:, :, :, first + n :]], axis=3)


def _forward(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _rope(maths, call, sources, forward=True)


def _backward(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    return _rope(maths, call, sources, forward=False)


ROPE = Kernel(_forward, _check)
"""ggml_compute_forward_rope: source 1 has the positions, source 2 what each frequency is divided by."""

ROPE_BACK = Kernel(_backward, _check)
"""ggml_compute_forward_rope_back: turned the other way."""
