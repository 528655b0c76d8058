"""Buffer sets to measure planners with, as columns (lower, upper, size), by kind, number of buffers and seed.

training    a layered network: activations that its backward pass needs live long and die in reverse order, between them
            short temporaries and gradients
random      starts anywhere, lifetimes and sizes spread evenly over their orders of magnitude
zerowaste   a rectangle of steps x bytes cut into pieces: all pieces fit into it again without a byte of waste, so the
            bound is known to be within reach
"""

import heapq

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


def zerowaste(count: int, random: np.random.Generator) -> Columns:
    """The piece with the largest area (times some luck) is cut next, in time or in address, at 20 to 80 %."""
    pieces: list[tuple[float, tuple[int, int, int, int]]] = [(0.0, (0, SIDE, 0, SIDE))]
    while len(pieces) < count:
        _, (left, right, low, high) = heapq.heappop(pieces)
        across = right - left >= 2 and (random.random() < 0.5 or high - low < 4)
        if across:
            cut = _cut(left, right, random)
            halves = ((left, cut, low, high), (cut, right, low, high))
        else:
            cut = int(low + (high - low) * random.uniform(0.2, 0.8))
            halves = ((left, right, low, cut), (left, right, cut, high))
        for piece in halves:
            area = (piece[1] - piece[0]) * (piece[3] - piece[2])
            heapq.heappush(pieces, (-area * random.uniform(0.3, 1), piece))
    made = np.array([piece for _, piece in pieces])[random.permutation(len(pieces))]
    return made[:, 0], made[:, 1], made[:, 3] - made[:, 2]


def _cut(left: int, right: int, random: np.random.Generator) -> int:
    if right - left < 8:
        return int(random.integers(left + 1, right))
    return int(left + (right - left) * random.uniform(0.2, 0.8))


KINDS = {"training": training, "random": random, "zerowaste": zerowaste}


def buffer_set(kind: str, count: int, seed: int) -> Columns:
    """A set of one of the KINDS; `training` has the next multiple of eight below `count`."""
    return KINDS[kind](count, np.random.default_rng(seed))
