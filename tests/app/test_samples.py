"""The hand-written samples teach what they say."""

import pytest

from galloscope.app.samples import FIRST, FOLDER, find_sample, samples
from galloscope.core import events as ev
from galloscope.core.check.checker import Verdict, check
from galloscope.core.errors import InputError
from galloscope.core.events import Cause, Refusal
from galloscope.core.explain.why import why
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State


def states(name: str) -> list[State]:
    return [replay(run) for run in trace(read_graph(find_sample(name).path)).runs]


def test_the_index_names_every_file_once() -> None:
    files = {path.name for path in FOLDER.glob("*.graph.json*")}
    assert {sample.path.name for sample in samples()} == files
    assert len(samples()) == len(files) == 24
    assert samples()[0].name == FIRST


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_every_sample_has_a_title_and_something_to_look_for(sample: object) -> None:
    assert sample.title  # type: ignore[attr-defined]
    assert len(sample.look) > 40  # type: ignore[attr-defined]


def test_an_unknown_sample_is_an_error_with_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'lesson-in-place'"):
        find_sample("lesson-in-plce")


def test_in_place() -> None:
    (state,) = states("lesson-in-place")
    refused = {state.names[child]: reason for child, _, reason, _ in state.no_reuse}
    assert refused == {
        "of_weight": Refusal.EXTERNAL,
        "first": Refusal.CHILDREN,
        "after": Refusal.OUTPUT,
        "narrow": Refusal.EXTERNAL,
    }
    assert len(state.reused) == 5


def test_best_fit() -> None:
    (state,) = states("lesson-best-fit")
    lives = {state.names[life.tensor]: life for life in state.lifetimes.values()}
    for size in ("1k", "3k", "7k"):
        hole = lives[{"1k": "hole_2k", "3k": "hole_4k", "7k": "hole_8k"}[size]]
        newcomer = lives[f"needs_{size}"]
        assert hole.offset <= newcomer.offset < newcomer.offset + newcomer.size <= hole.offset + hole.size
        assert newcomer.born >= hole.dies


def test_free_extra() -> None:
    (run,) = trace(read_graph(find_sample("lesson-free-extra").path)).runs
    (freed,) = [event for event in run.events if isinstance(event, ev.FreeExtra)]
    state = replay(run)
    assert (state.names[freed.parent], state.names[freed.child], freed.size) == ("matmul", "scaled", 8192)
    moved_in = state.lifetimes[state.names.index("in_the_tail")]
    assert freed.offset <= moved_in.offset < freed.offset + freed.size


def test_a_view_keeps_its_base() -> None:
    (state,) = states("lesson-view-keeps-base")
    names = state.names
    life = state.lifetimes[names.index("qkv")]
    last_reader_of_v = next(i for i, (node, _) in enumerate(state.alloc_nodes) if names[node] == "v_cont")
    last_reader_of_qk = next(i for i, (node, _) in enumerate(state.alloc_nodes) if names[node] == "kq")
    assert life.dies == last_reader_of_v + 1 > last_reader_of_qk + 1


def test_pass_2_spreads() -> None:
    (state,) = states("lesson-pass-2-spreads")
    causes = {state.names[t]: (state.causes[t], state.backend_ids[t]) for t in state.nodes}
    gpu = {name for name, (cause, backend) in causes.items() if cause is Cause.SUP and backend == 0}
    assert gpu == {"before_2", "before_1", "after_1", "after_2"}
    assert causes["result"] == (Cause.SUP, 1)


def test_pass_3_best() -> None:
    (state,) = states("lesson-pass-3-best")
    attention = state.names.index("attention")
    assert (state.causes[attention], state.backends[state.backend_ids[attention]].name) == (Cause.BEST, "GPU1")
    assert any("2 of 3" in sentence.text for sentence in why(state, attention))


def test_op_offload() -> None:
    (state,) = states("lesson-op-offload")
    moved = [state.names[t] for t in state.nodes if state.causes[t] is Cause.OFF]
    assert moved == ["ffn_up", "ffn_down"]
    assert len(state.splits) == 2


def test_stale_plan() -> None:
    first, second = states("lesson-stale-plan")
    assert check(first) == []
    (hit,) = check(second)
    assert hit.verdict is Verdict.OVERLAP
    assert (second.names[hit.tensor], second.names[hit.other]) == ("result", "a")


def test_no_device() -> None:
    (state,) = states("lesson-no-device")
    assert state.abort is not None
    assert "GGML_ASSERT" in state.abort
    assert [one.done for one in state.passes].count(True) >= 6
