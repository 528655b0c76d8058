"""The CuPy backend: what it needs of cupy is there (by a record of cupy's names, and by cupy itself where it is
installed), it says why it cannot run, and where it can, everything equals numpy.
"""

import ast
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import galloscope
from galloscope.core.backends.backend import make_backend
from galloscope.core.backends.cupy_backend import Module, unavailable
from galloscope.core.backends.gather import ATTRIBUTES
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.errors import InputError
from galloscope.core.execute.compare import compare
from galloscope.core.execute.executor import Settings
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.llama.options import GraphMode
from galloscope.core.op import Op
from galloscope.core.session import trace
from galloscope.tests.core.backends.kernels.calls import CALLS
from galloscope.tests.core.backends.kernels.plain import NUMPY, call_of, off
from galloscope.tests.core.execute.problems import MODELS_MADE, problem_of
from galloscope.tests.corpora import GOLDEN

WHY_NOT = unavailable()
RECORD = json.loads((GOLDEN / "cupy.json").read_text())
"""cupy 14.2.0: names of the module with their parameters (null where they cannot be read), of its arrays."""
BACKENDS = Path(galloscope.__file__).parent / "core" / "backends"
OWN = {name for name in vars(Module) if not name.startswith("_")}
"""What the backend adds to the module itself."""


def uses() -> Iterator[tuple[str, set[str], str]]:
    """Every `xp.name` of the code that runs on cupy, with the keywords it is called with, and the file."""
    for path in sorted(BACKENDS.glob("*.py")) + sorted((BACKENDS / "kernels").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func if isinstance(node, ast.Call) else node
            if isinstance(called, ast.Attribute) and ast.unparse(called.value).split(".")[-1] == "xp":
                keywords = {one.arg or "" for one in node.keywords} if isinstance(node, ast.Call) else set()
                yield called.attr, keywords, path.name


def test_everything_the_kernels_use_is_in_cupy() -> None:
    seen = 0
    for name, keywords, file in uses():
        if name in OWN:
            continue
        assert name in RECORD["module"], f"{file}: cupy has no {name}"
        known = RECORD["module"][name]
        assert known is None or "kwargs" in known or keywords <= set(known), f"{file}: {name} of cupy takes {known}"
        seen += 1
    assert seen > 100


def test_what_gather_and_scatter_use_is_in_cupy() -> None:
    for attribute in ATTRIBUTES:
        *path, name = attribute.split(".")
        assert name in RECORD[".".join(path) or "module"], attribute


def test_the_list_of_attributes_is_complete() -> None:
    """`ATTRIBUTES` names everything of the module that gather and scatter touch."""
    listed = {name.split(".")[0] for name in ATTRIBUTES} | {name.split(".")[-1] for name in ATTRIBUTES}
    for name, _, file in uses():
        if file in ("gather.py", "scatter.py"):
            assert name in listed, (file, name)


def test_the_record_is_cupys() -> None:
    cupy = pytest.importorskip("cupy", reason="cupy is not installed: the record of its names stands for it")
    for name, parameters in RECORD["module"].items():
        assert hasattr(cupy, name)
        if parameters is not None and name in {used for used, _, _ in uses()}:
            assert set(parameters) <= set(inspect.signature(getattr(cupy, name)).parameters)


def test_why_it_cannot_run_is_one_sentence() -> None:
    if not WHY_NOT:
        pytest.skip("there is a CUDA device")
    with pytest.raises(InputError, match="--backend numpy") as found:
        make_backend("cupy")
    assert "\n" not in str(found.value)


class Sorting:
    """Stands for cupy: its argsort knows no `stable`."""

    pi = 3.0

    def argsort(self, x: Any, axis: int = -1, kind: None = None) -> Any:
        return np.argsort(x, axis=axis, kind="stable")


def test_sorts_are_asked_in_cupys_words() -> None:
    module = Module(Sorting())
    assert module.argsort(np.array([2, 1, 2, 1]), stable=True).tolist() == [1, 3, 0, 2]
    assert module.pi == 3.0


@pytest.mark.gpu
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "runs")
@pytest.mark.parametrize("op", sorted(KERNELS), ids=str)
def test_math_on_the_device(op: Op) -> None:
    backend: Any = make_backend("cupy")
    for example in CALLS[op]():
        call = call_of(example.node)
        with np.errstate(all="ignore"):
            plain = KERNELS[op].compute(NUMPY, call, example.sources)
        sources = [None if one is None else backend.xp.asarray(one) for one in example.sources]
        made = backend.to_host(KERNELS[op].compute(backend.maths, call, sources))
        assert made.dtype == plain.dtype
        assert off(made.astype(np.float64), plain.astype(np.float64)) < 1e-5


@pytest.mark.gpu
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "runs")
@pytest.mark.parametrize("gpus", [0, 1, 2])
@pytest.mark.parametrize("mode", list(GraphMode))
@pytest.mark.parametrize("model", MODELS_MADE)
def test_planned_equals_naive_on_the_device(model: str, mode: GraphMode, gpus: int) -> None:
    problem = problem_of(model, gpus, 1, mode)
    feed = RandomFeed(problem.requests[-1].graph, 1)
    watched = Settings(poison=True, guard=True)
    for one in compare(trace(problem).runs, feed, lambda: make_backend("cupy"), watched):
        assert one.equal
