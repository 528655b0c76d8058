"""Constructors against those of the real ggml: the same fields, or both refuse."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from galloscope.benchmarks import ggml_abi
from galloscope.tests.core.ops.our_ops import answers
from galloscope.tests.core.ops.real_ops import SIGNATURES, RealOps
from galloscope.tests.core.ops.strategies import MAKERS, questions

pytestmark = pytest.mark.skipif(not ggml_abi.available(), reason="the xllamacpp wheel is not installed")

CHANGES = {name for name, signature in SIGNATURES.items() if signature.startswith("-")}


@pytest.fixture(scope="module")
def real() -> Iterator[RealOps]:
    with RealOps() as asked:
        yield asked


def test_every_constructor_is_asked() -> None:
    assert set(MAKERS) | CHANGES | {"new_tensor_4d"} == set(SIGNATURES)


@pytest.mark.parametrize("function", sorted(MAKERS))
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_same_as_real_ggml(function: str, data: st.DataObject, real: RealOps) -> None:
    steps = data.draw(questions(function))
    ours, refusal = answers(steps)
    truth = real.ask(steps)
    event("refused" if refusal else "made")
    assert ours == truth[: len(ours)], steps
    if "whole blocks" in refusal:
        return  # ggml_row_size asserts this in debug builds only
    assert len(ours) == len(truth), f"{refusal or 'ggml asserts'} in step {min(len(ours), len(truth))} of {steps}"
