"""Every kernel against the real ggml-cpu of the wheel, on contiguous, padded, permuted and repeated sources."""

from collections.abc import Iterator

import numpy as np
import pytest

from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.backends.numpy_backend import NumpyBackend
from galloscope.core.op import Op
from galloscope.core.ops.layout import is_contiguous
from galloscope.tests.core.backends.cases.given import Case, Maker
from galloscope.tests.core.backends.cases.known import CASES, CONTIGUOUS, WITHOUT
from galloscope.tests.core.backends.compared import FILL, computed, difference, gaps, tolerance
from galloscope.tests.core.backends.ggml_oracle import Asserted, Oracle
from galloscope.tests.core.native.support import needs_wheel

pytestmark = needs_wheel


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as asked:
        yield asked


def test_every_kernel_has_cases() -> None:
    assert KERNELS.keys() == CASES.keys() | WITHOUT.keys()
    assert not CASES.keys() & WITHOUT.keys()


@pytest.mark.parametrize("op", [op for op in KERNELS if op in CASES], ids=lambda op: op.value)
def test_a_kernel_computes_what_ggml_does(oracle: Oracle, op: Op) -> None:
    backend, cases = NumpyBackend(), list(CASES[op](Maker(oracle)))
    assert {case.node.op for case in cases} == {op}
    wrong = [f"{_text(case)}: {text}" for case in cases if (text := _wrong(oracle, backend, case))]
    assert wrong == []


def test_layouts_are_mixed(oracle: Oracle) -> None:
    """All but a few ops are tried on a source whose elements do not lie one after the other."""
    plain = {op for op, make in CASES.items() if all(_is_contiguous(case) for case in make(Maker(oracle)))}
    assert plain == CONTIGUOUS.keys()


def test_a_wrong_result_is_seen(oracle: Oracle) -> None:
    case = next(CASES[Op.ADD](Maker(oracle)))
    real = oracle.compute(case.node, case.src)
    bent = real.copy()
    bent.view(np.float32)[7] += 1e-3
    assert difference(NumpyBackend(), case.node, bent, real) > tolerance(case.node)
    assert difference(NumpyBackend(), case.node, real, real) == 0


def test_an_assert_of_ggml_is_told_and_survived(oracle: Oracle) -> None:
    case = next(CASES[Op.ADD](Maker(oracle)))
    other = next(CASES[Op.ADD_ID](Maker(oracle)))
    with pytest.raises(Asserted, match=r"GGML_ASSERT\(.*\) failed"):
        oracle.compute(case.node, other.src)
    assert oracle.compute(case.node, case.src).size == case.node.nbytes


def _is_contiguous(case: Case) -> bool:
    return all(is_contiguous(one.tensor) for one in case.src if one is not None)


def _wrong(oracle: Oracle, backend: NumpyBackend, case: Case) -> str:
    """What is not as ggml has it; empty when all is."""
    node = case.node
    before = np.full(node.nbytes, FILL, np.uint8) if case.before is None else case.before
    real = oracle.compute(node, case.src, before)
    mine = computed(backend, node, case.src, before)
    free = gaps(node)
    if not np.array_equal(mine[free], before[free]):
        return "bytes between rows have changed"
    first = case.src[0].tensor if case.src and case.src[0] is not None else None
    allowed = tolerance(node, first) if case.tolerance is None else case.tolerance
    off = difference(backend, node, mine, real)
    return f"off by {off:.2e}, {allowed:.0e} is allowed" if off > allowed else ""


def _text(case: Case) -> str:
    node = case.node
    sources = [one and f"{one.tensor.dtype.name} {one.tensor.ne} {one.tensor.nb}" for one in case.src]
    return f"{node.dtype.name} {node.ne} {node.nb} {node.op_params} of {sources}"
