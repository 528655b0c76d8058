"""Rotary positions against ggml's loops: one angle after the other, every product rounded to float."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core import ops
from galloscope.core.op import Op
from galloscope.core.ops import Lazy
from galloscope.tests.core.backends.kernels.plain import Array, computed, data, leaf, node, off, whole, wrong

NORMAL, NEOX, MROPE, VISION, IMROPE = 0, 2, 8, 24, 40
F = np.float32


class Setting(NamedTuple):
    n_dims: int
    mode: int
    base: float = 10000.0
    scale: float = 1.0
    ext: float = 0.0
    attn: float = 1.0
    sections: tuple[int, int, int, int] = (0, 0, 0, 0)
    offset: int = 0

    def params(self) -> tuple[int | float, ...]:
        floats = (self.base, self.scale, self.ext, self.attn, 32.0, 1.0)
        return (0, self.n_dims, self.mode, 0, 4096, *floats, *self.sections, self.offset)


def yarn(theta: np.float32, pair: int, s: Setting) -> tuple[float, float]:
    """rope_yarn for one pair: the angle and the factor of cosine and sine."""
    if s.ext == 0.0:
        return float(F(s.scale) * theta), s.attn

    def corrected(rotations: float) -> float:
        return s.n_dims * math.log(4096 / (rotations * 2 * math.pi)) / (2 * math.log(s.base))

    low = max(0, math.floor(corrected(32.0)))
    high = min(s.n_dims - 1, math.ceil(corrected(1.0)))
    ramp = 1 - min(1, max(0, (pair - low) / max(0.001, high - low)))
    mix = ramp * s.ext
    turned = float(F(s.scale) * theta) * (1 - mix) + float(theta) * mix
    return turned, s.attn * (1.0 + 0.1 * math.log(1.0 / s.scale))


def angles(position: Array, factors: Array | None, pairs: int, s: Setting) -> list[tuple[float, float]]:
    """ggml_rope_cache_init and ggml_mrope_cache_init, for the pairs that are used."""
    step = F(math.pow(s.base, float(F(-2.0 / s.n_dims))))
    thetas = [F(p) for p in position]
    s0, s1, s2, s3 = s.sections
    result = []
    for pair in range(pairs):
        which = 0
        if s.mode & MROPE:
            sector = pair % (s0 + s1 + s2 + s3)
            if s.mode == VISION:
                for i, start in enumerate((0, s0, s0 + s1, s0 + s1 + s2)):
                    if sector == start:
                        thetas[i] = F(position[i])
                        break
            if s.mode == IMROPE:
                rest = sector % 3
                which = rest if sector < 3 * s.sections[rest] else 3
            elif sector >= s0 + s1 + s2:
                which = 3
            elif sector >= s0 + s1:
                which = 2
            elif sector >= s0:
                which = 1
        divided = thetas[which] / factors[pair] if factors is not None else thetas[which]
        result.append(yarn(divided, pair, s))
        thetas = [theta * step for theta in thetas]
    return result


def reference(x: Array, positions: Array, factors: Array | None, s: Setting, sign: float = 1.0) -> Array:
    result = x.astype(np.float64)
    tokens = x.shape[1]
    pairs = s.n_dims if s.mode == VISION else s.n_dims // 2
    for i3 in range(x.shape[0]):
        for i2 in range(tokens):
            position = positions.reshape(-1, tokens)[:, i2]
            for pair, (theta, magnitude) in enumerate(angles(position, factors, pairs, s)):
                first, second = (2 * pair, 2 * pair + 1) if s.mode == NORMAL else (pair, pair + pairs)
                cos, sin = math.cos(theta) * magnitude, math.sin(theta) * magnitude * sign
                for i1 in range(x.shape[2]):
                    a, b = x[i3, i2, i1, s.offset + first], x[i3, i2, i1, s.offset + second]
                    result[i3, i2, i1, s.offset + first] = a * cos - b * sin
                    result[i3, i2, i1, s.offset + second] = a * sin + b * cos
    return result


def check(
    ne0: int, s: Setting, *, factors: bool = False, op: Op = Op.ROPE, seed: int = 0, furthest: int = 3000
) -> None:
    per_token = 4 if s.mode & MROPE else 1
    a, positions = leaf(ne0, 2, 3, 2), leaf(3 * per_token, dtype="i32")
    given = leaf(ne0) if factors else None
    x, p = data(a, seed), whole(positions, 0, furthest, seed)
    f = np.abs(data(given, seed + 1)) + np.float32(0.5) if given is not None else None
    result = computed(node(op, a.ne, a, positions, given, params=s.params()), x, p, f)
    flat = None if f is None else f.reshape(-1)
    assert off(result, reference(x, p, flat, s, -1.0 if op is Op.ROPE_BACK else 1.0)) < 1e-6


@pytest.mark.parametrize("op", [Op.ROPE, Op.ROPE_BACK])
@pytest.mark.parametrize("mode", [NORMAL, NEOX])
@pytest.mark.parametrize(("n_dims", "offset"), [(16, 0), (8, 0), (8, 4), (2, 14)])
def test_pairs_of_a_row_are_rotated(op: Op, mode: int, n_dims: int, offset: int) -> None:
    check(16, Setting(n_dims, mode, offset=offset), op=op)
    check(16, Setting(n_dims, mode, offset=offset, base=5e5, scale=0.25, attn=1.2), factors=True, op=op)


@pytest.mark.parametrize("ext", [1.0, 0.5])
@pytest.mark.parametrize("mode", [NORMAL, NEOX, IMROPE])
def test_yarn(mode: int, ext: float) -> None:
    sections = (8, 8, 8, 0) if mode & MROPE else (0, 0, 0, 0)
    check(64, Setting(64, mode, scale=0.25, ext=ext, sections=sections), factors=mode == NEOX, furthest=60)


SECTIONS = st.tuples(*[st.integers(0, 3)] * 4).filter(lambda s: any(s[:3]) and sum(s) <= 12)


@given(st.sampled_from((MROPE, IMROPE, VISION)), SECTIONS, st.booleans(), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_four_positions_per_token(mode: int, sections: tuple[int, int, int, int], factors: bool, seed: int) -> None:
    n_dims = 8 if mode == VISION else 16
    check(16, Setting(n_dims, mode, sections=sections), factors=factors, seed=seed)


def test_the_constructor_lays_out_what_the_kernel_reads() -> None:
    a, positions = leaf(16, 2, 3), leaf(3, dtype="i32")
    lazy = ops.rope_ext(a, positions, None, 8, NEOX, 4096, 1e6, 0.5, 0.0, 1.5, 32.0, 1.0)
    x, p = data(a), whole(positions, 0, 99)
    wanted = reference(x, p, None, Setting(8, NEOX, base=1e6, scale=0.5, attn=1.5))
    assert off(computed(lazy, x, p, None), wanted) < 1e-6


def test_back_and_forth() -> None:
    a, positions = leaf(16, 2, 3), leaf(3, dtype="i32")
    x, p = data(a), whole(positions, 0, 99)
    params = Setting(16, NORMAL).params()
    turned = computed(node(Op.ROPE, a.ne, a, positions, params=params), x, p)
    assert off(computed(node(Op.ROPE_BACK, a.ne, a, positions, params=params), turned, p), x) < 1e-6


def test_nothing_to_rotate() -> None:
    a, positions = leaf(16, 2, 3), leaf(3, dtype="i32")
    x = data(a)
    lazy = node(Op.ROPE, a.ne, a, positions, params=Setting(0, NORMAL).params())
    assert np.array_equal(computed(lazy, x, whole(positions, 0, 9)), x)


def rope(s: Setting, positions: int = 3, factors: Lazy | None = None, dtype: str = "i32") -> Lazy:
    a = leaf(16, 2, 3)
    return node(Op.ROPE, a.ne, a, leaf(positions, dtype=dtype), factors, params=s.params())


@pytest.mark.parametrize(
    ("lazy", "reason"),
    [
        (rope(Setting(16, 4)), "there is no mode 4"),
        (rope(Setting(18, NORMAL)), "18 elements from 0 on cannot be rotated in rows of 16"),
        (rope(Setting(7, NORMAL)), "7 elements from 0 on cannot be rotated"),
        (rope(Setting(16, NORMAL, offset=2)), "16 elements from 2 on cannot be rotated"),
        (rope(Setting(16, NORMAL), 4), "[4] are not 1 position(s) for each of 3 tokens"),
        (rope(Setting(16, MROPE, sections=(1, 1, 1, 1))), "[3] are not 4 position(s) for each of 3 tokens"),
        (rope(Setting(16, MROPE), 12), "sections [0, 0, 0, 0] do not divide rows of 16"),
        (rope(Setting(16, MROPE, sections=(2, -1, 1, 1)), 12), "sections [2, -1, 1, 1] do not divide"),
        (rope(Setting(16, MROPE, sections=(9, 9, 1, 1)), 12), "sections [9, 9, 1, 1] do not divide"),
        (rope(Setting(16, VISION, sections=(1, 1, 1, 1)), 12), "vision rotates rows of twice n_dims"),
        (rope(Setting(16, NORMAL), factors=leaf(7)), "the factors are f32 [7], not one float for 8 pairs"),
        (rope(Setting(16, NORMAL), dtype="i64"), "source 1 is of type i64, not i32"),
    ],
)
def test_what_does_not_fit_is_refused(lazy: Lazy, reason: str) -> None:
    assert reason in wrong(lazy)
