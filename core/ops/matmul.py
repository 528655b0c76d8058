"""Matrix products (ggml.c)."""

from __future__ import annotations

from enum import IntEnum

from ..dtypes import DTYPES
from ..op import Op
from .layout import is_transposed
from .lazy import Lazy, check, new_tensor

_F32 = DTYPES["f32"]


class Prec(IntEnum):
    """enum ggml_prec, what llama.cpp asks for."""

    UNDEFINED = 0
    F32 = 10


SRC0_IS_HADAMARD = 1
"""GGML_HINT_SRC0_IS_HADAMARD of enum ggml_op_hint."""


def mul_mat(a: Lazy, b: Lazy) -> Lazy:
    """ggml_mul_mat: rows of a times rows of b; a repeats over b's dimensions 2 and 3."""
    check(can_mul_mat(a, b), "MUL_MAT", "rows must have equal length and the first must repeat over the second", a, b)
    check(not is_transposed(a), "MUL_MAT", "the first must not be transposed", a)
    return new_tensor(_F32, a.ne[1], b.ne[1], b.ne[2], b.ne[3]).become(Op.MUL_MAT, a, b)


def can_mul_mat(a: Lazy, b: Lazy) -> bool:
    """ggml_can_mul_mat."""
    return a.ne[0] == b.ne[0] and _repeats(a, b)


def _repeats(a: Lazy, b: Lazy) -> bool:
    """Whether a can be broadcast over b's dimensions 2 and 3; a division by zero in ggml is refused here."""
    return 0 not in a.ne[2:] and b.ne[2] % a.ne[2] == 0 and b.ne[3] % a.ne[3] == 0


def mul_mat_id(experts: Lazy, b: Lazy, ids: Lazy) -> Lazy:
    """ggml_mul_mat_id: experts [cols, rows, n_expert], b [cols, n_used or 1, n_tokens], ids [n_used, n_tokens]."""
    check(not is_transposed(experts), "MUL_MAT_ID", "the experts must not be transposed", experts)
    check(ids.dtype.name == "i32", "MUL_MAT_ID", "ids are of type i32", ids)
    check(experts.ne[3] == 1, "MUL_MAT_ID", "experts have three dimensions, one matrix each", experts)
    check(b.ne[3] == 1, "MUL_MAT_ID", "the second has three dimensions", b)
    check(ids.ne[2] == ids.ne[3] == 1, "MUL_MAT_ID", "ids have two dimensions", ids)
    check(ids.ne[1] == b.ne[2], "MUL_MAT_ID", "one list of ids for each token", b, ids)
    check(experts.ne[0] == b.ne[0], "MUL_MAT_ID", "rows must have equal length", experts, b)
    check(b.ne[1] != 0 and ids.ne[0] % b.ne[1] == 0, "MUL_MAT_ID", "the second must repeat over the ids", b, ids)
    result = new_tensor(_F32, experts.ne[1], ids.ne[0], b.ne[2], 1)
    return result.become(Op.MUL_MAT_ID, experts, b, ids)


def out_prod(a: Lazy, b: Lazy) -> Lazy:
    """ggml_out_prod."""
    check(a.ne[1] == b.ne[1] and _repeats(a, b), "OUT_PROD", "columns must match and the first repeat", a, b)
    check(not is_transposed(a), "OUT_PROD", "the first must not be transposed", a)
    return new_tensor(_F32, a.ne[0], b.ne[0], b.ne[2], b.ne[3]).become(Op.OUT_PROD, a, b)


def prec_set_acc(a: Lazy, prec: Prec) -> bool:
    """ggml_prec_set_acc: the precision of the sums; False for an op that has none."""
    word = {Op.MUL_MAT: 0, Op.MUL_MAT_ID: 0, Op.FLASH_ATTN_EXT: 3}.get(a.op)
    if word is None:
        return False
    a.set_param(word, prec)
    return True


def mul_mat_set_hint(a: Lazy, hint: int) -> None:
    """ggml_mul_mat_set_hint."""
    check(a.op is Op.MUL_MAT, "MUL_MAT", "only a matrix product takes a hint", a)
    a.set_param(1, hint)
