"""Graphs from the real llama.cpp: the same ones as our builders make, and enough for a session without a builder."""

from __future__ import annotations

import msgspec
import pytest

from galloscope.core.decode.life import fold
from galloscope.core.decode.native_graphs import NativeGraphs
from galloscope.core.decode.session import play
from galloscope.core.decode.setup import make_setup
from galloscope.core.errors import InputError
from galloscope.core.models.shape import GraphShape, Purpose
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import script_of
from galloscope.tests.core.native.support import needs_wheel

pytestmark = needs_wheel


@pytest.mark.parametrize(
    "name", ["gpu1-llama-half", "gemma3-seqs", "gpu2-shift", "llama-pool-mean", "mamba-ids", "sampler", "streams-shape"]
)
def test_our_builders_make_the_same_graphs(name: str) -> None:
    script = script_of(name)
    header = header_of(script.model)
    theirs, (_, ours) = NativeGraphs(header, script), make_setup(script, header)
    for shape in theirs.played.shapes:
        one, other = theirs.graph(shape), ours.graph(shape)
        assert one.problem.requests[0].graph.tensors == other.problem.requests[0].graph.tensors, shape
        assert one.input_classes == other.input_classes, shape
        assert (one.problem.bufts, one.problem.backends) == (other.problem.bufts, other.problem.backends)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen3next", "streams-shape"),
        ("qwen3next", "gpu1-llama-half"),
        ("gptoss", "gemma3-swa-fa"),
        ("gptoss", "gpu2-shift"),
        ("deepseek2", "gpu2-pipeline-noreuse"),
        ("deepseek2", "llama-uneven-streams"),
    ],
)
def test_a_session_without_a_builder_is_decided_as_llama_cpp_does(model: str, name: str) -> None:
    script = msgspec.structs.replace(script_of(name), model=f"{model}.gguf")
    source = NativeGraphs(header_of(script.model), script)
    life = fold(play(script, header_of(script.model), source))
    played = source.played
    theirs = [one for step in played.steps for one in step.ubatches]
    assert [step.ret for step in life.steps] == [step.ret for step in played.steps]
    assert len(theirs) == len(life.ubatches)
    for one, ours in zip(theirs, life.ubatches, strict=True):
        seen, facts = played.facts[one.facts], ours.facts
        assert facts is not None
        assert (ours.ubatch, ours.reused, ours.n_reused) == (one.ubatch, one.reused, one.n_reused)
        assert (ours.n_copies, ours.cur_copy, ours.next_copy) == (one.n_copies, one.cur_copy, one.next_copy)
        assert (facts.splits, facts.sched_nodes, facts.sched_leafs) == (
            seen.splits, seen.sched_nodes, seen.sched_leafs,
        )  # fmt: skip
        assert facts.compute_sizes == seen.compute_sizes


@pytest.mark.parametrize(("model", "name"), [("qwen3next", "gpu2-shift"), ("llama_q4_tied", "gpu1-llama-half")])
def test_weights_and_caches_lie_where_llama_cpp_puts_them(model: str, name: str) -> None:
    script = msgspec.structs.replace(script_of(name), model=f"{model}.gguf")
    header = header_of(script.model)
    setup, _ = make_setup(script, header)
    assert NativeGraphs(header, script).static == setup.static


def test_equal_shapes_give_the_same_object() -> None:
    script = script_of("llama-basic")
    source = NativeGraphs(header_of(script.model), script)
    shape = source.played.shapes[-1]
    assert source.graph(shape) is source.graph(msgspec.structs.replace(shape))


def test_a_shape_that_llama_cpp_never_built_is_refused() -> None:
    script = script_of("llama-basic")
    source = NativeGraphs(header_of(script.model), script)
    for shape, said in (
        (GraphShape(n_tokens=7, n_kv=256), "no graph for n_tokens 7, n_kv 256 in this session"),
        (GraphShape(purpose=Purpose.SHIFT), "no graph for the shift of a cache"),
    ):
        with pytest.raises(InputError, match=said):
            source.graph(shape)
