"""The real llama.cpp plays the recorded sessions without weights: every decision is the recorded one."""

from __future__ import annotations

import ctypes as C
from typing import Any

import pytest

from galloscope.core.decode.script import Script
from galloscope.core.errors import InputError
from galloscope.core.native import play_layouts as more
from galloscope.core.native.play import play
from galloscope.core.native.play_messages import Facts, Played, PlayedPlan, PlayedUbatch
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.played import script
from galloscope.tests.core.decode.recordings import recording, script_of
from galloscope.tests.core.native.support import needs_wheel

SESSIONS = (
    "bad-pos", "ctx-odd-unified", "gemma3-swa-fa", "gpu1-half-grow", "gpu2-embd", "gpu2-override",
    "gpu2-pipeline-noreuse", "gpu2-pool-late", "gpu2-shift", "llama-causal", "llama-cvec", "llama-fa-auto",
    "llama-ids-streams", "llama-outputs-max", "llama-pool-mean", "llama-seq-cp-streams", "mamba-embeddings",
    "mamba-seq-rm", "many-ubatches", "qwen3moe-seqs", "sampler", "streams-coupled",
)  # fmt: skip
"""One at least for each mechanism."""
FACTS = ("sched_nodes", "sched_leafs", "compute_sizes", "splits", "galloc_hash_size")
NUMBERS = ("reused", "n_reused", "ok", "status", "n_copies", "cur_copy", "next_copy")


def words(trace: list[Any]) -> list[str]:
    """The trace of a recording without its details."""
    return [word if isinstance(word, str) else word[0] for word in trace]


def lists(value: Any) -> Any:
    """Tuples as JSON has them."""
    return [lists(one) for one in value] if isinstance(value, (tuple, list)) else value


def check_facts(facts: Facts, want: dict[str, Any], where: str) -> None:
    pool = want["pool"]
    assert {name: lists(getattr(facts, name)) for name in FACTS} == {name: want[name] for name in FACTS}, where
    assert (facts.n_nodes, facts.n_leafs, facts.graph_size, facts.used_bytes) == (
        pool["n_nodes"], pool["n_leafs"], pool["graph_size"], pool["used_bytes"],
    ), where  # fmt: skip
    inputs = lists(facts.inputs)
    # in a recorded micro-batch with pipeline copies each input stands there twice
    assert want["inputs"] in (inputs, inputs + inputs), where
    assert lists(facts.input_classes) == want.get("input_classes", lists(facts.input_classes)), where


def check_plans(played: Played, got: list[PlayedPlan], wanted: list[dict[str, Any]], where: str) -> None:
    assert len(got) == len(wanted), where
    names = ("n_tokens", "n_seqs", "n_outputs", "split_only", "ok", "n_copies", "cur_copy", "next_copy")
    for number, (one, want) in enumerate(zip(got, wanted, strict=True)):
        place = f"{where}, reserve {number}"
        assert [getattr(one, name) for name in names] == [want[name] for name in names], place
        assert one.trace == words(want["trace"]), place
        check_facts(played.facts[one.facts], want, place)


def check_ubatch(played: Played, one: PlayedUbatch, want: dict[str, Any], where: str) -> None:
    ubatch, wanted = one.ubatch, want["ubatch"]
    assert (ubatch.equal_seqs, ubatch.n_tokens, ubatch.n_seq_tokens, ubatch.n_seqs, ubatch.n_seqs_unq) == (
        bool(wanted["equal_seqs"]), wanted["n_tokens"], wanted["n_seq_tokens"], wanted["n_seqs"], wanted["n_seqs_unq"],
    ), where  # fmt: skip
    for name in ("token", "embd", "seq_id_unq", "pos", "seq"):
        assert lists(getattr(ubatch, name)) == wanted[name], where
    assert [int(out) for out in ubatch.out] == wanted["out"], where
    assert [getattr(one, name) for name in NUMBERS] == [want[name] for name in NUMBERS], where
    asked = want["can_reuse"]
    assert one.can_reuse == (None if asked is None else asked["result"]), where
    assert one.result == want["res_id"], where
    assert [word for word in one.trace if word != "replanned"] == words(want["trace"]), where
    splits = [word[2]["ids_changed"] for word in want["trace"] if word[0] == "split"]
    assert lists(one.ids_changed) == (splits[0] if splits else None), where
    shape, memory = one.shape, want["mem"]
    assert {shape.n_kv, shape.n_kv_swa} - {0} == set(memory.get("n_kv", ())), where
    for name, asked_for in (("n_rs", shape.n_rs), ("head", shape.rs_head), ("rs_z", shape.rs_z)):
        assert memory.get(name, [asked_for]) == [asked_for], where
    check_facts(played.facts[one.facts], want, where)


