"""A node computed by the numpy backend from given bytes, and how far it is from the real ggml's result."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from galloscope.core.backends.backend import Span
from galloscope.core.backends.kernel import Call
from galloscope.core.backends.numpy_backend import NumpyBackend
from galloscope.core.op import GLU_OPS, UNARY_OPS, Op
from galloscope.core.tensor import Tensor

Data = npt.NDArray[np.uint8]

FILL = 0xA5
MOVERS = frozenset(
    {Op.DUP, Op.CPY, Op.CONT, Op.GET_ROWS, Op.SET_ROWS, Op.REPEAT, Op.CONCAT, Op.ARGSORT, Op.TOP_K, Op.ARGMAX}
)
"""Bytes that are only moved or converted, and integers."""
EXACT = MOVERS | {Op.MUL, Op.ADD, Op.SCALE, Op.RMS_NORM}
TOLERANCES = {Op.MUL_MAT: 2e-6, Op.MUL_MAT_ID: 2e-6, Op.FLASH_ATTN_EXT: 2e-3, Op.REPEAT_BACK: 1e-5}
SUMMED_IN_HALF = frozenset({"q4_1", "q5_1"})
"""Their vec_dot type q8_1 keeps the sum of each block as float16, which values alone cannot tell."""
STEP = {"f16": 2.0**-10, "bf16": 2.0**-7}
"""A last bit of float32 can fall on the other side of a rounding: one step of the result's type."""
TABLES = ("GEGLU", "GEGLU_QUICK", "GELU", "GELU_QUICK")
"""ggml takes these from a table of float16 values; numpy's tanh is one unit of it off now and then."""


def tolerance(node: Tensor, first: Tensor | None = None) -> float:
    """How far a result may be off, relative to the largest value of the node; `first` is its source 0."""
    if node.op in EXACT:
        return 0.0
    if node.op in (Op.MUL_MAT, Op.MUL_MAT_ID) and first is not None and first.dtype.name in SUMMED_IN_HALF:
        return 2e-3
    return max(STEP.get(node.dtype.name, 0.0), _of_float32(node))


def _of_float32(node: Tensor) -> float:
    names = {Op.GLU: GLU_OPS, Op.UNARY: UNARY_OPS}.get(node.op)
    if names is not None and names[node.op_params[0] if node.op_params else 0] in TABLES:
        return 1e-4
    return TOLERANCES.get(node.op, 1e-6)


def computed(
    backend: NumpyBackend, node: Tensor, sources: Sequence[tuple[Tensor, Data] | None], before: Data | None = None
) -> Data:
    """The bytes of the node after our kernel; `before` lies at its place, 0xA5 otherwise."""
    target = Span(np.full(node.nbytes, FILL, np.uint8) if before is None else before.copy(), 0)
    spans = [None if one is None else Span(one[1], 0) for one in sources]
    call = Call(node, tuple(None if one is None else one[0] for one in sources))
    kept = [None if one is None else one[1].copy() for one in sources]
    with np.errstate(all="ignore"):  # as the executor
        backend.prepare(call, target, spans)()
    for old, one in zip(kept, sources, strict=True):
        assert old is None or one is None or np.array_equal(old, one[1]), f"{node.op} wrote to a source"
    result: Data = target.memory
    return result


def difference(backend: NumpyBackend, node: Tensor, ours: Data, theirs: Data) -> float:
    """The largest difference of two results, relative to the largest finite value of theirs.

    Infinity where one of them is not finite and the other is not the same.
    """
    mine, real = (backend.values(node, Span(data, 0)).astype(np.float64) for data in (ours, theirs))
    same = (mine == real) | (np.isnan(mine) & np.isnan(real))
    if same.all():
        return 0.0
    if not (np.isfinite(mine) & np.isfinite(real))[~same].all():
        return float("inf")
    largest = float(np.abs(real[np.isfinite(real)]).max(initial=0.0))
    return float(np.abs(mine - real)[~same].max()) / (largest or 1.0)


def gaps(node: Tensor) -> npt.NDArray[np.bool_]:
    """Which bytes between first and last element belong to no element."""
    free = np.ones(node.nbytes, np.bool_)
    dtype, ne, nb = node.dtype, node.ne, node.nb
    shape = (ne[3], ne[2], ne[1], ne[0] // dtype.block, dtype.size)
    np.lib.stride_tricks.as_strided(free, shape, (nb[3], nb[2], nb[1], nb[0], 1))[...] = False
    return free
