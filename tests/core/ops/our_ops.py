"""The same questions as `real_ops`, answered by core/ops."""

from collections.abc import Callable
from typing import Any

from galloscope.core import ops
from galloscope.core.dtypes import DTYPES
from galloscope.core.op import GLU_OPS, UNARY_OPS
from galloscope.core.ops import Lazy, OpError
from galloscope.tests.core.ops.real_ops import SIGNATURES, Fields, Step

BY_ID = {dtype.id: dtype for dtype in DTYPES.values()}


def _view(a: Lazy, *numbers: int) -> Lazy:
    n = len(numbers) // 2
    return ops.view(a, numbers[:n], numbers[n:-1], numbers[-1])


def _prec_set_acc(a: Lazy, prec: int) -> None:
    assert ops.prec_set_acc(a, ops.Prec(prec))


OURS: dict[str, Callable[..., Lazy | None]] = {
    "new_tensor_4d": lambda dtype, *ne: ops.new_tensor(BY_ID[dtype], *ne),
    "scale_inplace": lambda a, s: ops.scale(a, s, inplace=True),
    "unary": lambda a, i: ops.unary(a, UNARY_OPS[i]),
    "unary_inplace": lambda a, i: ops.unary(a, UNARY_OPS[i], inplace=True),
    "glu": lambda a, i, swapped: ops.glu(a, GLU_OPS[i], swapped),
    "glu_split": lambda a, b, i: ops.glu_split(a, b, GLU_OPS[i]),
    "argsort": lambda a, order: ops.argsort(a, descending=bool(order)),
    "cont_2d": ops.cont_nd,
    "cont_4d": ops.cont_nd,
    "cast": lambda a, dtype: ops.cast(a, BY_ID[dtype]),
    "repeat_4d": ops.repeat_nd,
    "prec_set_acc": _prec_set_acc,
    "set_name": lambda a, name: a.set_name(name),
    **{f"view_{n}d": _view for n in (1, 2, 3, 4)},
    **{f"reshape_{n}d": ops.reshape for n in (1, 2, 3, 4)},
}


def _call(function: str) -> Callable[..., Lazy | None]:
    return OURS.get(function) or getattr(ops, function)


def run(steps: list[Step]) -> tuple[list[Lazy], str]:
    """The tensors of the steps up to the first that is refused, and the sentence of that one."""
    made: list[Lazy] = []
    for function, arguments in steps:
        signature = "t-" if function == "set_name" else SIGNATURES[function].lstrip("-")
        values: list[Any] = [
            made[value] if letter in "to" and value is not None else value
            for letter, value in zip(signature, arguments, strict=True)
        ]
        try:
            result = _call(function)(*values)
        except OpError as error:
            return made, str(error)
        made.append(result if isinstance(result, Lazy) else values[0])
    return made, ""


def fields(made: list[Lazy], i: int) -> Fields:
    """What `real_ops` shows of a tensor, at the end of all steps."""
    lazy = made[i]
    number = {id(tensor): n for n, tensor in reversed(list(enumerate(made[: i + 1])))}
    words = list(lazy.op_params)
    while words and not words[-1]:
        words.pop()
    src = [-1 if source is None else number.get(id(source), -2) for source in lazy.src]
    while src and src[-1] == -1:
        src.pop()
    return {
        "name": lazy.name,
        "type": lazy.dtype.id,
        "ne": list(lazy.ne),
        "nb": list(lazy.nb),
        "op": lazy.op.value,
        "op_params": words,
        "flags": lazy.flags,
        "src": src,
        "view_src": -1 if lazy.view_src is None else number.get(id(lazy.view_src), -2),
        "view_offs": lazy.view_offs,
    }


def answers(steps: list[Step]) -> tuple[list[Fields], str]:
    """Field for field what `real_ops` answers, each tensor as it was right after its step."""
    shown: list[Fields] = []
    for n in range(1, len(steps) + 1):
        made, refusal = run(steps[:n])
        if refusal:
            return shown, refusal
        shown.append(fields(made, n - 1))
    return shown, ""
