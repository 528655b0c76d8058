"""Sums and sentences of timelines whose numbers are known."""

import json

import pytest

from galloscope.core.timeline.answers import parts_text, percent, time_text, timeline_answers
from galloscope.core.timeline.cost import read_cost
from galloscope.core.timeline.lanes import Bound, Kind, Nodes, Span, Timeline, lanes_of
from galloscope.core.timeline.simulate import simulate
from galloscope.core.timeline.totals import COPYING, DONE, totals_of
from galloscope.tests.core.timeline.checker import opened
from galloscope.tests.core.timeline.machines import chain, cpu_only

ROUND = {
    "devices": {
        **{f"GPU{k}": {"matrix": 1e9, "other": 1e9, "memory": 1e24, "launch": 0} for k in range(2)},
        "CPU": {"matrix": 1e9, "memory": 1e24, "launch": 0},
    },
    "links": {"host-GPU0": {"speed": 1e9, "latency": 0}, "GPU0-GPU1": {"speed": 1e9, "latency": 0}},
    "call": 0,
}


def round_numbers(batches: int) -> Timeline:
    """Two devices, one FLOP a nanosecond, one byte a nanosecond between them."""
    run, state, _ = opened(chain(2, parallel=True, width=64, rows=8, layers=1))
    return simulate(run, state, read_cost(json.dumps(ROUND).encode(), "x", state.backends), batches)


COMPUTE, COPY = 2 * 64 * 64 * 8, 64 * 8 * 4


def test_one_batch_adds_up() -> None:
    timeline = round_numbers(1)
    totals = totals_of(timeline)
    assert timeline.total == 2 * COPY + 2 * COMPUTE
    first, second = totals.devices[:2]
    assert (first.compute, first.copy) == (COMPUTE, 2 * COPY)
    assert first.idle == {COPYING: 2 * COPY, DONE: COMPUTE}
    assert second.idle == {COPYING: 2 * COPY, 0: COMPUTE}
    assert {pair: (one.copies, one.nbytes, one.ns) for pair, one in totals.links.items()} == {
        (-1, 0): (1, COPY, COPY),
        (0, 1): (1, COPY, COPY),
    }
    kinds = [(timeline.spans[i].kind, timeline.spans[i].lane) for i in totals.path]
    assert kinds == [(Kind.COPY, 1), (Kind.COMPUTE, 0), (Kind.COPY, 1), (Kind.COMPUTE, 2)]
    assert sum(totals.path_ns.values()) == timeline.total


def test_four_batches_are_bound_by_the_busiest_device() -> None:
    timeline = round_numbers(4)
    totals = totals_of(timeline)
    # The queue of the first device also makes its copies; the inputs are copied beside it.
    assert timeline.total == COPY + 4 * (COMPUTE + COPY) + COMPUTE
    assert [timeline.lanes[timeline.spans[i].lane].backend for i in totals.path][-1] == 1
    assert totals.path_ns[0, Kind.COMPUTE] == 4 * COMPUTE


def test_sentences_say_the_numbers() -> None:
    one, four = round_numbers(1), round_numbers(4)
    texts = [s.text for s in timeline_answers(four, totals_of(four), one.total)]
    gain = 4 * one.total / four.total
    assert texts[0].startswith(
        f"4 micro-batches: {time_text(four.total)}, {gain:.2f} times as fast as one after another"
    )
    assert "waits" in texts[1]
    assert texts[2] == "4 copies host to GPU0: 8 KiB in 8.19 µs; all copies take 16.4 µs."
    share = percent(4 * COMPUTE, four.total)
    assert texts[3:] == [f"GPU0 is the bottleneck: its computing is {share} of the critical path."], "no launches"


def test_where_nothing_overlaps_it_is_said() -> None:
    run, state, cost = opened(cpu_only())
    alone = simulate(run, state, cost, 1).total
    two = simulate(run, state, cost, 2)
    texts = [s.text for s in timeline_answers(two, totals_of(two), alone)]
    assert "as long as one after another: nothing overlaps" in texts[0]
    topics = [s.topic for s in timeline_answers(two, totals_of(two), alone)]
    assert topics == ["length", "bound", "launch"], "one device neither waits nor copies"


