"""Every recorded graph of llama.cpp b11549 whose architecture has a builder: the builder makes it, field by field."""

import pytest

from galloscope.core.models import MODELS, build, read_hparams
from galloscope.core.models.cparams import reserved_shape
from galloscope.core.op import Op
from galloscope.tests.core.models import recorded
from galloscope.tests.core.models.same_graph import differences


@pytest.mark.parametrize("case", recorded.CASES)
def test_builder_makes_the_recorded_graph(case: str) -> None:
    problem = recorded.problem_of(case)
    header = recorded.header_of(case, problem)
    options, mode, flash = recorded.question_of(case, problem.about, header)
    shape = reserved_shape(read_hparams(header), options, mode)
    built = build(header, options, shape, flash, recorded.where_of(problem))
    graph = problem.requests[0].graph
    assert differences(built.graph, graph) == []
    by_name = {tensor.name: tensor for tensor in graph.tensors}
    for leaf, use in built.weights.items():
        tensor = by_name[built.graph.tensors[leaf].name]
        assert tensor.is_weight
        assert tensor.name.split("~")[0] == use.name
    caches = {
        tensor.name for tensor in graph.tensors if tensor.buft >= 0 and not tensor.is_weight and tensor.view_src < 0
    }
    assert {built.graph.tensors[leaf].name for leaf in built.caches} == caches
    assert all(built.graph.tensors[leaf].layer == il for leaf, il in built.caches.items())
    pins = {tensor.name for tensor in graph.tensors if tensor.pin >= 0}
    pinnable = {built.graph.tensors[called.tensor].name for called in built.called if called.name == "norm"}
    pinnable |= {built.graph.tensors[node].name for node in built.after_attention}
    assert pins <= pinnable
    attention = [i for i, tensor in enumerate(built.graph.tensors) if tensor.op is Op.FLASH_ATTN_EXT]
    assert sorted(i for i, _ in built.attention) == attention


def test_every_architecture_is_recorded() -> None:
    assert {model.arch for model in recorded.MODELS.values()} == set(MODELS)
    assert len(recorded.CASES) == 137
