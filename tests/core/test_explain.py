"""Why, answers and stats: the sentences a person needs, from hand cases that each show one mechanism."""

import pytest

from galloscope.core.check.checker import check
from galloscope.core.explain.answers import answers
from galloscope.core.explain.group import why_group
from galloscope.core.explain.sentence import Sentence
from galloscope.core.explain.stats import stats
from galloscope.core.explain.usage import usage
from galloscope.core.explain.why import why
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests.corpora import CASES, graph_path

GEMMA = "gemma3-270m-g2full-prefill-fa1-reserve"


def state_of(case: str, run: int = 0) -> State:
    return replay(trace(read_graph(graph_path(case))).runs[run])


WHY = [
    ("s_1wgt", "a", "its weight w0 lies in a CUDA0 buffer"),
    ("s_1inp", "x", "a graph input starts on the last backend, CPU"),
    ("s_1off", "a", "but CUDA0 offers to take over such a batch"),
    ("s_p2_unsupported_skip", "a", "pass 2, going down, gave it the device of m"),
    ("s_p2_unsupported_skip", "p", "Not on CUDA0: CUDA0 does not support POOL_1D"),
    ("s_p2_unsupported_skip", "p", "no neighbour's device could run it, and CPU is the only one that can"),
    ("s_pins", "a", "pinned by the application"),
    ("s_off_small_batch", "a", "is below CUDA0's offload minimum of"),
    ("s_copy_once", "x", "Copied into split 0 (CUDA0): 1 copy of 512 B"),
    ("a_inplace_on_input", "a", "In place: it took the memory of x"),
    ("a_inplace_on_input", "x", "Its memory went to a, in place"),
    ("a_refuse_two_children", "b", "it has 2 reads left, not 1"),
    ("a_refuse_output", "b", "it is an output"),
    ("a_refuse_layout", "b", "its shape or strides differ"),
    ("a_view_parent", "n", "it is a view, and ggml never overwrites through a view"),
    ("a_unused_node", "a", "only a read can free: it stays to the end"),
    ("a_output_kept", "b", "Never freed: it is flagged OUTPUT"),
    (GEMMA, "result_output", "On GPU1 (1.wgt0)"),
    (GEMMA, "l_out-9", "its copy GPU1#l_out-9#0"),
    (GEMMA, "inp_pos", "3 twins beside it on CPU, for batches in flight"),
    (GEMMA, "GPU1#l_out-9#0", "Never freed: the scheduler flags pipeline copies OUTPUT"),
    ("a_free_extra", "m", "of them behind the tensor, as the buffer type asks"),
]


@pytest.mark.parametrize(("case", "tensor", "words"), WHY)
def test_why_says(case: str, tensor: str, words: str) -> None:
    state = state_of(case)
    told = " ".join(one.text for one in why(state, state.names.index(tensor)))
    assert words in told


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith(("llama_10k", "llama_50k"))])
def test_every_tensor_of_every_case_has_its_sentences(case: str) -> None:
    for run in trace(read_graph(graph_path(case))).runs:
        state = replay(run)
        step = max(1, len(state.tensors) // 40)
        for tensor in range(0, len(state.tensors), step):
            told = why(state, tensor)
            assert told[0].topic == "what"
            assert all(one.text.endswith(".") and "None" not in one.text for one in told)


def test_answers_of_the_opening_sample() -> None:
    state = state_of(GEMMA)
    assert [one.text for one in answers(state, check(state))] == [
        "GPU1 peaks at 526.3 MiB at result_output: this result (f32 [262144, 512]) is 512 MiB of it, 97 %.",
        "3 splits, 9.04 MiB copied per batch; split 2 (GPU1) begins at node 405 and brings in 9 inputs, 3.27 MiB: "
        "l_out-9 from GPU0 and others.",
        "Pipeline copies: every input and split input exists 4 times, 140 copies in all (49.8 MiB); they are never "
        "freed.",
        "74 times an op could not run in place: 36 × the parent is not ggml's to overwrite, 35 × it has another "
        "reader, 3 × it is an output; 236 times it did.",
    ]


@pytest.mark.parametrize(
    ("case", "run", "topic", "words"),
    [
        ("a_realloc_topology_hazard", 1, "hazard", "c overwrites a at step 2, while it is still needed: both lie in"),
        (
            "s_root_leaf",
            0,
            "abort",
            "Real ggml stops here: l has no device: no op reads it directly (ggml-alloc.c: GGML_ASSERT(buffer_id >= 0)",
        ),
        ("llama_4l-g1nosoftmax-prefill-fa0-reserve", 0, "fallback", "4 ops fell back to CPU (4 × SOFT_MAX): GPU0 does"),
        ("qwen3moe-g1ngl1-prefill-fa1-reserve", 0, "offload", "24 ops with host weights moved to a GPU"),
        ("a_realloc_single", 2, "realloc", "Planned anew: a needs 1024 bytes, its place holds 256"),
        ("llama-prefill-fa1-reserve", 0, "splits", "1 split: everything runs on CPU, nothing is copied."),
    ],
)
def test_answer_says(case: str, run: int, topic: str, words: str) -> None:
    state = state_of(case, run)
    (found,) = [one for one in answers(state, check(state)) if one.topic == topic]
    assert words in found.text


@pytest.mark.parametrize("case", CASES[::7])
def test_stats_add_up(case: str) -> None:
    state = state_of(case)
    numbers = stats(state)
    assert sum(split["nodes"] for split in numbers["splits"]) == (len(state.nodes) if state.splits else 0)
    assert numbers["copied_bytes"] == sum(split["copied_bytes"] for split in numbers["splits"])
    assert numbers["in_place"]["hits"] == len(state.reused)
    for device, one in zip(numbers["devices"], usage(state), strict=True):
        assert device["compute_bytes"] == sum(device["chunks"])
        if state.abort is None:
            assert sum(row["bytes"] for row in device["at_peak"]) == device["peak_live_bytes"] == max(one.live)
            assert device["peak_live_bytes"] <= device["compute_bytes"]


def test_sentences_mark_names_that_hold_backticks() -> None:
    from galloscope.core.explain.sentence import name

    sentence = Sentence("x", f"see {name('a`b')} **now**")
    assert sentence.parts == [("see ", ""), ("a`b", "name"), (" ", ""), ("now", "strong")]


def test_a_layer_is_explained_by_the_causes_of_its_nodes() -> None:
    state = state_of(GEMMA)
    layer = state.nodes[405:445]
    told = {one.topic: one.text for one in why_group(state, layer)}
    assert told["placed"].startswith("40 nodes on GPU1: ")
    assert "where their weights lie" in told["placed"]
    assert "in GPU1 buffers. That was chosen when the model was loaded (-ngl, -ts, -ot)" in told["weights"]
    assert told["splits"] == "1 split begins in it: 2 at norm-10."
    assert "ops in place" in told["memory"]


def test_a_stale_plan_is_told_on_both_sides() -> None:
    state = state_of("a_realloc_topology_hazard", 1)
    for tensor, word in (("c", "Overwrites"), ("a", "Overwritten")):
        (hazard,) = [one for one in why(state, state.names.index(tensor)) if one.topic == "hazard"]
        assert hazard.alarm
        assert hazard.text == f"{word}: at step 2, c is written over a, which is still needed."
