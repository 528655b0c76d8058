"""Every profile about every op of every recorded graph: sentences only, never an exception."""

import contextlib

import pytest

from galloscope.core.build import build_forward
from galloscope.core.devices.known import DEVICES
from galloscope.core.devices.profile import Profile
from galloscope.core.devices.refused import refused
from galloscope.core.devices.seen import MissingSource, Seen, seen_in, signature
from galloscope.core.files.graph_json import read_graph
from galloscope.core.graph import Graph, Order
from galloscope.tests.corpora import GOLDEN, SMALL, graph_path

MODELS = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("llama/*.graph.json*"))
GPUS = ("cuda", "metal", "vulkan")


def graphs(case: str) -> list[Graph]:
    return [request.graph for request in read_graph(str(graph_path(case))).requests]


def distinct(graph: Graph) -> list[Seen]:
    """Every kind of op and leaf once."""
    found = {signature(graph.tensors, number): number for number in range(len(graph.tensors))}
    return [seen_in(graph.tensors, number, graph.tensors[number].src, ()) for number in found.values()]


def ask(profile: Profile, op: Seen) -> None:
    for reason in (profile.supports(op), profile.offload(op)):
        assert reason == "" or reason.startswith(op.op.value)
        assert "\n" not in reason
    with contextlib.suppress(MissingSource):  # graphs made by hand lack sources
        assert profile.alloc_size(op) >= op.nbytes


@pytest.mark.parametrize("case", SMALL)
def test_all_profiles_answer_in_sentences(case: str) -> None:
    for graph in graphs(case):
        for op in distinct(graph):
            for profile in DEVICES.values():
                ask(profile, op)


@pytest.mark.parametrize("case", MODELS)
def test_gpus_run_all_of_a_language_model_but_attention_with_tiny_heads(case: str) -> None:
    for graph in graphs(case):
        nodes = build_forward(graph, Order.LEFT_TO_RIGHT, lambda event: None).nodes
        assert refused(DEVICES["cpu"], graph.tensors, nodes) == []
        for name in GPUS:
            for group in refused(DEVICES[name], graph.tensors, nodes):
                assert group.op == "FLASH_ATTN_EXT"
                assert "head size" in group.reason
                assert {graph.tensors[node].op.value for node in group.nodes} == {"FLASH_ATTN_EXT"}


def test_groups_are_sorted_and_complete() -> None:
    (graph,) = graphs("gemma3-270m-decode-fa0-reserve")
    nodes = build_forward(graph, Order.LEFT_TO_RIGHT, lambda event: None).nodes
    blas = DEVICES["blas"]
    groups = refused(blas, graph.tensors, nodes)
    assert [len(group.nodes) for group in groups] == sorted((len(group.nodes) for group in groups), reverse=True)
    alone = {node for node in nodes if blas.supports(seen_in(graph.tensors, node, graph.tensors[node].src, ()))}
    assert alone == {node for group in groups for node in group.nodes}
