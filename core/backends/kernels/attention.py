"""FLASH_ATTN_EXT (ggml-cpu/ops.cpp): attention without a matrix of all scores, rounded on the way as ggml-cpu does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...ops.layout import shape_text
from ..kernel import Call, Kernel
from ..maths import Array, Maths
from ..quants import VEC_DOT
from ..rounding import block_minima, lost_sums, rounded
from .arguments import broadcast, not_float, optional, other_type, result_differs
from .wanted import first, repeats, wrong_source

TILE = 64
"""ggml_fa_tile_config::Q: with so many queries ggml takes the tiled path, which rounds nothing."""

SCORES = 1 << 22
"""Scores that are held at a time (16 MiB); more queries are taken in parts."""


class Params(NamedTuple):
    """op_params of FLASH_ATTN_EXT."""

    scale: float
    max_bias: float
    softcap: float


class Factor(NamedTuple):
    """Queries as the dot product sees them.

    Attributes:
        rows: rounded to the vec_dot type of the keys.
        lost: what float16 loses of the sums of their blocks, None where no sums are kept (`rounding.lost_sums`).
    """

    rows: Array
    lost: Array | None


class Part(NamedTuple):
    """Some of the queries and the cells that one of them sees.

    Attributes:
        scores: (streams, heads, queries, cells), -inf where a query does not see a cell.
        values: (streams, value heads, cells, width), zeros where nobody looks.
    """

    scores: Array
    values: Array


def alibi_slopes(n_head: int, max_bias: float) -> list[float]:
    """The factor of the mask for each head (ALiBi)."""
    if max_bias <= 0.0:
        return [1.0] * n_head
    power = 1 << (n_head.bit_length() - 1)
    m0, m1 = 2.0 ** (-max_bias / power), 2.0 ** (-max_bias / 2.0 / power)
    return [m0 ** (h + 1) if h < power else m1 ** (2 * (h - power) + 1) for h in range(n_head)]


def _flash_attn_ext(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    xp = maths.xp
    query, key, value = sources[:3]
    streams, heads, n, _ = query.shape
    tiled = is_tiled(call, n)
    lost = None
    if not (maths.exact or tiled or call.source(0).dtype.name != "f32"):
        vec_dot = VEC_DOT[call.source(1).dtype.name]
        lost = lost_sums(maths, query) if vec_dot == "q8_1" else None
        query = rounded(maths, query, vec_dot)
    in_half = not (maths.exact or tiled) and call.source(2).dtype.name == "f16"
    mask = _bias(maths, call, sources[3]) if optional(call, 3) else None
    sinks = xp.reshape(sources[4], (1, heads, 1, 1)) if optional(call, 4) else None
    params = Params(call.f32(0), call.f32(1), call.f32(2))
    most = max(1, SCORES // max(1, streams * heads * key.shape[2]))
    result = xp.empty((streams, n, heads, value.shape[3]), dtype=xp.float32)
    for start in range(0, n, most):
        stop = min(start + most, n)
        seen = None if mask is None else mask[:, :, start:stop, : key.shape[2]]
        off = None if lost is None else lost[:, :, start:stop, :]
        part = _part(maths, params, Factor(query[:, :, start:stop, :], off), key, value, seen)
        mixed = _mixed(maths, part, sinks, in_half)
        result[:, start:stop, :, :] = xp.permute_dims(mixed, (0, 2, 1, 3))
    return result


def is_tiled(call: Call, n: int) -> bool:
    """use_tiled of ggml_compute_forward_flash_attn_ext_f16."""
    names = [call.source(slot).dtype.name for slot in range(3)]
    return n >= TILE and names[0] == "f32" and names[1] == names[2] and names[1] in ("f32", "f16")


def _bias(maths: Maths, call: Call, mask: Array) -> Array:
    """The mask times the slope of each head: (1 or streams, 1 or heads, queries, cells)."""
    xp = maths.xp
    _, _, heads, streams = call.source(0).ne
    mask = broadcast(maths, mask, (streams, heads, *mask.shape[2:]))
    if call.f32(1) <= 0.0:
        return mask
    slopes = xp.asarray(alibi_slopes(heads, call.f32(1)), dtype=xp.float32)
    return mask * xp.reshape(slopes, (1, heads, 1, 1))


def _part(maths: Maths, params: Params, query: Factor, key: Array, value: Array, mask: Array | None) -> Part:
    """The scores of some queries. Cells that none of them sees are left out: their bytes may be anything."""
    xp = maths.xp
    unseen = xp.asarray(-math.inf, dtype=xp.float32)
    if mask is not None:
        alive = mask != unseen
        cells = _where(maths, xp.any(alive, axis=(0, 1, 2)))
        if cells.shape[0] < key.shape[2]:
            mask, alive = xp.take(mask, cells, axis=3), xp.take(alive, cells, axis=3)
            key, value = xp.take(key, cells, axis=2), xp.take(value, cells, axis=2)
        if alive.shape[0] > 1:
            some = xp.matrix_transpose(xp.any(alive, axis=(1, 2), keepdims=True)[:, :, 0, :][:, :, None, :])
            value = xp.where(some, value, xp.zeros_like(value))
    scores = _grouped(maths, query.rows, xp.matrix_transpose(key))
    if query.lost is not None:
        scores = scores + _grouped(maths, query.lost, xp.matrix_transpose(block_minima(maths, key)))
    if params.softcap == 0.0:
        scores = scores * params.scale
    else:
        scores = xp.tanh(scores * (params.scale / params.softcap)) * params.softcap
    if mask is not None:
        scores = xp.where(alive, scores + mask, unseen)
    return Part(scores, value)


def _where(maths: Maths, flags: Array) -> Array:
    """Where a row of flags is set: nonzero without a shape that only the data know."""
    xp = maths.xp
    order = xp.argsort(xp.where(flags, xp.asarray(0, dtype=xp.int8), xp.asarray(1, dtype=xp.int8)), stable=True)
    return order[: int(xp.sum(xp.astype(flags, xp.int64)))]


def _grouped(maths: Maths, rows: Array, matrices: Array) -> Array:
    """Rows (n3, n2, n, k) times matrices (n3, m2, k, m), each for n2 / m2 heads one after the other."""
    xp = maths.xp
    n3, n2, n, k = rows.shape
    m2, m = matrices.shape[1], matrices.shape[3]
    product = xp.matmul(xp.reshape(rows, (n3, m2, n2 // m2 * n, k)), matrices)
    return xp.reshape(product, (n3, n2, n, m))


def _mixed(maths: Maths, part: Part, sinks: Array | None, in_half: bool) -> Array:
    """Softmax of the scores times the values: (streams, heads, queries, width)."""
    xp = maths.xp
    scores, values = part
    streams, heads, n, cells = scores.shape
    if cells == 0:
        return xp.zeros((streams, heads, n, values.shape[3]), dtype=xp.float32)
    most = xp.max(scores, axis=3, keepdims=True)
    most = xp.where(most == -math.inf, xp.zeros_like(most), most)
    weights = xp.exp(scores - most)
    total = xp.sum(weights, axis=3, keepdims=True)
    mixed = _in_half(maths, part) if in_half else _grouped(maths, weights, values)
    if sinks is not None:
        top = xp.maximum(most, sinks)
        fade = xp.exp(most - top)
        total = total * fade + xp.exp(sinks - top)
        mixed = mixed * fade
    return mixed * xp.where(total == 0.0, total, 1.0 / xp.where(total == 0.0, xp.ones_like(total), total))


def _in_half(maths: Maths, part: Part) -> Array:
    """The sums as ggml_compute_forward_flash_attn_ext_f16_one_chunk keeps them: cell by cell, in float16.

    A new maximum scales what has been summed; both steps round to float16.
    """
    xp = maths.xp
    scores, values = part
    streams, heads, n, cells = scores.shape
    kv_heads, width = values.shape[1], values.shape[3]
    highest = _running_max(maths, scores)
    before = xp.concat((xp.full((streams, heads, n, 1), -math.inf, dtype=xp.float32), highest[..., :-1]), axis=3)
    none = highest == -math.inf
    safe = xp.where(none, xp.zeros_like(highest), highest)
    added = xp.exp(scores - safe)
    kept = xp.where(none, xp.ones_like(highest), xp.exp(before - safe))
    split = (streams, kv_heads, heads // kv_heads, n, cells)
    first_axis = (4, 0, 1, 2, 3)
    added = xp.permute_dims(xp.reshape(added, split), first_axis)[..., None]
    kept = xp.permute_dims(xp.reshape(kept, split), first_axis)[..., None]
    rows = xp.permute_dims(values, (2, 0, 1, 3))[:, :, :, None, None, :]
    risen = xp.any(xp.permute_dims(scores > before, (3, 0, 1, 2)), axis=(1, 2, 3))
    at = _where(maths, risen)
    risen_at = {int(at[i]) for i in range(at.shape[0])} - {0}
    sums = xp.zeros((*split[:-1], width), dtype=xp.float32)
    for cell in range(cells):
        if cell in risen_at:
            sums = maths.half(sums * kept[cell, ...])
        sums = maths.half(sums + rows[cell, ...] * added[cell, ...])
    return xp.reshape(sums, (streams, heads, n, width))


def _running_max(maths: Maths, scores: Array) -> Array:
    """The largest so far along the last axis, in log2(n) steps."""
    xp = maths.xp
    step = 1
    while step < scores.shape[3]:
        scores = xp.concat((scores[..., :step], xp.maximum(scores[..., step:], scores[..., :-step])), axis=3)
        step *= 2
    return scores


def _check(call: Call) -> str:
    return not_float(call, 0, 1, 2) or first(_wrong(call))


def _wrong(call: Call) -> Iterator[str]:
    q, k, v = (call.source(slot).ne for slot in range(3))
    for slot, name in ((1, call.source(1).dtype.name), (2, call.source(2).dtype.name)):
        if name not in VEC_DOT:
            yield f"source {slot} is of type {name}, which cannot be multiplied"
    if q[0] != k[0]:
        yield f"rows of source 0 ({q[0]}) and source 1 ({k[0]}) differ"
    if not (q[3] == k[3] == v[3] and repeats(k, q) and repeats(v, q)):
        yield f"sources 1 {shape_text(k)} and 2 {shape_text(v)} do not repeat over the heads of {shape_text(q)}"
    if k[1] != v[1]:
        yield f"source 1 has {k[1]} cells and source 2 has {v[1]}"
    mask = optional(call, 3)
    if mask is not None:
        yield other_type(call, 3, "f16", "f32")
        if mask.ne[0] < k[1] or mask.ne[1] < q[1] or not repeats(mask.ne, q):
            yield f"the mask {shape_text(mask.ne)} does not cover {q[1]} queries and {k[1]} cells of {shape_text(q)}"
    elif call.f32(1) > 0.0:
        yield "a bias needs a mask"
    if optional(call, 4) is not None:
        yield wrong_source(call, 4, (q[2], 1, 1, 1))
    yield result_differs(call, (v[0], q[2], q[1], q[3]), "the attention")


FLASH_ATTN_EXT = Kernel(_flash_attn_ext, _check)
