"""The inputs of a batch, against plain loops over llama.cpp's rules."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES, DType
from galloscope.core.errors import InputError
from galloscope.core.execute.cells import EMPTY, Cells
from galloscope.core.execute.feed import Zeros
from galloscope.core.execute.feeds.tokens import TokenBatch, TokensFeed
from galloscope.tests.core.execute.feeds.leafs import F16, F32, I32, I64, tensor

N_EMBD_V = 6


def feed_after(past: int, n: int, window: int, size: int = 64) -> TokensFeed:
    """Two caches, the windowed one first, `past` tokens in them and `n` more in this batch."""
    caches = Cells(size, window), Cells(size * 2)
    if past:
        for cache in caches:
            cache.place(np.arange(past))
    positions = np.arange(past, past + n)
    feed = TokensFeed(Zeros())
    slots = tuple(cache.place(positions) for cache in caches)
    feed.batch = TokenBatch([7 * i for i in range(n)], positions, [0, n - 1], slots, math.sqrt(640))
    return feed


def filled(feed: TokensFeed, name: str, dtype: DType, *ne: int) -> Any:
    one = tensor(name, dtype, *ne)
    data = feed.leaf(one)
    assert data is not None
    kinds = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i64": np.int64}
    return data.view(kinds[dtype.name]).reshape(ne[::-1])


@given(past=st.integers(0, 40), n=st.integers(1, 20), window=st.integers(24, 30), transposed=st.booleans())
def test_every_input(past: int, n: int, window: int, transposed: bool) -> None:
    feed = feed_after(past, n, window)
    assert list(filled(feed, "inp_tokens", I32, n)) == [7 * i for i in range(n)]
    assert list(filled(feed, "inp_pos", I32, n)) == list(range(past, past + n))
    assert list(filled(feed, "out_ids", I32, 2)) == [0, n - 1]
    assert (filled(feed, "inp_scale_rows", F32, 1, n) == np.float32(math.sqrt(640))).all()
    for number, suffix in enumerate(("", "~2")):
        slot = feed.batch.slots[number]
        cells = [int(cell) for cell in slot.cells]
        assert list(filled(feed, f"attn_inp_k_idxs{suffix}", I64, n)) == cells
        wanted = [row * slot.size + cell for cell in cells for row in range(N_EMBD_V)] if transposed else cells
        assert list(filled(feed, f"attn_inp_v_idxs{suffix}", I64, len(wanted))) == wanted
        n_kv = slot.size - 3
        for dtype in (F16, F32):
            mask = filled(feed, f"attn_inp_kq_mask{suffix}", dtype, n_kv, n)
            for i in range(n):
                for j in range(n_kv):
                    held, me = int(slot.positions[j]), past + i
                    seen = held != EMPTY and held <= me and (number == 1 or me - held < window)
                    assert mask[i, j] == (0 if seen else -math.inf)


def test_inputs_of_other_batches_are_not_filled() -> None:
    feed = feed_after(0, 2, 24)
    for name in ("inp_embd", "inp_mixed_embd", "inp_mixed_tokens", "inp_mixed_slots"):
        assert feed.leaf(tensor(name, F32, 8, 2)) is None


@pytest.mark.parametrize("n", [64, 128, 256])
def test_rotations_are_hadamard_matrices(n: int) -> None:
    matrix = filled(feed_after(0, 1, 24), "attn_inp_k_rot", F32, n, n)
    wanted = np.empty((n, n), np.float32)
    for i in range(n):
        for j in range(n):
            wanted[i, j] = (-1) ** (i & j).bit_count() * np.float32(1.0 / float(np.float32(math.sqrt(n))))
    assert np.array_equal(matrix, wanted)
    assert np.allclose(matrix @ matrix.T, np.eye(n), atol=1e-6)


def test_inputs_that_do_not_fit() -> None:
    feed = feed_after(0, 2, 24)
    with pytest.raises(InputError, match="input 'inp_tokens' has 12 bytes, a batch of 2 tokens fills 8"):
        feed.leaf(tensor("inp_tokens", I32, 3))
    with pytest.raises(InputError, match="input 'pos_bucket' cannot be filled"):
        feed.leaf(tensor("pos_bucket", DTYPES["i32"], 3))
    with pytest.raises(InputError, match="'attn_inp_k_idxs~3': there are 2 caches"):
        feed.leaf(tensor("attn_inp_k_idxs~3", I64, 2))


def test_a_batch_without_outputs() -> None:
    feed = TokensFeed(Zeros())
    assert filled(feed, "out_ids", I32, 0).size == 0
    assert feed.external(tensor("w", F32, 4, weight=True)) is None
