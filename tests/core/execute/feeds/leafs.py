"""Small graphs for tests of feeds, written with the lazy constructors."""

from typing import Any

from galloscope.core.dtypes import DTYPES, DType, contiguous, nbytes
from galloscope.core.graph import Graph
from galloscope.core.models.names import unique_names
from galloscope.core.op import Op
from galloscope.core.ops import Context, Lazy, new_tensor
from galloscope.core.tensor import Tensor

F32, F16, I32, I64 = DTYPES["f32"], DTYPES["f16"], DTYPES["i32"], DTYPES["i64"]


def leaf(name: str, dtype: DType, *ne: int) -> Lazy:
    return new_tensor(dtype, *ne).set_name(name)


def graph_of(*roots: Lazy) -> Graph:
    context = Context()
    for root in roots:
        context.expand(root)
    return context.finish(unique_names(lazy.name for lazy in context.members())).graph


def named(graph: Graph, name: str) -> Tensor:
    return next(tensor for tensor in graph.tensors if tensor.name == name)


def tensor(name: str, dtype: DType, *ne: int, weight: bool = False, label: str = "") -> Tensor:
    """A leaf on its own; a weight lies in a buffer."""
    shape = (*ne, 1, 1, 1)[:4]
    nb = contiguous(dtype, shape)  # type: ignore[arg-type]
    size = nbytes(dtype, shape, nb)  # type: ignore[arg-type]
    buft = 0 if weight else -1
    return Tensor(name, Op.NONE, dtype, shape, nb, (), size, is_weight=weight, buft=buft, label=label)  # type: ignore[arg-type]


def same(one: Any, other: Any) -> bool:
    """Two feeds gave something, and the same."""
    return one is not None and other is not None and one.tobytes() == other.tobytes()
