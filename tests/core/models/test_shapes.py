"""Graphs of shapes that no recording has: streams, inputs, pooling, samplers, states, and what does not fit."""

from itertools import pairwise, product
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from galloscope.core.build import build_forward
from galloscope.core.errors import InputError
from galloscope.core.events import Event, MarkCompute, Visit
from galloscope.core.graph import Order
from galloscope.core.llama.options import FlashAttn, Pooling
from galloscope.core.models.shape import GraphShape
from galloscope.core.op import Op
from galloscope.core.tensor import Flag, Tensor
from galloscope.tests.core.models.makers import COMPUTE, maker_of, rows, tensors_of
from galloscope.tests.core.models.recorded import MODELS


def test_views_of_the_cache_keep_the_strides_of_the_whole_cache() -> None:
    for flash in (False, True):
        maker = maker_of("llama", n_ctx=1024, flash_attn=FlashAttn.ON if flash else FlashAttn.OFF)
        whole, seen = (tensors_of(maker, GraphShape(n_kv=n_kv)) for n_kv in (1024, 256))
        for kind in ("k", "v"):
            cells = [_views(tensors, f"cache_{kind}_l0")[0] for tensors in (whole, seen)]
            assert cells[0].nb == cells[1].nb
            assert sorted(zip(cells[0].ne, cells[1].ne, strict=True))[-1] == (1024, 256)


def _views(tensors: tuple[Tensor, ...], name: str) -> list[Tensor]:
    return [one for one in tensors if one.op is Op.VIEW and one.name.startswith(f"{name} (view)")]


@pytest.mark.parametrize("flash", [FlashAttn.ON, FlashAttn.OFF])
def test_streams_are_read_from_the_first_one_on(flash: FlashAttn) -> None:
    maker = maker_of("gemma3", n_ctx=2048, n_seq_max=4, flash_attn=flash, swa_full=True)
    two = GraphShape(n_tokens=2, n_seqs=2, n_seqs_unq=2, n_outputs=2, n_kv=256, n_kv_swa=256, n_stream=2)
    for first, kind, layer in product((0, 1, 2), "kv", (0, 1)):
        tensors = tensors_of(maker, msgspec.structs.replace(two, first_stream=first))
        (view,) = _views(tensors, f"cache_{kind}_l{layer}")
        owner = tensors[view.view_src]
        assert view.ne[3] == 2
        assert view.nb[3] == owner.nb[2]
        assert view.view_offs == first * owner.nb[2]
        assert {one.ne[3] for one in tensors if one.name.startswith("attn_inp_kq_mask")} == {2}
    with pytest.raises(InputError, match="KV streams 3 and 1 more, there are 4"):
        tensors_of(maker, msgspec.structs.replace(two, first_stream=3))


@pytest.mark.parametrize(
    ("given", "inputs", "computed"),
    [
        ({}, (True, False), {"inp_tokens"}),
        ({"token": False, "embd": True}, (False, True), set()),
        ({"embd": True}, (True, True), {"inp_mixed_tokens", "inp_mixed_embd", "inp_mixed_slots"}),
    ],
)
def test_one_of_the_ways_into_the_graph_is_computed(
    given: dict[str, Any], inputs: tuple[bool, bool], computed: set[str]
) -> None:
    shape = GraphShape(n_tokens=3, n_seqs=3, n_kv=256, **given)
    assert (shape.token, shape.embd) == inputs
    graph = maker_of("llama").graph(shape, False).problem.requests[0].graph
    events: list[Event] = []
    build_forward(graph, Order.LEFT_TO_RIGHT, events.append)
    marked = {event.tensor for event in events if isinstance(event, MarkCompute)}
    marked |= {event.tensor for event in events if isinstance(event, Visit) and event.compute}
    sources = {graph.tensors[source].name for one in marked for source in graph.tensors[one].src}
    assert {name for name in sources if name.startswith(("inp_mixed", "inp_tokens"))} == computed


