"""Graphs of any shape: as recorded from inside llama.cpp b11549 for each micro-batch that it built a graph for."""

import msgspec
import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.llama.options import FlashAttn, GraphMode
from galloscope.core.models.cparams import reserved_shape
from galloscope.core.models.shape import GraphShape, Purpose
from galloscope.core.op import Op
from galloscope.core.tensor import Flag
from galloscope.tests.core.models import sessions
from galloscope.tests.core.models.makers import maker_of, rows, tensors_of
from galloscope.tests.core.models.recorded import MODELS


@pytest.mark.parametrize("name", sessions.NAMES)
def test_every_micro_batch_has_the_recorded_graph(name: str) -> None:
    maker = sessions.maker_of(name)
    # Automatic flash attention is on wherever the op runs on the device of its layer, as in all recordings.
    flash = maker.options.flash_attn is not FlashAttn.OFF
    count = 0
    for one in sessions.built_once(name):
        made = maker.graph(one.shape, flash)
        nodes, leafs = rows(made.problem.requests[0].graph)
        assert nodes == one.nodes
        assert leafs == one.leafs
        assert made.input_classes == one.classes
        count += 1
    assert count >= 2


@pytest.mark.parametrize("name", sessions.NAMES)
def test_every_reserved_graph_has_the_recorded_size(name: str) -> None:
    maker = sessions.maker_of(name)
    flash = maker.options.flash_attn is not FlashAttn.OFF
    whole = reserved_shape(maker.hparams, maker.options, GraphMode.PREFILL)
    embeddings = sessions.script_of(name)["context"].get("embeddings", False)
    reserves = sessions.expected_of(name)["init"]["reserves"]
    for one in reserves:
        n_seqs = one["n_seqs"]
        n_tokens = -(-one["n_tokens"] // n_seqs) * n_seqs
        shape = msgspec.structs.replace(
            whole,
            n_tokens=n_tokens,
            n_seqs=n_seqs,
            n_seq_tokens=n_tokens // n_seqs,
            n_outputs=one["n_outputs"],
            embeddings=embeddings,
        )
        graph = maker.graph(shape, flash).problem.requests[0].graph
        nodes, leafs = rows(graph)
        assert (len(nodes), len(leafs)) == (one["n_nodes"], one["n_leafs"])
        inputs = [[leaf[1], leaf[2], *leaf[3]] for leaf in leafs if leaf[4] & Flag.INPUT]
        assert inputs == one["inputs"]
    assert len(reserves) >= 3


@pytest.mark.parametrize(("name", "nodes"), [("llama-shift", [4]), ("gpu2-shift", [8]), ("gemma3-swa-fa", [2, 4])])
def test_a_shift_rotates_every_key_where_it_lies(name: str, nodes: list[int]) -> None:
    maker = sessions.maker_of(name)
    purposes = (Purpose.SHIFT, Purpose.SHIFT_SWA)[: len(nodes)]
    for purpose, count in zip(purposes, nodes, strict=True):
        made = maker.graph(GraphShape(purpose=purpose), False)
        graph = made.problem.requests[0].graph
        ops = [tensor.op for tensor in graph.tensors if tensor.op is not Op.NONE]
        assert ops == [Op.VIEW, Op.ROPE] * (count // 2)
        assert made.input_classes == ("llm_graph_input_k_shift",)
        for tensor in graph.tensors:
            if tensor.op is Op.ROPE:
                owner = graph.tensors[tensor.view_src]
                assert owner.name.startswith("cache_k_l")
                assert (tensor.nbytes, tensor.view_offs) == (owner.nbytes, 0)


def test_a_quantised_cache_is_taken_apart_to_be_shifted() -> None:
    wide = msgspec.structs.replace(MODELS["qwen3"], head_size=64)
    shift = GraphShape(purpose=Purpose.SHIFT)
    maker = maker_of(wide, flash_attn=FlashAttn.ON, type_k=DTYPES["q8_0"])
    ops = [tensor.op for tensor in tensors_of(maker, shift) if tensor.op is not Op.NONE]
    turn = [Op.RESHAPE, Op.MUL_MAT, Op.RESHAPE]
    assert ops == [Op.VIEW, Op.CPY, *turn, Op.ROPE, *turn, Op.CPY] * 2
    with pytest.raises(InputError, match=r"-ctk q8_0: llama\.cpp crashes when it shifts heads of 32"):
        tensors_of(maker_of("qwen3", flash_attn=FlashAttn.ON, type_k=DTYPES["q8_0"]), shift)
    for model, purpose in (("llama", Purpose.SHIFT_SWA), ("mamba", Purpose.SHIFT)):
        with pytest.raises(InputError, match="has no such cache"):
            tensors_of(maker_of(model), GraphShape(purpose=purpose))
