"""Sentences: both values of the condition that failed, what it means, and what became of the addresses."""

import doctest
from typing import Any

import pytest

from galloscope.core.decode import meanings, words
from galloscope.core.decode.events import Check
from galloscope.core.decode.life import Life, StepSeen
from galloscope.core.decode.meanings import meaning
from galloscope.core.decode.reuse import CONDITIONS, PREFIX
from galloscope.core.decode.words import (
    counted,
    pipeline_sentences,
    realloc_words,
    reservation_sentences,
    step_sentences,
    ubatch_sentences,
)
from galloscope.tests.core.decode.played import GPU, played


def told(steps: str, number: int, model: str = "llama", more: str = "", **context: Any) -> str:
    log, life = played(steps, model, more, **context)
    return "\n".join(one.text for one in ubatch_sentences(log, life, number))


PROMPT = "{decode: [{n: 8}]}"
ONE = "{decode: [{n: 1}]}"


def test_re_used() -> None:
    text = told(f"[{PROMPT}, {ONE}, {ONE}]", 2)
    assert text.startswith("Re-used (re-use 1): all 17 conditions hold")
    assert text.endswith(
        "Same addresses and shapes since ubatch 1: a CUDA graph captured then stays valid. "
        "Same addresses since ubatch 0."
    )


def test_a_rebuilt_graph_of_other_shapes_at_the_same_addresses() -> None:
    text = told(f"[{PROMPT}, {ONE}, {ONE}]", 1)
    assert "No tensor moved since ubatch 0, but the shapes are others than before: a CUDA graph captured before" in text
    assert told(f"[{PROMPT}, {ONE}, {ONE}]", 2).count("shapes are others") == 0


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (f"[{PROMPT}, {ONE}]", "2 of 10 conditions asked fail."),
        (f"[{PROMPT}, {ONE}, {ONE}]", "all 17 conditions hold"),
    ],
)
def test_conditions_are_counted_as_they_were_asked(steps: str, said: str) -> None:
    log, life = played(steps)
    last = life.ubatches[-1]
    text = "\n".join(one.text for one in ubatch_sentences(log, life, last.number))
    assert said in text
    assert counted(last).lower().rstrip(".") in text.lower()


@pytest.mark.parametrize(
    ("model", "call", "why"),
    [
        ("mamba", "[0, 3, -1]", "a recurrent state cannot be rolled back"),
        ("qwen3next", "[0, 3, -1]", "a recurrent state cannot be rolled back"),
        ("mamba", "[-1, -1, -1]", "recurrent states are removed of one sequence at a time"),
        ("llama", "[0, 3, -1]", ""),
        ("mamba", "[0, -1, -1]", ""),
    ],
)
def test_a_removal_that_is_refused(model: str, call: str, why: str) -> None:
    _, life = played(f"[{PROMPT}, {{seq_rm: {call}}}, {ONE}]", model)
    text = " ".join(one.text for one in step_sentences(life, 1))
    assert life.steps[1].not_removed == why
    assert (f"The removal was refused (llama_memory_seq_rm returns false): {why}." in text) == bool(why)


def test_the_first_graph() -> None:
    text = told(f"[{PROMPT}]", 0)
    assert text.startswith("Rebuilt: it is the first of this context; reserved graphs are never used again.")
    assert "These are the first addresses" in text


