"""Totals and suggestions: counts that add up, reasons in the order of their number, no advice without evidence."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galloscope.core.decode.life import Life, fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.session import play
from galloscope.core.decode.suggest import suggestions
from galloscope.core.decode.summary import headline, summary, summary_sentences
from galloscope.core.gguf.read import read_header
from galloscope.core.text import bytes_text
from galloscope.tests.core.decode.played import GPU, played, script

PROMPT = "{decode: [{n: 8}]}"
ONE = "{decode: [{n: 1}]}"
HALF = f"devices: [{GPU}]\nmodel_params: {{n_gpu_layers: 2}}"


def topics(steps: str, model: str = "llama", more: str = "", **context: Any) -> dict[str, int]:
    log, life = played(steps, model, more, **context)
    return {one.topic: one.saves for one in suggestions(log, life)}


def test_headline() -> None:
    _, life = played("[{decode: [{n: 250}]}, {decode: [{n: 1}], repeat: 300}]", n_ctx=1024, n_ubatch=256)
    assert headline(summary(life)) == (
        "297 of 301 ubatches re-used; 2 rebuilds because n_kv stepped by 256; 1 rebuild because the context had no "
        "graph yet; 1 rebuild because the number of tokens changed"
    )


def test_nothing_happened() -> None:
    assert [one.text for one in summary_sentences(summary(Life()))] == ["no ubatch was computed."]


def test_costs_are_told() -> None:
    steps = (
        "[{decode: [{n: 32}]}, {decode: [{n: 1}]}, {decode: [{n: 1, pos: 99}]}, {set_abort: true}, {decode: [{n: 1}]}]"
    )
    _, life = played(steps, "llama_4l", HALF, n_ubatch=64)
    total = summary(life)
    assert (total.replanned, total.refused, total.aborted, total.rebuilt) == (1, 1, 1, 2)
    text = " ".join(one.text for one in summary_sentences(total))
    for piece in (
        "306 nodes built for 2 graphs and 918 for reservations; 3 plans and 3 probes reserved in 1 reservation, 1 time "
        "planned anew",
        "1 re-plan because ops went to other backends",
        "Tensors moved 1 time; none has since ubatch 1, addresses and shapes are the same since ubatch 1.",
        "1 batch refused.",
        "1 ubatch aborted or not allocated.",
    ):
        assert piece in text, text


@pytest.mark.parametrize(
    ("topic", "steps", "options", "model", "more", "saves"),
    [
        ("disabled", f"[{ONE}, {ONE}, {PROMPT}, {PROMPT}]", {}, "llama", "env: {LLAMA_GRAPH_REUSE_DISABLE: 1}", 2),
        ("n_outputs", f"[{PROMPT}, {{decode: [{{n: 8}}], logits: all}}, {PROMPT}]", {}, "llama", "", 2),
        ("n_outputs", f"[{ONE}, {{decode: [{{n: 1}}], logits: none}}, {ONE}]", {}, "llama", "", 2),
        ("n_tokens", f"[{PROMPT}, {{decode: [{{n: 5}}]}}, {ONE}, {PROMPT}]", {}, "llama", "", 1),
        (
            "kv_unified",
            "[{decode: [{seq: 0}]}, {decode: [{seq: 1}]}, {decode: [{seq: 1}]}]",
            {"n_seq_max": 2},
            "llama",
            "",
            1,
        ),
        ("n_seqs", "[{decode: [{seq: 0}, {seq: 1}]}, {decode: [{seq: 1}]}]", {"n_seq_max": 2}, "llama", "", 0),
        ("cut", "[{decode: [{seq: 0}, {seq: 2}], repeat: 3}]", {"n_seq_max": 3}, "llama", "", 6),
        ("n_kv", "[{decode: [{n: 250}]}, {decode: [{n: 1}], repeat: 9}]", {"n_ubatch": 256}, "llama", "", 0),
        ("causal_attn", f"[{ONE}, {{set_causal_attn: false}}, {ONE}]", {}, "llama", "", 1),
        ("embeddings", f"[{ONE}, {{set_embeddings: true}}, {ONE}]", {}, "llama", "", 1),
        ("input", f"[{ONE}, {{decode: [{{n: 1}}], input: embd}}]", {}, "llama", "", 1),
        ("pooling", f"[{PROMPT}, {PROMPT}]", {"embeddings": True, "pooling_type": 1}, "llama", "", 1),
        ("recurrent", f"[{ONE}, {ONE}]", {}, "mamba", "", 0),
        ("op_offload", "[{decode: [{n: 32}]}, {decode: [{n: 1}]}]", {}, "llama_4l", HALF, 1),
        ("needs_realloc", f"[{PROMPT}, {{set_embeddings: true}}, {PROMPT}]", {"pooling_type": 1}, "llama", "", 0),
        ("adapters", f"[{ONE}, {{clear_cvec: true}}, {ONE}]", {}, "llama", "", 1),
        ("shift", f"[{PROMPT}, {{seq_rm: [0, 0, 2]}}, {{seq_add: [0, 2, -1, -2]}}, {ONE}]", {}, "llama", "", 1),
        ("seq_cp", f"[{PROMPT}, {{seq_cp: [0, 1, -1, -1]}}, {ONE}]", {"n_seq_max": 2}, "llama", "", 1),
        ("no_slot", "[{decode: [{n: 250}]}, {decode: [{n: 30}]}]", {"n_ctx": 256, "n_batch": 256}, "llama", "", 0),
    ],
)
def test_advice_has_its_evidence(
    topic: str, steps: str, options: dict[str, Any], model: str, more: str, saves: int
) -> None:
    assert topics(steps, model, more, **options).get(topic) == saves


SAMPLES = Path(__file__).parents[3] / "sample_sessions"


def of_a_sample(steps: str, **context: Any) -> tuple[LifeLog, Life]:
    """On a model with 8,192 tokens of vocabulary."""
    log = play(script(steps, "small-llama", **context), read_header(SAMPLES / "small-llama.gguf"))
    return log, fold(log)


def test_fewer_outputs_are_advised_with_what_the_buffers_then_have() -> None:
    steps = "[{decode: [{n: 1}]}]"
    log, life = of_a_sample(steps, n_ubatch=512)
    text = next(one.markup for one in suggestions(log, life) if one.topic == "n_outputs_max")
    _, tried = of_a_sample(steps, n_ubatch=512, n_outputs_max=1)
    before, after = (one.reservations[0].plans[-1].facts.compute_sizes[0] for one in (life, tried))
    assert after < before
    assert f"(`CPU` {bytes_text(before)} → {bytes_text(after)})" in text
    assert "`n_outputs_max = 1`" in text


def test_fewer_outputs_are_not_advised_where_another_tensor_makes_the_peak() -> None:
    steps = f"[{ONE}]"
    log, life = played(steps, n_ubatch=256, n_batch=256)
    assert "n_outputs_max" not in {one.topic for one in suggestions(log, life)}
    _, tried = played(steps, n_ubatch=256, n_batch=256, n_outputs_max=1)
    before, after = (one.reservations[0].plans[-1].facts.compute_sizes[0] for one in (life, tried))
    assert 0 <= before - after < before / 100, "its logits are 256 KiB less, the buffer is not"


@pytest.mark.parametrize(
    ("steps", "ubatches"),
    [
        ("[{decode: [{n: 64}]}]", 2),
        ("[{decode: [{n: 64}]}, {decode: [{n: 64}]}]", 4),
        ("[{decode: [{n: 33}]}, {decode: [{n: 1}]}, {decode: [{n: 64}]}]", 5),
    ],
)
def test_a_batch_that_is_cut_is_no_change_of_flags(steps: str, ubatches: int) -> None:
    log, life = played(steps, n_batch=64)
    assert len(life.ubatches) == ubatches
    assert "slot" in {one.key for one in summary(life).reasons}
    assert "n_outputs" not in {one.topic for one in suggestions(log, life)}


def test_a_change_of_flags_is_seen_across_batches_that_are_cut() -> None:
    steps = "[{decode: [{n: 64}], logits: all}, {decode: [{n: 64}]}]"
    assert topics(steps, n_batch=64)["n_outputs"] == 1


def test_removals_that_are_refused_are_counted() -> None:
    _, life = played(f"[{PROMPT}, {{seq_rm: [0, 3, -1], repeat: 2}}, {{seq_rm: [0, -1, -1]}}]", "mamba")
    total = summary(life)
    assert total.not_removed == 2
    told = [one for one in summary_sentences(total) if one.topic == "not_removed"]
    assert [one.text for one in told] == ["2 removals refused: a recurrent state cannot be rolled back."]
    assert told[0].alarm


def test_probes_are_no_plans() -> None:
    _, life = played(f"[{ONE}, {{clear_cvec: true}}, {ONE}]")
    total = summary(life)
    assert (total.reservations, total.plans, total.probes) == (2, 6, 3)
    assert total.plans == sum(plan.facts.reserved for one in life.reservations for plan in one.plans)


def test_op_offload_is_told_by_rows() -> None:
    log, life = played("[{decode: [{n: 32}]}, {decode: [{n: 1}]}]", "llama_4l", HALF)
    text = next(one.sentence.text for one in suggestions(log, life) if one.topic == "op_offload")
    assert "ops with 32 rows and more take weights" in text
    assert "norms per head, earlier" in text


def test_no_advice_without_evidence() -> None:
    assert topics(f"[{ONE}, {ONE}]", n_outputs_max=1) == {}
    assert "op_offload" not in topics("[{decode: [{n: 32}]}, {decode: [{n: 1}]}]", "llama_4l", HALF, op_offload=False)
    unified = topics("[{decode: [{seq: 0}, {seq: 2}], repeat: 3}]", n_seq_max=3, kv_unified=True, n_outputs_max=3)
    assert unified == {}


def test_advice_that_is_followed_saves_what_it_says() -> None:
    """The cure of `disabled`, `cut` and `op_offload`, played."""
    for steps, before, after in (
        ("[{decode: [{seq: 0}, {seq: 2}], repeat: 3}]", {"n_seq_max": 3}, {"n_seq_max": 3, "kv_unified": True}),
        ("[{decode: [{seq: 0}]}, {decode: [{seq: 1}]}]", {"n_seq_max": 2}, {"n_seq_max": 2, "kv_unified": True}),
    ):
        lives = [played(steps, "llama", "", **context)[1] for context in (before, after)]
        assert summary(lives[1]).rebuilt < summary(lives[0]).rebuilt
    steps = "[{decode: [{n: 32}]}, {decode: [{n: 1}]}]"
    assert summary(played(steps, "llama_4l", HALF)[1]).replanned == 1
    assert summary(played(steps, "llama_4l", HALF, op_offload=False)[1]).replanned == 0


calls = st.sampled_from(
    [
        ONE,
        PROMPT,
        "{decode: [{n: 40}]}",
        "{decode: [{n: 3}], logits: all}",
        "{decode: [{seq: 1, n: 2}], logits: none}",
        "{decode: [{seq: 0}, {seq: 1}]}",
        "{decode: [{n: 1, pos: 999}]}",
        "{clear_cvec: true}",
        "{set_embeddings: true}",
        "{seq_rm: [0, -1, -1]}",
        "{set_abort: true}",
        "{set_abort: false}",
    ]
)


@settings(max_examples=40, deadline=None)
@given(st.lists(calls, min_size=1, max_size=8), st.sampled_from(["llama", "mamba"]), st.booleans())
def test_the_counts_add_up(steps: list[str], model: str, unified: bool) -> None:
    log, life = played(f"[{', '.join(steps)}]", model, n_seq_max=2, kv_unified=unified)
    total = summary(life)
    assert total.ubatches == total.reused + sum(one.count for one in total.reasons)
    assert total.reused == (life.ubatches[-1].n_reused if life.ubatches else 0)
    counts = [one.count for one in total.reasons]
    assert all(a >= b for a, b in pairwise(counts))
    for one in suggestions(log, life):
        assert one.saves <= max(total.rebuilt, total.reservations)
        assert -1 <= one.ubatch < total.ubatches
