"""Buffer sets to measure planners with, as columns (lower, upper, size), by kind, number of buffers and seed.

training    a layered network: activations that its backward pass needs live long and die in reverse order, between them
            short temporaries and gradients
random      starts anywhere, lifetimes and sizes spread evenly over their orders of magnitude
zerowaste   a rectangle of steps x bytes cut into pieces: all pieces fit into it again without a byte of waste, so the
            bound is known to be within reach
pinwheel    the same, but a third of the cuts leave five pieces that interlock around a middle one, which no cut
            through all of them could make
"""

import heapq
from collections.abc import Callable

import numpy as np

KIB = 1024
SIDE = 1 << 20
"""Steps and bytes of the rectangle that is cut."""

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def training(count: int, random: np.random.Generator) -> Columns:
    """Eight buffers a layer: the activation, three short ones on the way forward, four on the way back."""
    layers = max(1, count // 8)
    end = 8 * layers
    forward = 4 * np.arange(layers)
    back = end - forward
    size = KIB * np.exp(random.uniform(np.log(64), np.log(4096), layers)).astype(np.int64)
    late, early = random.integers(0, 24, layers), random.integers(1, 12, layers)
    wide, wider = random.integers(1, 5, layers), random.integers(1, 4, layers)
    columns = (
        (forward, back, size),
        (forward, forward + 2, size * wide),
        (forward + 1, forward + 3, size),
        (forward + 2, forward + 4 + late, np.maximum(KIB, size // 2)),
        (back - 3, back, size),
        (back - 2, back + 1, size * wider),
        (back - 2, back - 1, size),
        (back - 1, back + early, size // 2 + KIB // 2),
    )
    lower, upper, sizes = (np.concatenate(one) for one in zip(*columns, strict=True))
    return lower, upper, sizes


def random(count: int, random: np.random.Generator) -> Columns:
    """Sizes of 1 KiB to 4 MiB, lifetimes up to an eighth of all steps."""
    lower = random.integers(0, count, count)
    longest = max(4.0, count / 8)
    life = 1 + np.exp(random.uniform(0, np.log(longest), count)).astype(np.int64)
    size = KIB * np.exp(random.uniform(0, np.log(4096), count)).astype(np.int64)
    return lower, lower + np.minimum(count, life), size


Piece = tuple[int, int, int, int]
"""First step, the step after the last, first byte, the byte after the last."""


def zerowaste(count: int, random: np.random.Generator) -> Columns:
    """The piece with the largest area (times some luck) is cut next, in time or in address, at 20 to 80 %."""
    return _cut_up(count, random, _halves)


def pinwheel(count: int, random: np.random.Generator) -> Columns:
    """Every third piece is cut into five."""
    return _cut_up(count, random, lambda piece, luck: (_five if luck.random() < 1 / 3 else _halves)(piece, luck))


def _cut_up(count: int, random: np.random.Generator, cut: Callable[..., list[Piece]]) -> Columns:
    pieces: list[tuple[float, Piece]] = [(0.0, (0, SIDE, 0, SIDE))]
    while len(pieces) < count:
        for piece in cut(heapq.heappop(pieces)[1], random):
            area = (piece[1] - piece[0]) * (piece[3] - piece[2])
            heapq.heappush(pieces, (-area * random.uniform(0.3, 1), piece))
    made = np.array([piece for _, piece in pieces])[random.permutation(len(pieces))]
    return made[:, 0], made[:, 1], made[:, 3] - made[:, 2]


def _halves(piece: Piece, random: np.random.Generator) -> list[Piece]:
    left, right, low, high = piece
    if right - left >= 2 and (random.random() < 0.5 or high - low < 4):
        at = _between(left, right, random.uniform(0.2, 0.8))
        return [(left, at, low, high), (at, right, low, high)]
    at = _between(low, high, random.uniform(0.2, 0.8))
    return [(left, right, low, at), (left, right, at, high)]


def _five(piece: Piece, random: np.random.Generator) -> list[Piece]:
    left, right, low, high = piece
    if right - left < 8 or high - low < 8:
        return _halves(piece, random)
    a, b = (_between(left, right, random.uniform(share, share + 0.25)) for share in (0.15, 0.6))
    c, d = (_between(low, high, random.uniform(share, share + 0.25)) for share in (0.15, 0.6))
    return [(left, b, low, c), (b, right, low, d), (a, right, d, high), (left, a, c, high), (a, b, c, d)]


def _between(low: int, high: int, share: float) -> int:
    return min(high - 1, max(low + 1, int(low + (high - low) * share)))


KINDS = {"training": training, "random": random, "zerowaste": zerowaste, "pinwheel": pinwheel}


def buffer_set(kind: str, count: int, seed: int) -> Columns:
    """A set of one of the KINDS; `training` has the next multiple of eight below `count`."""
    return KINDS[kind](count, np.random.default_rng(seed))
