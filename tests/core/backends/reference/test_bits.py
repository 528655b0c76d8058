"""Every kernel of the reference mode against the real ggml-cpu of the wheel: equal in every bit.

The wheel is one build: which instructions its kernels use was settled when it was compiled and not by this machine, and
its calls of the C library are ours, too.
"""

import struct
from collections.abc import Iterator

import numpy as np
import pytest

from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.backends.reference.backend import ReferenceBackend
from galloscope.core.backends.reference.blocks import UNPACK
from galloscope.core.backends.reference.dots import DOTS
from galloscope.core.backends.reference.known import REFERENCE
from galloscope.core.op import GLU_OPS, UNARY_OPS, Op
from galloscope.core.ops.matmul import SRC0_IS_HADAMARD
from galloscope.tests.core.backends.cases.given import C, Case, Maker, X, node
from galloscope.tests.core.backends.cases.known import CASES
from galloscope.tests.core.backends.ggml_oracle import Oracle
from galloscope.tests.core.backends.reference.bits import unequal
from galloscope.tests.core.native.support import needs_wheel

pytestmark = needs_wheel

FOLLOWED = [op for op in CASES if REFERENCE[op] is not KERNELS[op]]
ALREADY = (
    Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.ADD_ID, Op.SQR, Op.SQRT, Op.SCALE, Op.CLAMP, Op.L2_NORM, Op.GROUP_NORM, Op.SUM,
    Op.MEAN, Op.CUMSUM, Op.ARGMAX, Op.CPY, Op.CONT, Op.DUP, Op.REPEAT, Op.CONCAT, Op.GET_ROWS, Op.SET_ROWS, Op.ARGSORT,
    Op.TOP_K, Op.OUT_PROD, Op.SSM_CONV, Op.IM2COL, Op.PAD, Op.ROLL,
)  # fmt: skip
"""Ops that the usual kernels compute bit by bit as ggml does."""
LEFT_OUT = ("GELU_QUICK", "GELU", "XIELU", "GEGLU")
"""Activations of f16 and bf16 sources (and XIELU) that are a last bit off: the usual kernels compute them."""


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as asked:
        yield asked


def covered(case: Case) -> bool:
    """What the reference mode says that it follows."""
    op = case.node.op
    params: tuple[int, ...] = (*case.node.op_params, 0, 0)
    first = case.src[0]
    assert first is not None
    name = first.tensor.dtype.name
    if op in (Op.MUL_MAT, Op.MUL_MAT_ID):
        hadamard = op is Op.MUL_MAT and params[1] == SRC0_IS_HADAMARD
        return (name in UNPACK or name in DOTS) and not hadamard
    if op is Op.SSM_SCAN:
        assert case.src[3] is not None
        return bool(case.src[3].tensor.ne[0] != 1 or first.tensor.ne[0] % 32 == 0)
    which = {Op.UNARY: UNARY_OPS, Op.GLU: GLU_OPS}.get(op, ("",))[params[0] if op in (Op.UNARY, Op.GLU) else 0]
    return which not in LEFT_OUT or (name == "f32" and which != "XIELU")


@pytest.mark.parametrize("op", [*FOLLOWED, *ALREADY], ids=lambda op: op.value)
def test_the_cases_of_an_op(oracle: Oracle, op: Op) -> None:
    count, wrong = unequal(oracle, ReferenceBackend(), (case for case in CASES[op](Maker(oracle)) if covered(case)))
    assert wrong == []
    assert count


def word(value: float) -> int:
    """A float as op_params hold it."""
    number: int = struct.unpack("<i", struct.pack("<f", value))[0]
    return number


@pytest.mark.parametrize("dtype", [*UNPACK, *DOTS])
def test_products_of_any_number_of_rows(oracle: Oracle, dtype: str) -> None:
    """One row goes through vec_dot, more through tinyBLAS, eight and more of K-quants through tiles."""
    make = Maker(oracle)
    cases = [
        Case(node(Op.MUL_MAT, "f32", (m, n)), (make.leaf(dtype, (k, m)), make.leaf("f32", (k, n))))
        for n in (1, 2, 7, 8, 17)
        for m, k in ((20, 512), (9, 768))
    ]
    assert unequal(oracle, ReferenceBackend(), cases) == (10, [])


@pytest.mark.parametrize("dtype", ["iq4_nl", "mxfp4", "q8_0", "f16", "f32", "bf16"])
def test_products_of_short_and_odd_rows(oracle: Oracle, dtype: str) -> None:
    make = Maker(oracle)
    lengths = (32, 96) if dtype in UNPACK else (1, 7, 31, 40, 72)
    cases = [
        Case(node(Op.MUL_MAT, "f32", (20, n)), (make.leaf(dtype, (k, 20)), make.leaf("f32", (k, n))))
        for n in (1, 3)
        for k in lengths
    ]
    assert unequal(oracle, ReferenceBackend(), cases) == (len(cases), [])


@pytest.mark.parametrize("dtype", ["q4_K", "q6_K", "q8_0", "mxfp4", "f16"])
def test_experts_of_many_rows(oracle: Oracle, dtype: str) -> None:
    make = Maker(oracle)
    ids = make.leaf("i32", (2, 40), C, make.integers(0, 3, 2, 40))
    src = (make.leaf(dtype, (512, 20, 3)), make.leaf("f32", (512, 1, 40)), ids)
    assert unequal(oracle, ReferenceBackend(), [Case(node(Op.MUL_MAT_ID, "f32", (20, 2, 40)), src)]) == (1, [])