@needs_wheel
@pytest.mark.parametrize("name", SESSIONS)
def test_every_decision_is_the_recorded_one(name: str) -> None:
    given, record = script_of(name), recording(name)
    played = play(header_of(given.model), given)
    init = record["init"]
    assert played.n_ctx == init["effective"]["n_ctx"]
    assert [backend for backend, _ in played.backends] == init["backends"]
    assert [buft for _, buft in played.backends] == init["bufts"]
    assert (played.sched_hash_size, played.sched_context_buffer) == (
        init["sched_hash_size"], init["sched_context_buffer"],
    )  # fmt: skip
    check_plans(played, played.start.reserves, init["reserves"], "the context")
    assert len(played.steps) == len(record["steps"])
    for number, (step, want) in enumerate(zip(played.steps, record["steps"], strict=True)):
        where = f"step {number}"
        assert step.ret == want.get("ret"), where
        assert step.n_reused == want["perf_n_reused"], where
        assert [word for word in step.trace if word != "replanned"] == words(want["trace"]), where
        check_plans(played, step.reserves, want.get("reserves", []), where)
        assert len(step.ubatches) == len(want.get("ubatches", [])), where
        for at, (one, other) in enumerate(zip(step.ubatches, want.get("ubatches", []), strict=True)):
            check_ubatch(played, one, other, f"{where}, micro-batch {at}")


@needs_wheel
def test_buffers_made_anew_are_named() -> None:
    played = play(header_of("llama_4l.gguf"), script_of("gpu1-half-grow"))
    made = {buft for step in played.steps for one in step.ubatches for buft, _ in one.buffers_made}
    assert made == {"GPU_Host"}


@needs_wheel
def test_an_abort_ends_a_decode_on_the_cpu() -> None:
    steps = "[{decode: [{n: 4}]}, {set_abort: true}, {decode: [{n: 1}]}, {set_abort: false}, {decode: [{n: 1}]}]"
    assert [step.ret for step in play(header_of("llama.gguf"), script(steps)).steps] == [0, None, 2, None, 0]


@needs_wheel
def test_every_call_returns_what_llama_cpp_returns() -> None:
    steps = (
        "[{decode: [{n: 250}]}, {decode: [{n: 10}]}, {seq_rm: [0, 4, -1]}, {synchronize: true}, {clear: true}, "
        "{set_warmup: true}, {decode: [{n: 1, pos: 0}]}, {set_embeddings: true}, {decode: [{n: 1, pos: 5}]}]"
    )
    played = play(header_of("llama.gguf"), script(steps, n_ctx=256, n_batch=256))
    assert [step.ret for step in played.steps] == [0, 1, 1, None, None, None, 0, None, -1]
    assert played.steps[6].ubatches[0].shape.warmup


@needs_wheel
@pytest.mark.parametrize(
    ("limit", "copies"),
    [(2_000_000, [4, 4, 4, 4, 4, 4]), (800_000, [4, 4, 4, 4, 1, 1, 1])],
)
def test_pipeline_copies_are_dropped_where_they_do_not_fit(limit: int, copies: list[int]) -> None:
    devices = "".join(f"{{name: GPU{number}, alignment: 128, alloc_limit: {limit}}}, " for number in (0, 1))
    given = script("[{decode: [{n: 4}]}]", "llama_4l", f"devices: [{devices}]", n_batch=256, n_ubatch=64)
    played = play(header_of("llama_4l.gguf"), given)
    assert [one.n_copies for one in played.start.reserves] == copies
    assert all(one.ok for one in played.start.reserves[-3:])


@needs_wheel
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (script("[{decode: [{n: 8}], logits: all}]", n_outputs_max=2), r"stopped \(SIGABRT\).*n_outputs_max"),
        (script("[{decode: [{n: 33}]}]"), r"stopped \(SIGABRT\).*n_tokens_all <= cparams\.n_batch"),
        (
            script("[clear: true]", more="devices: [{name: GPU0, alloc_limit: 30000}]"),
            "cannot load the model: .*unable to allocate GPU0 buffer",
        ),
        (script("[clear: true]", more="model_params: {tensor_override: ffn_up -> FPGA}"), "FPGA"),
    ],
)
def test_where_llama_cpp_stops_it_says_so(given: Script, said: str) -> None:
    with pytest.raises(InputError, match=said):
        play(header_of("llama.gguf"), given)


@needs_wheel
def test_a_long_session_is_stopped() -> None:
    with pytest.raises(InputError, match="did not answer within 0"):
        play(header_of("llama.gguf"), script("[{decode: [{n: 1}], repeat: 100000}]"), time_limit=0.3)


@needs_wheel
def test_a_cancelled_session_is_stopped() -> None:
    told: list[str] = []
    with pytest.raises(InputError, match="cancelled"):
        play(
            header_of("llama.gguf"),
            script("[{decode: [{n: 1}], repeat: 100000}]"),
            progress=told.append,
            cancelled=lambda: any("takes call" in text for text in told),
        )


@pytest.mark.parametrize(("struct", "size"), more.SIZES.items())
def test_structs_have_their_sizes(struct: Any, size: int) -> None:
    assert C.sizeof(struct) == size