@pytest.mark.parametrize(
    ("pooling", "classes", "name"),
    [
        (Pooling.UNSPECIFIED, (), "result_embd_pooled"),
        (Pooling.NONE, (), "result_embd_pooled"),
        (Pooling.MEAN, ("llm_graph_input_mean",), "mean"),
        (Pooling.CLS, ("llm_graph_input_cls",), "cls"),
        (Pooling.LAST, ("llm_graph_input_cls",), "cls"),
        (Pooling.RANK, ("llm_graph_input_cls",), "cls"),
    ],
)
def test_embeddings_are_pooled_per_sequence(pooling: Pooling, classes: tuple[str, ...], name: str) -> None:
    model = msgspec.structs.replace(MODELS["qwen3"], optional=frozenset({"cls.output.weight"}))
    maker = maker_of(model, pooling=pooling, n_seq_max=3, kv_unified=True)
    shape = GraphShape(n_tokens=6, n_seqs=6, n_seqs_unq=3, n_outputs=6, n_kv=256, embeddings=True)
    made = maker.graph(shape, False)
    tensors = {tensor.name: tensor for tensor in made.problem.requests[0].graph.tensors}
    assert made.input_classes[4:] == classes
    assert name in tensors
    pooled = tensors["result_embd_pooled"]
    assert pooled.flags & Flag.OUTPUT
    assert pooled.ne[:2] == ((1 if pooling is Pooling.RANK else 64), 3 if classes else 6)
    assert (pooled.op is Op.SOFT_MAX) == (pooling is Pooling.RANK)
    without = maker.graph(msgspec.structs.replace(shape, embeddings=False), False)
    assert len(without.input_classes) == 4


def test_the_models_own_pooling_counts_when_nothing_else_is_asked_for() -> None:
    shape = GraphShape(n_tokens=2, n_seqs=2, n_outputs=2, n_kv=256, embeddings=True)
    for number, text in ((1, "llm_graph_input_mean"), (3, "llm_graph_input_cls")):
        own = msgspec.structs.replace(MODELS["llama"], extra={"pooling_type": number})
        assert maker_of(own).graph(shape, False).input_classes[-1] == text
    ranked = msgspec.structs.replace(MODELS["llama"], extra={"pooling_type": 4, "classifier.pooling_type": 1})
    assert maker_of(ranked).graph(shape, False).input_classes[-1] == "llm_graph_input_mean"
    unknown = maker_of(msgspec.structs.replace(MODELS["llama"], extra={"pooling_type": 77}))
    assert unknown.graph(msgspec.structs.replace(shape, embeddings=False), False).input_classes
    with pytest.raises(InputError, match=r"pooling_type 77: llama\.cpp stops"):
        unknown.graph(shape, False)


def test_a_sampler_without_output_is_in_the_graph_but_not_computed() -> None:
    maker = maker_of("llama", n_seq_max=3, kv_unified=True)
    shape = GraphShape(n_tokens=3, n_seqs=3, n_seqs_unq=3, n_outputs=2, n_kv=256, samplers=((0, 1), (2, -1)))
    made = maker.graph(shape, False)
    nodes, _ = rows(made.problem.requests[0].graph)
    found = {tuple(row[3]): row[4] for row in nodes if row[0] == "PAD"}
    assert found == {(256, 3, 1, 1): COMPUTE | Flag.OUTPUT}
    assert [row[4] for row in nodes if row[0] == "ARGMAX"] == [COMPUTE | Flag.OUTPUT, 0]
    assert made.input_classes[-1] == "llm_graph_input_sampling"
    views = {one.name: one.view_offs for one in tensors_of(maker, shape) if one.name.startswith("logits_seq")}
    assert views["logits_seq_0_0"] == 256 * 4
    assert views["logits_seq_2_0"] == 0


def test_a_warmup_computes_all_experts_and_adds_up_the_usual_number() -> None:
    maker = maker_of("mixtral")
    for warmup, used in ((False, 2), (True, 4)):
        tensors = tensors_of(maker, GraphShape(n_kv=256, warmup=warmup))
        assert {tensor.ne[1] for tensor in tensors if tensor.op is Op.MUL_MAT_ID} == {used}
        assert sum(one.op is Op.ADD and one.name.startswith("ffn_moe_out") for one in tensors) == 2


def test_equal_shapes_give_the_same_object() -> None:
    maker = maker_of("llama")
    assert maker.graph(GraphShape(n_kv=256), False).problem is maker.graph(GraphShape(n_kv=256), False).problem
    causal, other = (tensors_of(maker, GraphShape(n_kv=256, causal=causal)) for causal in (True, False))
    assert causal == other


