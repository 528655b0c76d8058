"""FLASH_ATTN_EXT of 64 queries and more: ggml_compute_forward_flash_attn_ext_tiled."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.attention import TILE, Params
from .fused import Doubles, Floats, rounded_sum
from .libm import expf, tanhf
from .softmax import exponentials

UNSEEN = np.float32(-math.inf)


def tiled(query: Floats, keys: Floats, value: Floats, bias: Floats, params: Params) -> tuple[Floats, Floats, Floats]:
    """The largest score, the sum of the weights and the mixed values of each query.

    Args:
        query: (streams, heads, queries, k).
        keys: (streams, heads, cells, k).
        value: (streams, heads, cells, width).
        bias: (streams, heads, queries, cells), -inf where a query does not see a cell.
        params: scale and cap.
    """
    shape = query.shape[:3]
    most, total = np.full(shape, UNSEEN), np.zeros(shape, np.float32)
    mixed = np.zeros((*shape, value.shape[3]), np.float32)
    for s, h in np.ndindex(*shape[:2]):
        for top in range(0, shape[2], TILE):
            rows = slice(top, top + TILE)
            here = s, h, rows
            most[here], total[here], mixed[here] = _tile(query[here], keys[s, h], value[s, h], bias[here], params)
    return most, total, mixed


def _tile(query: Floats, keys: Floats, value: Floats, bias: Floats, params: Params) -> tuple[Floats, Floats, Floats]:
    """All cells for the queries of one tile."""
    rows, width = len(query), value.shape[1]
    most, total = np.full(rows, UNSEEN), np.zeros(rows, np.float32)
    mixed = np.zeros((rows, width), np.float32)
    for start in range(0, len(keys), TILE):
        cells = slice(start, start + TILE)
        seen = bias[:, cells]
        if not (seen != UNSEEN).any():
            continue
        scores = np.full((rows, TILE), UNSEEN)
        scores[:, : seen.shape[1]] = _scores(query, keys[cells], seen, params)
        largest = scores.max(axis=1)
        some = largest != UNSEEN
        new = np.maximum(most, largest)
        up = some & (new > most)
        fade = np.where(up, expf(np.where(up, most - new, np.float32(0))), np.float32(1))
        mixed = mixed * fade[:, None]
        values, sums = exponentials(scores, np.where(some, new, np.float32(0))[:, None])
        grown = ((total * fade).astype(np.float64) + sums[:, 0]).astype(np.float32)
        most, total = np.where(some, new, most), np.where(some, grown, total)
        weights = np.where(some[:, None], values, np.float32(0))[:, : seen.shape[1]]
        mixed = _added(mixed, weights, value[cells])
    return most, total, mixed


def _scores(query: Floats, keys: Floats, seen: Floats, params: Params) -> Floats:
    scores = _added(np.zeros((len(query), len(keys)), np.float32), query, np.ascontiguousarray(keys.T))
    scores = scores * np.float32(params.scale)
    if params.softcap:
        scores = tanhf(scores) * np.float32(params.softcap)
    # a cell that is not seen may hold anything
    shaped: Floats = np.where(seen == UNSEEN, UNSEEN, scores + seen)
    return shaped


def _added(result: Floats, left: Floats, right: Floats) -> Floats:
    """simd_gemm: a result plus left (m, k) times right (k, n), one FMA after the other."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    for i in range(left.shape[1]):
        product: Doubles = a[:, i, None] * b[i]
        result = rounded_sum(product, result.astype(np.float64))
    return result
