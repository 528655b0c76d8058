"""A node that the reference backend computes and that the real ggml computes: the same bits?"""

from collections.abc import Iterator, Sequence

import numpy as np

from galloscope.core.backends.reference.backend import ReferenceBackend
from galloscope.core.tensor import Tensor
from galloscope.tests.core.backends.cases.given import Case, Given
from galloscope.tests.core.backends.compared import FILL, computed
from galloscope.tests.core.backends.ggml_oracle import Oracle


def unequal(oracle: Oracle, backend: ReferenceBackend, cases: Iterator[Case] | Sequence[Case]) -> tuple[int, list[str]]:
    """How many cases there were, and those with another bit somewhere in or between their rows."""
    wrong, count = [], 0
    for case in cases:
        count += 1
        before = np.full(case.node.nbytes, FILL, np.uint8) if case.before is None else case.before
        real = oracle.compute(case.node, case.src, before)
        mine = computed(backend, case.node, case.src, before)
        if not np.array_equal(mine, real):
            wrong.append(f"{int((mine != real).sum())} of {real.size} bytes: {text(case.node, case.src)}")
    return count, wrong


def text(node: Tensor, src: Sequence[Given | None]) -> str:
    sources = [one and f"{one.tensor.dtype.name} {one.tensor.ne} {one.tensor.nb}" for one in src]
    return f"{node.op.value} {node.dtype.name} {node.ne} {node.op_params} of {sources}"