@pytest.mark.parametrize(
    ("steps", "options", "model", "number", "sentence"),
    [
        (f"[{PROMPT}, {ONE}]", {}, "llama", 1, "because the number of tokens was 8 and is 1 (n_tokens)"),
        (
            f"[{PROMPT}, {{decode: [{{n: 8}}], logits: all}}]",
            {},
            "llama",
            1,
            "because the number of outputs was 1 and is 8 (n_outputs)",
        ),
        (
            f"[{PROMPT}, {{decode: [{{n: 8}}], logits: none}}]",
            {},
            "llama",
            1,
            "has no outputs and the graph before had",
        ),
        (
            f"[{PROMPT}, {{decode: [{{n: 8}}], input: embd}}]",
            {},
            "llama",
            1,
            "the kind of input was tokens and is embeddi",
        ),
        (
            f"[{PROMPT}, {{set_causal_attn: false}}, {PROMPT}]",
            {},
            "llama",
            1,
            "llama_set_causal_attn was yes and is no",
        ),
        (f"[{PROMPT}, {{set_embeddings: true}}, {PROMPT}]", {}, "llama", 1, "llama_set_embeddings was no and is yes"),
        (
            "[{decode: [{n: 256}]}, {decode: [{n: 1}], repeat: 2}]",
            {"n_ubatch": 1, "n_batch": 256},
            "llama",
            256,
            "was 256 and is 512 (kq_m",
        ),
        (f"[{ONE}, {ONE}]", {}, "mamba", 1, "the state that is zeroed was 0 and is -1 (rs_z of llm_graph_input_rs)"),
        (
            "[{decode: [{seq: 0}, {seq: 1}]}, {decode: [{seq: 2}, {seq: 3}]}]",
            {"n_seq_max": 4},
            "llama",
            1,
            "the ids of the sequences was [0, 1] and is [2, 3]",
        ),
        (
            "[{decode: [{seq: 0}, {seq: 1}]}, {decode: [{seq: 0}]}]",
            {"n_seq_max": 4},
            "llama",
            1,
            "the number of different sequences was 2 and is 1",
        ),
        (
            f"[{PROMPT}, {PROMPT}]",
            {"embeddings": True, "pooling_type": 1},
            "llama",
            1,
            "llm_graph_input_mean (mean pooling",
        ),
        (
            f"[{ONE}, {{clear_cvec: true}}, {ONE}]",
            {},
            "llama",
            1,
            "there was a new reservation before it (the control vecto",
        ),
        (
            f"[{PROMPT}, {{seq_rm: [0, 0, 2]}}, {{seq_add: [0, 2, -1, -2]}}, {ONE}]",
            {},
            "llama",
            1,
            "positions were shifted or streams copied before it",
        ),
    ],
)
def test_why_rebuilt(steps: str, options: dict[str, Any], model: str, number: int, sentence: str) -> None:
    lines = told(steps, number, model, **options).split("\n")
    assert lines[0].startswith("Rebuilt")
    assert sentence in lines[0]


def test_re_use_disabled() -> None:
    text = told(f"[{ONE}, {ONE}]", 1, more="env: {LLAMA_GRAPH_REUSE_DISABLE: 1}")
    assert "graph re-use is disabled (LLAMA_GRAPH_REUSE_DISABLE is set)" in text


def test_what_else_differs() -> None:
    assert "These differ, too: n_seqs 8 → 1." in told(f"[{PROMPT}, {ONE}]", 1)


def test_planned_anew_because_of_op_offload() -> None:
    more = f"devices: [{GPU}]\nmodel_params: {{n_gpu_layers: 2}}"
    steps = "[{decode: [{n: 32}]}, {decode: [{n: 1}]}]"
    text = told(steps, 1, "llama_4l", more, n_ubatch=64)
    assert "Planned anew: node 3 went from GPU0 to CPU since the split before." in text
    assert "Addresses changed with it" in text


def test_kept_plan() -> None:
    assert "fits into the plan in force" in told(f"[{PROMPT}, {ONE}]", 1)


def test_needs_realloc_in_words() -> None:
    steps = f"[{PROMPT}, {{set_embeddings: true}}, {PROMPT}]"
    assert "Planned anew: the plan was made for 81 nodes, the graph has 84." in told(steps, 1, pooling_type=1)
    assert (
        realloc_words(("node", 0, "embd", 2048, 4096)) == "node 0, `embd`, needs 4 KiB, and the plan has 2 KiB for it."
    )
    assert realloc_words(("src", 138, 0, "out_ids", 0, 4)).startswith("source 0 of node 138, `out_ids`, needs 4 B")
    assert realloc_words(None) == "the graph did not fit into the plan in force."
    assert realloc_words(("something", 1)).endswith("in force: something 1.")


