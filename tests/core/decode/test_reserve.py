"""Which graphs a context reserves, and what it does when a device has no room."""

from __future__ import annotations

import json
from typing import Any

import pytest

from galloscope.core.decode.events import PipelineDropped, PlanReserved, Reserve, SchedReserve, Why
from galloscope.core.decode.life import fold
from galloscope.core.decode.log import LifeLog
from galloscope.core.decode.memory.memory import Seen
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.record import record
from galloscope.core.decode.reserve import Sizes, plans, probes, reserve_shape
from galloscope.core.decode.session import play
from galloscope.tests.core.decode.headers import header_of


def played(model: str = "llama_4l.gguf", steps: Any = (), **given: Any) -> LifeLog:
    text = json.dumps({"model": model, "steps": steps or [{"decode": [{"n": 8}]}], **given})
    return play(parse_script(text.encode(), "test"), header_of(model))


GPUS = [{"name": "GPU0"}, {"name": "GPU1"}]


def test_automatic_flash_attention_costs_one_more_probe() -> None:
    sizes = Sizes(512, 16, 3, 512, "llama")
    assert [tuple(one) for one in probes(sizes, False)] == [(Reserve.PROBE, 3, 3, 3, False)] * 3
    assert [one.probe_flash for one in probes(sizes, True)] == [True, False, False, False]


def test_prefill_decode_prefill() -> None:
    assert [tuple(one)[1:4] for one in plans(Sizes(512, 16, 3, 4, "llama"))] == [(16, 3, 4), (3, 3, 3), (16, 3, 4)]
    assert [one.n_seqs for one in plans(Sizes(512, 16, 3, 4, "kimi-linear"))] == [3, 3, 1]


@pytest.mark.parametrize(
    ("n_outputs", "n_seqs", "n_tokens", "samplers", "rows"),
    [
        (1, 1, 16, (0,), ((0, 0),)),
        (2, 2, 8, (1,), ((1, 1),)),
        (1, 2, 8, (1,), ((1, 0),)),
        (1, 2, 8, (0, 1), ((0, 0), (1, -1))),
        (3, 2, 8, (0, 5), ((0, 0), (5, -1))),
    ],
)
def test_sequences_with_a_sampler_get_their_outputs_first(
    n_outputs: int, n_seqs: int, n_tokens: int, samplers: tuple[int, ...], rows: tuple[tuple[int, int], ...]
) -> None:
    asked = next(plans(Sizes(512, n_tokens, n_seqs, n_outputs, "llama")))
    shape = reserve_shape(asked, Seen(n_kv=512), samplers, embeddings=False, causal=True, warmup=False)
    assert shape.samplers == rows


def test_a_plan_that_does_not_fit_with_four_copies_is_made_without_pipeline() -> None:
    free = fold(played(devices=GPUS))
    with_copies = free.reservations[0].plans[-1].facts.compute_sizes
    alone = fold(played(devices=[{**one, "async_events": False} for one in GPUS])).reservations[0].plans[-1].facts
    assert alone.compute_sizes[1] < with_copies[1], "copies cost memory"
    limit = (alone.compute_sizes[1] + with_copies[1]) // 2
    log = played(devices=[GPUS[0], {**GPUS[1], "alloc_limit": limit}])
    life = fold(log)
    first = life.reservations[0]
    kinds = [(one.kind, one.ok) for one in first.plans if one.kind is not Reserve.PROBE]
    pp, tg = Reserve.PREFILL, Reserve.DECODE
    assert kinds == [(pp, False), (pp, True), (tg, True), (pp, True)]
    assert first.dropped >= 0
    assert first.n_copies == 1
    assert all(holds for _, holds in life.conditions), "it was enabled, then dropped"
    assert [type(one) for one in log.events if isinstance(one, (PipelineDropped, SchedReserve))] == [
        SchedReserve,
        PipelineDropped,
    ]
    told = record(log)
    assert told["init"]["pipeline_parallel"] is True
    assert told["init"]["n_copies"] == 1
    assert told["steps"][0]["ubatches"][0]["n_copies"] == 1
    assert told["init"]["compute_sizes"] == list(alone.compute_sizes)


def test_no_room_at_all_ends_the_making_of_the_context() -> None:
    log = played(devices=[{**GPUS[0], "alloc_limit": 400_000}], context={"n_ctx": 512, "n_ubatch": 512})
    assert log.abort == "failed to allocate compute pp buffers"
    assert fold(log).steps == []
    assert [one.ok for one in log.events if isinstance(one, PlanReserved)][-1] is False


def test_a_batch_that_cannot_be_allocated_returns_minus_two_and_leaves_a_plan_without_buffer() -> None:
    """While it warms up, a mixture of experts computes all of them: more than was reserved."""
    steps = [{"decode": [{"n": 4}]}, {"set_warmup": True}, {"decode": [{"n": 128}]}, {"set_warmup": False}]
    steps += [{"decode": [{"n": 1}], "repeat": 2}]
    given = {"context": {"n_ctx": 256, "n_ubatch": 128}}
    free = fold(played("qwen3moe.gguf", steps, devices=GPUS[:1], **given))
    warm = free.ubatches[1]
    assert warm.moved
    assert warm.replanned == "needs_realloc"
    assert warm.bytes_made > 0
    reserved = free.reservations[0].plans[-1].facts.compute_sizes[0]
    log = played("qwen3moe.gguf", steps, devices=[{**GPUS[0], "alloc_limit": reserved}], **given)
    life = fold(log)
    assert [step.ret for step in life.steps] == [0, None, -2, None, None]
    assert life.ubatches[1].status == -2
    assert life.ubatches[1].facts is not None
    assert warm.facts is not None
    assert life.ubatches[1].facts.failed == (0, warm.facts.compute_sizes[0], reserved)
    after = life.ubatches[2]
    assert after.why is Why.NO_ACTIVE
    assert after.ubatch.pos == (4,), "the tokens of the failed batch were taken back"
    # The failed plan is still in force and says that the next graph fits, into a buffer that is gone.
    assert life.abort.startswith("ggml-alloc.c: galloc->buffers[0] is read")