def test_computing_is_arithmetic_memory_traffic_and_launches() -> None:
    run, state, _ = opened(cpu_only())
    rates = {"devices": {"CPU": {"matrix": 1e9, "other": 1e9, "memory": 1e9, "launch": 1e-6}}}
    timeline = simulate(run, state, read_cost(json.dumps(rates).encode(), "x", state.backends), 3)
    totals = totals_of(timeline)
    moved = 64 * 4 * 4 * 2  # the SCALE of 64 x 4 floats is read and written
    assert totals.devices[0].parts == {
        Bound.ARITHMETIC: 3 * 2 * 64 * 64 * 8,
        Bound.MEMORY: 3 * moved,
        Bound.LAUNCH: 3 * 2 * 1000,
    }
    assert sum(totals.devices[0].parts.values()) == totals.devices[0].compute
    assert parts_text(totals.devices[0]) == "94 % arithmetic, 3 % memory traffic, 3 % launch latency"


def llama(tokens: int, meta: dict[str, object]) -> list[str]:
    """What is said about two micro-batches of a graph that ends as llama.cpp's do."""
    document = chain(2, parallel=True, rows=tokens)
    text = json.dumps({**document, "meta": meta}).replace('"x"', '"inp_x"').replace('"y1_1"', '"result_output"')
    run, state, cost = opened(json.loads(text))
    two = simulate(run, state, cost, 2)
    return [s.text for s in timeline_answers(two, totals_of(two), simulate(run, state, cost).total)]


def test_one_sequence_cannot_have_several_tokens_in_flight() -> None:
    told = "One sequence cannot do this: each token needs the one before it; the micro-batches are of other sequences."
    assert told in llama(4, {"mode": "decode"})
    assert told in llama(4, {"n_tokens": 4, "n_seqs": 4})
    assert told not in llama(4, {"n_tokens": 4, "n_seqs": 2})
    assert told not in llama(4, {})
    run, state, cost = opened({**chain(1, parallel=False), "meta": {"mode": "decode"}})
    two = simulate(run, state, cost, 2)
    texts = [s.text for s in timeline_answers(two, totals_of(two), two.total // 2)]
    assert told not in texts, "nothing was promised"


def test_logits_of_all_tokens_are_told_when_they_take_long() -> None:
    told = "result_output computes logits for 256 tokens, as llama.cpp reserves: 50 % of GPU1's computing"
    assert any(text.startswith(told) for text in llama(256, {}))
    assert not any("result_output" in text for text in llama(1, {"mode": "prefill"}))
    assert not any("result_output" in text for text in llama(4, {"mode": "decode"}))


def test_a_gap_is_for_what_the_host_did_meanwhile() -> None:
    """GPU0 idles from 10 to 100: the CPU computes until 60, the host copies until 80, then nothing is known."""
    lanes = lanes_of(2)
    spans = [
        Span(0, Kind.COMPUTE, 0, 10, 0, 0, -1, 0, 0),
        Span(2, Kind.COMPUTE, 10, 60, 0, 1, -1, 1, 1, cause=0),
        Span(4, Kind.HELD, 10, 60, 0, 1, -1, 1, 1, cause=1),
        Span(4, Kind.COPY, 60, 80, 0, 2, -1, -1, -1, cause=1),
        Span(0, Kind.COMPUTE, 100, 120, 0, 2, -1, 0, 0, cause=3),
    ]
    totals = totals_of(Timeline(("GPU0", "CPU"), lanes, spans, Nodes(), total=130))
    assert totals.devices[0].idle == {1: 50, COPYING: 20, -1: 20, DONE: 10}
    assert totals.devices[1].idle == {-1: 10, DONE: 70}
    assert totals.host_waits == {1: 50}


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (1, "1 ns"),
        (1000, "1.00 µs"),
        (999_999, "1.00 ms"),
        (999_949, "999.9 µs"),
        (1_234_567, "1.23 ms"),
        (3 * 10**12, "3,000 s"),
    ],
)
def test_times_are_written_with_three_digits(ns: int, text: str) -> None:
    assert time_text(ns) == text


def test_shares() -> None:
    assert [percent(a, b) for a, b in ((61, 100), (1, 1), (5, 0))] == ["61 %", "100 %", "0 %"]