@pytest.mark.parametrize(
    ("model", "changed", "sentence"),
    [
        ("llama", {"n_tokens": 9, "n_seqs": 9}, "a micro-batch of 9 tokens with 1 outputs"),
        ("llama", {"n_tokens": 0, "n_seqs": 0}, "a micro-batch of 0 tokens"),
        ("llama", {"n_outputs": 2}, "a micro-batch of 1 tokens with 2 outputs"),
        ("llama", {"n_outputs": -1}, "a micro-batch of 1 tokens with -1 outputs"),
        ("llama", {"n_tokens": 4}, "1 sequences of 1 tokens are not the 4 tokens"),
        ("llama", {"n_seqs_unq": 2}, "2 different sequences in a micro-batch, -np allows 1 to 1"),
        ("llama", {"token": False}, "tokens, embeddings or both"),
        ("llama", {"samplers": ((0, 1),)}, "the sampler of sequence 0 reads output 1 of 1"),
        ("llama", {"n_kv": 0}, "n_kv 0: a cache of 512 cells"),
        ("llama", {"n_kv": 513}, "n_kv 513: a cache of 512 cells"),
        ("gemma3", {"n_kv_swa": 257}, "n_kv 257: a cache of 256 cells"),
        ("mamba", {"n_rs": 0}, "0 recurrent states from 0 on for 1 sequences"),
        ("mamba", {"n_rs": 1, "rs_head": 1}, "1 recurrent states from 1 on"),
        ("mamba", {"n_rs": 1, "rs_z": 1}, "recurrent state 1 is cleared, there are 1"),
    ],
)
def test_a_shape_that_does_not_fit(model: str, changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        tensors_of(maker_of(model), GraphShape(**{"n_kv": 256, "n_kv_swa": 256, **changed}))


@given(
    st.sampled_from(["llama", "gemma3", "qwen3moe"]),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(1, 4),
    st.sampled_from(FlashAttn),
)
@settings(max_examples=40, deadline=None)
def test_streams_split_the_tokens_evenly(model: str, rounds: int, first: int, streams: int, flash: FlashAttn) -> None:
    assume(first + streams <= 4)
    maker = maker_of(model, n_ctx=1024, n_ubatch=16, n_seq_max=4, flash_attn=flash)
    n_tokens = rounds * streams
    shape = GraphShape(
        n_tokens=n_tokens, n_seqs=streams, n_seq_tokens=rounds, n_seqs_unq=streams, n_outputs=streams,
        n_kv=256, n_kv_swa=256 if model == "gemma3" else 0, first_stream=first, n_stream=streams,
    )  # fmt: skip
    tensors = tensors_of(maker, shape)
    masks = [one for one in tensors if one.name.startswith("attn_inp_kq_mask")]
    assert {mask.ne for mask in masks} == {(256, rounds, 1, streams)}
    for one in tensors:
        if one.op in (Op.SOFT_MAX, Op.FLASH_ATTN_EXT) and one.ne[3] == streams and "moe" not in one.name:
            mask = tensors[one.src[1 if one.op is Op.SOFT_MAX else 3]]
            assert mask in masks


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(1, 4), st.integers(-1, 3))
@settings(max_examples=40, deadline=None)
def test_every_recurrent_state_that_takes_part_is_written_once(
    n_seqs: int, rounds: int, head: int, n_rs: int, zeroed: int
) -> None:
    assume(n_seqs <= n_rs and head + n_rs <= 4)
    maker = maker_of("mamba", n_seq_max=4, n_ubatch=16)
    shape = GraphShape(
        n_tokens=n_seqs * rounds, n_seqs=n_seqs, n_seq_tokens=rounds, n_seqs_unq=n_seqs, n_outputs=1,
        n_rs=n_rs, rs_head=head, rs_z=zeroed,
    )  # fmt: skip
    tensors = tensors_of(maker, shape)
    for kind in ("r", "s"):
        owner = next(one for one in tensors if one.name == f"cache_{kind}_l1")
        place = tensors.index(owner)
        writes = [one for one in tensors if one.op is Op.CPY and one.view_src == place and one.nbytes]
        spans = sorted((one.view_offs, one.view_offs + one.nbytes) for one in writes)
        row = owner.nb[1]
        assert spans[0][0] == head * row
        assert spans[-1][1] == (head + n_rs) * row
        assert all(before[1] == after[0] for before, after in pairwise(spans))
        cleared = [one for one in tensors if one.op is Op.SCALE and one.view_src == place]
        assert [(one.ne[0], one.view_offs) for one in cleared] == [
            (owner.ne[0] if zeroed >= 0 else 0, max(zeroed, 0) * row)
        ]
