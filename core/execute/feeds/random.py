"""Random numbers for everything that a graph does not compute, shaped by how the graph uses it.

A tensor's bytes follow from the seed, its name, type, shape and uses alone: the order of the graph, devices and copies
do not matter. Only the raw bits of PCG64 are used, which numpy promises to keep.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ...build import build_forward
from ...errors import InputError
from ...graph import Graph, Order
from ...op import Op
from ...tensor import Tensor
from ..feed import Bytes
from .blocks import set_scales
from .uses import Cells, Range, Uses, is_mask

LIMIT = 16 << 30
"""Bytes of random weights, all together, that are made when nothing else is said."""

_PIECE = 1 << 18
"""Elements, or blocks, that are made at a time: what is needed beyond the result stays small."""
_INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
_FLOATS = frozenset({"f32", "f16", "bf16", "f64"})
_MASKED = np.float32(-np.inf)

UsedBy = Sequence[tuple[Tensor, int]]
Floats = npt.NDArray[np.float32]


class RandomFeed:
    """Random weights and inputs of one graph; pre-allocated tensors that are no weights (caches) are zeros.

    Norms and rope factors lie around 1, other weights around 0 with a deviation of 1/sqrt(elements of a row), inputs
    around 0 with 1. Integers are ids within bounds, distinct where they must be, or positions that count up; tokens go
    to the first cells of a cache, so that causal masks let them see each other. The `data` of a graph file come first.
    """

    def __init__(self, graph: Graph, seed: int, order: Order = Order.LEFT_TO_RIGHT, limit: int = LIMIT) -> None:
        """Look at the uses.

        Args:
            graph: whose tensors will be asked for.
            seed: another one gives other numbers.
            order: in which ggml lists it, which decides about names that the graph leaves open.
            limit: bytes of weights that may be made.
        """
        self.seed, self.limit, self.made = seed, limit, 0
        self._uses = Uses(graph)
        names = [tensor.name for tensor in graph.tensors]
        if not all(names):
            names = build_forward(graph, order, lambda event: None).names
        self._names = names
        self._numbers = {id(tensor): number for number, tensor in enumerate(graph.tensors)}
        self._named = {name: number for number, name in enumerate(names)}

    def external(self, tensor: Tensor) -> Bytes | None:
        """A weight; zeros for a cache.

        Raises:
            InputError: all weights together are more than the limit.
        """
        if not tensor.is_weight and tensor.data is None and tensor.dtype.name not in _INTEGERS:
            return None
        self.made += tensor.nbytes
        if self.made > self.limit:
            raise InputError(
                f"tensor {tensor.name!r}: random weights up to it take {self.made:,} bytes, the limit is "
                f"{self.limit:,}; choose a smaller model"
            )
        return self._make(tensor, weight=True)

    def leaf(self, tensor: Tensor) -> Bytes | None:
        """An input."""
        return self._make(tensor, weight=False)

    def _make(self, tensor: Tensor, weight: bool) -> Bytes:
        number = self._named.get(tensor.name, self._numbers.get(id(tensor), -1))
        uses = self._uses.of(number) if number >= 0 else []
        name = self._names[number] if number >= 0 else tensor.name
        key = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        bits = np.random.PCG64(int.from_bytes(key, "little"))
        if tensor.dtype.name in _INTEGERS:
            return _integers(tensor, self._uses.integers(tensor, uses), bits)
        if tensor.dtype.name in _FLOATS:
            return _as_bytes(tensor, _mask(tensor) if is_mask(uses) else _floats(tensor, uses, bits, weight))
        return _blocks(tensor, bits)


def _integers(tensor: Tensor, allowed: Range, bits: np.random.PCG64) -> Bytes:
    """Ids, positions, or what the graph file gives."""
    count = tensor.nbytes // tensor.dtype.size
    dtype = _INTEGERS[tensor.dtype.name]
    below = min(allowed.below, np.iinfo(dtype).max)
    if tensor.data is not None:
        given = np.zeros(count, dtype)
        given[: len(tensor.data)] = np.array(tensor.data[:count], np.int64).astype(dtype)
        return given.view(np.uint8)
    if allowed.cells is not None:
        values = _cell_ids(allowed.cells, count)
    elif allowed.counting:
        values = np.arange(count) % below
    elif allowed.distinct:
        # Each run of `distinct` begins anywhere and goes on with a stride that comes back to a number last.
        runs = -(-count // allowed.distinct)
        first = _raw(bits, runs) % np.uint64(below)
        walk = np.arange(allowed.distinct, dtype=np.uint64) * np.uint64(allowed.step()) % np.uint64(below)
        values = ((first[:, None] + walk) % np.uint64(below)).reshape(-1)[:count]
    else:
        values = _raw(bits, count) % np.uint64(below)
    return values.astype(dtype).view(np.uint8)


def _cell_ids(cells: Cells, count: int) -> npt.NDArray[np.int64]:
    """Row ids of a cache, token after token of each sequence from its first cell on."""
    tokens = np.arange(count // cells.width)
    stream, cell = np.divmod(tokens, max(1, len(tokens) // cells.streams))
    first = stream * cells.size * cells.width + cell
    return np.asarray(first[:, None] + np.arange(cells.width) * cells.size, np.int64).reshape(-1)


def _raw(bits: np.random.PCG64, count: int) -> npt.NDArray[np.uint64]:
    return np.asarray(bits.random_raw(count), np.uint64).reshape(-1)


def _floats(tensor: Tensor, uses: UsedBy, bits: np.random.PCG64, weight: bool) -> Iterator[Floats]:
    """Normal values, piece by piece."""
    middle, deviation = 0.0, 1.0
    if weight:
        deviation = 1.0 / max(1, tensor.ne[0]) ** 0.5
        if any((user.op is Op.ROPE and slot == 2) or _is_norm(tensor, user, slot) for user, slot in uses):
            middle, deviation = 1.0, 0.1
        elif any(user.op is Op.SSM_SCAN and slot == 3 for user, slot in uses):
            middle, deviation = -1.0, 0.1  # A of a state space: the state must fade
    for count in _pieces(tensor.nbytes // tensor.dtype.size):
        yield (middle + deviation * _normal(bits, count)).astype(np.float32)


def _is_norm(tensor: Tensor, user: Tensor, slot: int) -> bool:
    return user.op is Op.MUL and slot == 1 and tensor.n_rows == 1


def _normal(bits: np.random.PCG64, count: int) -> npt.NDArray[np.float64]:
    """Nearly normal: the sum of four uniform 16-bit numbers, within 3.5 deviations."""
    quarters = _raw(bits, count).view(np.uint16).reshape(count, 4)
    values: npt.NDArray[np.float64] = (quarters.sum(axis=1, dtype=np.float64) - 131070.0) / (65536.0 / 3**0.5)
    return values


def _mask(tensor: Tensor) -> Iterator[Floats]:
    """0 where token i (row) may see cell j, that is up to its own, else -inf."""
    n_kv, n_tokens = tensor.ne[0], tensor.ne[1]
    causal = np.where(np.arange(n_kv) <= np.arange(n_tokens)[:, None], np.float32(0), _MASKED).reshape(-1)
    for _ in range(tensor.ne[2] * tensor.ne[3]):
        yield causal


def _as_bytes(tensor: Tensor, pieces: Iterator[Floats]) -> Bytes:
    """Floats in the tensor's type."""
    result = np.zeros(tensor.nbytes, np.uint8)
    at = 0
    for piece in pieces:
        data = _converted(piece, tensor.dtype.name)[: len(result) - at]
        result[at : at + len(data)] = data
        at += len(data)
    return result


def _converted(values: Floats, dtype: str) -> Bytes:
    if dtype == "bf16":  # no infinities but those of masks, which rounding leaves as they are
        bits = values.view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view(np.uint8)
    return values.astype({"f32": np.float32, "f16": np.float16, "f64": np.float64}[dtype]).view(np.uint8)


def _blocks(tensor: Tensor, bits: np.random.PCG64) -> Bytes:
    """Blocks of a quantised type."""
    size = tensor.dtype.size
    result = np.zeros(tensor.nbytes, np.uint8)
    at = 0
    for count in _pieces(tensor.nbytes // size):
        piece = _raw(bits, -(-count * size // 8)).view(np.uint8)[: count * size].reshape(count, size).copy()
        set_scales(piece, tensor.dtype, 1.0 / max(1, tensor.ne[0]) ** 0.5)
        result[at : at + piece.size] = piece.reshape(-1)
        at += piece.size
    return result


def _pieces(count: int) -> Iterator[int]:
    while count > 0:
        yield min(count, _PIECE)
        count -= _PIECE