def attention(make: Maker, width: int, n: int, cells: int, dtype: str, extra: str) -> Case:
    """Grouped queries, three of ten cells unseen; `extra` is bias, cap or sinks."""
    bias = make.normal(cells, n) * (0.1 if extra == "bias" else 0)
    mask = np.where(make.random.random((1, 1, n, cells)) < 0.3, -np.inf, bias).astype(np.float32)
    src = [make.leaf("f32", (width, n, 4), X), make.leaf(dtype, (width, cells, 2), X)]
    src += [make.leaf(dtype, (width, cells, 2), X), make.leaf("f16", (cells, n), C, mask)]
    if extra == "sinks":
        src.append(make.leaf("f32", (4,)))
    params = (word(width**-0.5), word(4.0 if extra == "bias" else 0), word(30.0 if extra == "cap" else 0))
    return Case(node(Op.FLASH_ATTN_EXT, "f32", (width, 4, n), params), tuple(src))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
@pytest.mark.parametrize("extra", ["", "bias", "cap", "sinks"])
def test_attention_of_any_number_of_queries(oracle: Oracle, dtype: str, extra: str) -> None:
    """One query of many cells is split, 64 and more are taken in tiles, the last of which is not full."""
    make = Maker(oracle)
    sizes = ((1, 96), (5, 96), (1, 700), (3, 600), (64, 64), (130, 100))
    cases = [attention(make, 64, n, cells, dtype, extra) for n, cells in sizes]
    assert unequal(oracle, ReferenceBackend(), cases) == (6, [])


@pytest.mark.parametrize("width", [40, 72, 80, 256])
def test_attention_of_any_width(oracle: Oracle, width: int) -> None:
    make = Maker(oracle)
    cases = [attention(make, width, n, 70, "f16", "") for n in (1, 3, 70)]
    assert unequal(oracle, ReferenceBackend(), cases) == (3, [])


@pytest.mark.parametrize("op", [Op.NORM, Op.RMS_NORM])
def test_norms_of_long_rows(oracle: Oracle, op: Op) -> None:
    make = Maker(oracle)
    cases = [Case(node(op, "f32", (n, 5), (word(1e-6),)), (make.leaf("f32", (n, 5)),)) for n in (1000, 4096, 8191)]
    assert unequal(oracle, ReferenceBackend(), cases) == (3, [])


def test_softmax_of_steep_rows(oracle: Oracle) -> None:
    make = Maker(oracle)
    cases = [
        Case(node(Op.SOFT_MAX, "f32", (n, 5), (word(steep),)), (make.leaf("f32", (n, 5)),))
        for n in (63, 1000)
        for steep in (1.0, 10.0, 60.0, 200.0)
    ]
    assert unequal(oracle, ReferenceBackend(), cases) == (8, [])


def test_activations_over_their_whole_range(oracle: Oracle) -> None:
    make = Maker(oracle)
    x = make.leaf("f32", (4099, 2), C, make.uniform(-130, 130, 4099, 2))
    names = ("SILU", "GELU", "GELU_QUICK", "GELU_ERF", "SIGMOID", "TANH", "EXP", "SOFTPLUS", "ELU")
    cases = [Case(node(Op.UNARY, "f32", (4099, 2), (UNARY_OPS.index(name),)), (x,)) for name in names]
    assert unequal(oracle, ReferenceBackend(), cases) == (9, [])


@pytest.mark.parametrize("decays", [1, 64])
def test_scans_of_more_states(oracle: Oracle, decays: int) -> None:
    """Mamba-2 has one decay for a head."""
    make = Maker(oracle)
    states, dim, heads, groups, tokens, seqs = 64, 8, 6, 2, 4, 2
    src = [make.leaf("f32", (states, dim, heads, 5)), make.leaf("f32", (dim, heads, tokens, seqs))]
    src += [
        make.leaf("f32", (heads, tokens, seqs)),
        make.leaf("f32", (decays, heads), C, make.uniform(-2, 0, decays, heads)),
    ]
    src += [make.leaf("f32", (states, groups, tokens, seqs)), make.leaf("f32", (states, groups, tokens, seqs))]
    src.append(make.leaf("i32", (seqs,), C, make.integers(0, 5, seqs)))
    total = dim * heads * seqs * (tokens + states)
    assert unequal(oracle, ReferenceBackend(), [Case(node(Op.SSM_SCAN, "f32", (total,), (1,)), tuple(src))]) == (1, [])


def test_another_bit_is_seen(oracle: Oracle) -> None:
    """The usual kernel sums in another order."""
    make = Maker(oracle)
    case = Case(node(Op.MUL_MAT, "f32", (64, 9)), (make.leaf("f16", (256, 64)), make.leaf("f32", (256, 9))))
    backend = ReferenceBackend()
    assert unequal(oracle, backend, [case])[1] == []
    backend.kernels = KERNELS
    assert len(unequal(oracle, backend, [case])[1]) == 1
