"""FLASH_ATTN_EXT (ops.cpp): cell by cell with sums in float16, or in tiles of 64 queries and 64 cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernel import Call, Kernel, Read
from ..kernels import attention as usual
from ..kernels.arguments import broadcast, optional
from ..maths import Array, Maths
from ..quants import VEC_DOT
from ..rounding import rounded
from .blocks import UNPACK, unpacked
from .dots import DOTS
from .fused import Floats, fused
from .libm import expf, tanhf
from .quantised import columns_of, product
from .tiled_attention import tiled

Flags = npt.NDArray[np.bool_]
UNSEEN = np.float32(-math.inf)
SPLIT = 512
"""So many cells, and a single query goes through partial results of each thread (use_split_kv_path)."""


class Sums(NamedTuple):
    """What has been summed of some queries, arrays (streams, heads, queries[, width]).

    Attributes:
        most: M, the largest score until now.
        total: S, the sum of the weights.
        mixed: VKQ, the sum of the values times their weights.
    """

    most: Floats
    total: Floats
    mixed: Floats


def _quantised(call: Call) -> bool:
    queries, keys = (optional(call, slot) for slot in range(2))
    return queries is not None and keys is not None and queries.dtype.name == "f32" and keys.dtype.name in UNPACK


def covers(call: Call) -> bool:
    """The keys are of a type whose products are followed."""
    queries, keys = call.source(0).dtype.name, call.source(1).dtype.name
    return queries == "f32" and (keys in DOTS or keys in UNPACK)


def _reads(call: Call) -> Sequence[Read]:
    keys = Read.BLOCKS if _quantised(call) else Read.VALUES
    return (Read.VALUES, keys, *[Read.VALUES] * (len(call.src) - 2))


def _flash_attn_ext(maths: Maths, call: Call, sources: Sequence[Array]) -> Array:
    if not covers(call):
        return usual.FLASH_ATTN_EXT.compute(maths, call, sources)
    query, keys, value = sources[:3]
    heads, n = query.shape[1:3]
    value = np.repeat(value, heads // value.shape[1], axis=1)
    bias, alive = _mask(maths, call, sources[3] if optional(call, 3) else None, n)
    # what nobody looks at may be anything
    looked_at: Flags = np.any(alive, axis=2, keepdims=True)
    value = np.where(looked_at.transpose(0, 1, 3, 2), value, np.float32(0))
    sinks = sources[4].reshape(1, heads, 1) if optional(call, 4) else None
    if usual.is_tiled(call, n):
        keys = np.repeat(keys, heads // keys.shape[1], axis=1)
        done = Sums(*tiled(query, keys, value, bias, _params(call)))
    else:
        scores = _scores(maths, call, query, keys)
        done = _one_chunk(_shaped(scores, bias, _params(call)), alive, value, call.source(2).dtype.name == "f16")
    if sinks is not None:
        done = _with_sinks(done, sinks, once=usual.is_tiled(call, n))
    inverse = np.where(done.total == 0, np.float32(0), np.float32(1) / done.total)
    result = done.mixed * inverse[..., None]
    if _is_split(call, n):
        result = result + np.float32(0)  # as the sum of partial results, which has no negative zero
    return np.ascontiguousarray(result.transpose(0, 2, 1, 3))


def _is_split(call: Call, n: int) -> bool:
    names = [call.source(slot).dtype.name for slot in range(3)]
    single = n == 1 and call.source(0).ne[3] == 1
    return single and names[1] == names[2] and names[1] in ("f32", "f16") and call.source(1).ne[1] >= SPLIT


def _params(call: Call) -> usual.Params:
    """The scale is divided by the cap in float."""
    scale, cap = np.float32(call.f32(0)), np.float32(call.f32(2))
    return usual.Params(float(scale / cap if cap else scale), call.f32(1), float(cap))


def _mask(maths: Maths, call: Call, mask: Array | None, n: int) -> tuple[Floats, Flags]:
    """What is added to each score, and which scores count: (streams, heads, queries, cells)."""
    _, _, heads, streams = call.source(0).ne
    shape = (streams, heads, n, call.source(1).ne[1])
    if mask is None:
        return np.zeros(shape, np.float32), np.ones(shape, np.bool_)
    seen = broadcast(maths, mask[:, :, :n, : shape[3]], shape)
    slopes = np.asarray(usual.alibi_slopes(heads, call.f32(1)), np.float32).reshape(1, heads, 1, 1)
    bias: Floats = slopes * np.broadcast_to(seen, shape)
    return bias, bias != UNSEEN


def _scores(maths: Maths, call: Call, query: Floats, keys: Array) -> Floats:
    """vec_dot of each key with the queries rounded to its vec_dot type."""
    name = call.source(1).dtype.name
    streams, heads, n, width = query.shape
    matrices = unpacked(name, keys) if _quantised(call) else keys
    share = heads // matrices.shape[1]
    scores = np.empty((streams, heads, n, call.source(1).ne[1]), np.float32)
    for s, h in np.ndindex(*matrices.shape[:2]):
        here = s, slice(h * share, (h + 1) * share)
        rows = query[here].reshape(-1, width)
        if _quantised(call):
            made = product(matrices[s, h], columns_of(matrices[s, h], rows), n=1)
        else:
            made = DOTS[name](matrices[s, h], rounded(maths, rows, VEC_DOT[name]))
        scores[here] = made.reshape(share, n, -1)
    return scores


def _shaped(scores: Floats, bias: Floats, params: usual.Params) -> Floats:
    scores = scores * np.float32(params.scale)
    if params.softcap:
        scores = np.float32(params.softcap) * tanhf(scores)
    return scores + bias


def _one_chunk(scores: Floats, alive: Flags, value: Floats, in_half: bool) -> Sums:
    """ggml_compute_forward_flash_attn_ext_f16_one_chunk: a score above all before it scales what has been summed."""
    scores = np.where(alive, scores, UNSEEN)
    highest = np.maximum.accumulate(scores, axis=3)
    before = np.concatenate([np.full_like(scores[..., :1], UNSEEN), highest[..., :-1]], axis=3)
    rises = alive & (scores > before)
    stays = alive & ~rises
    fades, weights = np.ones_like(scores), np.ones_like(scores)
    fades[rises] = expf(before[rises] - highest[rises])
    weights[stays] = expf(scores[stays] - highest[stays])
    total = np.zeros(scores.shape[:3], np.float32)
    mixed = np.zeros((*scores.shape[:3], value.shape[3]), np.float32)
    for cell in np.nonzero(alive.any(axis=(0, 1, 2)))[0]:
        up, here = rises[..., cell], alive[..., cell]
        fade, weight = fades[..., cell], weights[..., cell]
        total = np.where(here, total * fade + weight, total)
        scaled = mixed * fade[..., None]
        if in_half and up.any():
            scaled = _half(scaled)
        added = fused(value[:, :, None, cell], weight[..., None], scaled)
        mixed = np.where(here[..., None], _half(added) if in_half else added, mixed)
    return Sums(highest[..., -1], total, mixed)


def _half(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float32)


def _with_sinks(done: Sums, sinks: Floats, once: bool) -> Sums:
    """One more score for each head, whose value is nothing; `once`: the sum of the weights is rounded once."""
    sinks = np.broadcast_to(sinks, done.most.shape)
    up = sinks > done.most
    fade = np.where(up, expf(done.most - sinks), np.float32(1))
    weight = np.where(up, np.float32(1), expf(sinks - done.most))
    total = fused(done.total, fade, weight) if once else done.total * fade + weight
    return Sums(np.maximum(done.most, sinks), total, done.mixed * fade[..., None])


FLASH_ATTN_EXT = Kernel(_flash_attn_ext, usual.FLASH_ATTN_EXT.check, _reads)