def test_aborted() -> None:
    assert "The abort callback ended the computation" in told(f"[{{set_abort: true}}, {ONE}]", 0)


def test_calls() -> None:
    steps = f"[{PROMPT}, {{decode: [{{n: 1, pos: 99}}]}}, {{seq_rm: [0, 0, 2]}}, {{seq_add: [0, 2, -1, -2]}}, {ONE}]"
    _, life = played(steps)
    refused, shift = (" ".join(one.text for one in step_sentences(life, index)) for index in (1, 4))
    assert "The batch was refused (llama_decode returns -1): sequence 0" in refused
    assert "Positions were shifted" in shift
    assert "Reserved because positions were changed: pp of 32 tokens" in shift
    full = Life(steps=[StepSeen(0, 0, ret=1, refused="no room")])
    assert step_sentences(full, 0)[0].text.startswith("No slot in the memory (llama_decode returns 1): no")


def test_reserved_at_the_start() -> None:
    _, life = played(f"[{ONE}]")
    text = reservation_sentences(life.reservations[0])[0].text
    assert text == (
        "Reserved because the context is made: 3 graphs split to probe; pp of 32 tokens, 1 sequence, 32 outputs; tg of "
        "1 token, 1 sequence, 1 output; pp of 32 tokens, 1 sequence, 32 outputs."
    )


def test_pipeline_checklist() -> None:
    two = "devices: [{name: GPU0, alignment: 128}, {name: GPU1, alignment: 128}]"
    _, life = played(f"[{ONE}]", "llama_4l", two)
    ticked = [one.text for one in pipeline_sentences(life)]
    assert all(line.startswith("✓ ") for line in ticked[:-1])
    assert ticked[-1].startswith("Pipeline parallelism: 4 copies")
    _, life = played(f"[{ONE}]", "llama_4l", two, offload_kqv=False)
    crossed = [one.text for one in pipeline_sentences(life)]
    assert sum(line.startswith("✗ ") for line in crossed) >= 1
    assert crossed[-1].startswith("No pipeline parallelism: ")
    assert pipeline_sentences(Life()) == []


def test_pipeline_given_up() -> None:
    two = (
        "devices: [{name: GPU0, alignment: 128, alloc_limit: 1300000}, "
        "{name: GPU1, alignment: 128, alloc_limit: 1300000}]"
    )
    _, life = played(f"[{ONE}]", "llama_4l", two, n_ubatch=64, n_batch=256)
    assert life.reservations[0].dropped >= 0
    assert "Pipeline parallelism was given up" in reservation_sentences(life.reservations[0])[1].text
    assert pipeline_sentences(life)[-1].text.startswith("Pipeline parallelism was given up")


def test_every_condition_has_words() -> None:
    """Every name that core/decode/reuse.py gives to a condition."""
    params = "equal_seqs n_tokens n_seq_tokens n_seqs n_seqs_unq input seq_id_unq n_outputs samplers output seq_id"
    for name in (*params.split(), "embeddings", "causal_attn"):
        assert meaning(Check("params", name, "1", "2", False)) is not meanings._OTHER, name
    inputs = "tokens.ne0 embd.ne1 pos.ne0 n_outputs k_idxs.ne0 k_idxs_swa.ne0 kq_mask.ne0 kq_mask.ne1 kq_mask.ne3 "
    inputs += "kq_mask_swa.ne0 s_copy.ne0 s_copy_main.ne0 s_copy_extra.ne0 head rs_z samplers can_reuse"
    for name in inputs.split():
        assert meaning(Check("llm_graph_input_x", name, "1", "2", False)) is not meanings._OTHER, name
    assert meaning(Check("params", "new", "1", "2", False)) is meanings._OTHER
    assert set(CONDITIONS) <= set(meanings.CLASSES)
    assert meanings.class_words(f"{PREFIX}unheard_of") == "unheard_of"


@pytest.mark.parametrize("module", [words, meanings])
def test_examples(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]
