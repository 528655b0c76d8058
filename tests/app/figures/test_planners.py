"""The Planners view as data: axes, curves, scenes, rows and sentences on sets that can be checked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.app.figures.columns import values
from galloscope.app.figures.planners import headline, pair_of, percent_text, ratio_text, row_of
from galloscope.app.figures.planners_axis import MOST_STEPS, Axis, Segments, curve, live_bytes
from galloscope.app.figures.planners_scene import Subject, ggml_peak, plan_scene, set_scene
from galloscope.app.figures.planners_stages import stages_data
from galloscope.app.samples import find_sample
from galloscope.core.explain.sentence import Sentence
from galloscope.core.files.graph_json import read_graph
from galloscope.core.planners import bound
from galloscope.core.planners.from_graph import instances
from galloscope.core.planners.instance import Gap, Instance
from galloscope.core.planners.planner import Plan
from galloscope.core.planners.solve import Outcome, judged, solve
from galloscope.core.replay import replay
from galloscope.core.session import trace

# Three buffers of 4, 2 and 4 bytes: the most alive is 6; the last lies on top of the second, over a hole.
STAIRS = Instance.of([0, 0, 2], [2, 4, 4], [4, 2, 4], ids=["a", "b", "c"], name="set")
HIGH = Plan(np.array([0, 4, 6]), order=np.array([0, 1, 2]))
LOW = Plan(np.array([2, 0, 2]))
GAPPED = Instance.of([0, 1], [6, 3], [8, 4], gaps={0: (Gap(1, 2), Gap(2, 4, 2, 5))})


def texts(sentence: Sentence) -> str:
    return sentence.text


def test_steps_are_kept_where_they_can_be_drawn() -> None:
    assert Axis.of(STAIRS).n == 4
    assert Axis.of(STAIRS).moments is None
    assert Axis.of(Instance.of([], [], [])).n == 1


@pytest.mark.parametrize("shift", [-7, MOST_STEPS, 1 << 59])
def test_other_steps_become_moments(shift: int) -> None:
    axis = Axis.of(Instance.of(STAIRS.lower + shift, STAIRS.upper + shift, STAIRS.size))
    assert axis.moments is not None
    assert axis.n == 2
    assert [axis.step(k) - shift for k in range(3)] == [0, 2, 4]


def test_a_gap_leaves_a_window() -> None:
    axis = Axis.of(GAPPED)
    rows = Segments.of(GAPPED, axis)
    found = sorted(zip(*(one.tolist() for one in (rows.buffer, rows.x0, rows.x1, rows.low, rows.high)), strict=True))
    assert found == [(0, 0, 1, 0, 8), (0, 2, 4, 2, 5), (0, 4, 6, 0, 8), (1, 1, 3, 0, 4)]
    assert live_bytes(rows, axis).tolist() == [8, 4, 7, 3, 8, 8]


BUFFERS = st.lists(st.tuples(st.integers(-5, 40), st.integers(0, 12), st.integers(0, 9)), max_size=14)


@given(BUFFERS)
def test_live_bytes_agree_with_the_bound(buffers: list[tuple[int, int, int]]) -> None:
    lower, length, size = zip(*buffers, strict=True) if buffers else ((), (), ())
    instance = Instance.of(lower, [a + n for a, n in zip(lower, length, strict=True)], size)
    axis = Axis.of(instance)
    live = live_bytes(Segments.of(instance, axis), axis)
    assert int(live.max(initial=0)) == bound.lower_bound(instance)
    known = bound.live_bytes(instance)
    steps = range(axis.n if len(instance) else 0)
    assert [known.at(axis.step(k)) for k in steps] == live.tolist()[: len(steps)]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(1, 20))
def test_a_shortened_curve_keeps_its_peak(live: list[int], most: int) -> None:
    steps, found = curve(np.array(live), most)
    assert max(found) == max(live)
    assert steps[-1] == len(live)
    assert all(live[step] == size for step, size in zip(steps[:-1], found[:-1], strict=True))


def test_the_scene_of_a_set() -> None:
    scene = set_scene(Subject.of(STAIRS))
    assert (scene["n"], scene["n_steps"], scene["bound"], scene["bound_step"]) == (3, 4, 6, 0)
    assert scene["tensors"]["name"] == ["a", "b", "c"]
    assert scene["peak"] == [[0, 4], [1, 2]]
    assert set(scene["colors"]) == {"size", "time"}
    assert scene["chains"] == []


def test_the_scene_of_a_plan() -> None:
    scene = plan_scene(Subject.of(STAIRS), HIGH, "high")
    strip = scene["strip"]
    (lane,) = strip["lanes"]
    assert (lane["size"], lane["live"], lane["bound"], lane["label"]) == (10, 6, 6, "high")
    assert values(strip["y0"], "float64") == [0, 4, 6]
    assert scene["holes"] == [[0, 2, 4, 0, 4]]
    assert scene["top"] == {"buffer": 2, "step": 2, "live": 6, "alive": [[2, 4], [1, 2]]}
    area = 10 * 4
    assert scene["use"] == pytest.approx({"used": 24 / area, "holes": 8 / area, "above": 8 / area})
    assert scene["pool"] is None


def test_a_plan_without_waste_has_no_holes() -> None:
    scene = plan_scene(Subject.of(STAIRS), LOW, "low")
    assert scene["holes"] == []
    assert scene["use"] == pytest.approx({"used": 1.0, "holes": 0.0, "above": 0.0})


def test_pools_are_a_question_of_their_own() -> None:
    scene = plan_scene(Subject.of(STAIRS), Plan(np.array([0, 4, 0]), pools=np.array([0, 1, 0])), "pools")
    assert [entry["label"] for entry in scene["pool"]["palette"]] == ["pool 0", "pool 1"]
    assert values(scene["pool"]["of"], "uint8") == [0, 1, 0]


def test_chunks_are_lanes() -> None:
    plan = Plan(np.array([0, 4, 0]), chunks=np.array([0, 0, 1]))
    lanes = plan_scene(Subject.of(STAIRS), plan, "two")["strip"]["lanes"]
    assert [(lane["size"], lane["chunks"], lane["bound"]) for lane in lanes] == [(6, 2, 0), (4, 2, 0)]


@pytest.mark.parametrize("instance", [Instance.of([], [], []), Instance.of([3], [3], [5]), Instance.of([0], [1], [0])])
def test_nothing_to_draw(instance: Instance) -> None:
    subject, plan = Subject.of(instance), Plan(np.zeros(len(instance), dtype=np.int64))
    assert plan_scene(subject, plan, "none")["strip"]["n"] == 0
    assert set_scene(subject)["bound"] == 0
    assert stages_data(subject, plan, "none")["cliques"]["rows"] == []


def outcome(plan: Plan, name: str = "offsets_by_size") -> Outcome:
    return judged(STAIRS, name, plan)


def test_rows_say_what_is_proved() -> None:
    low, high = row_of("low", outcome(LOW), 10), row_of("high", outcome(HIGH), 10)
    assert (low["verdict"], low["peak"], low["ratio_text"], low["waste"], low["saving"]) == ("optimal", 6, "1", 0, 4)
    assert (high["verdict"], high["ratio_text"], high["waste"], high["saving"]) == ("heuristic", "1.667", 4, 0)
    assert row_of("x", outcome(HIGH), 10, proved=10)["verdict"] == "optimal", "whoever proved it"
    proved = outcome(Plan(HIGH.offsets, proved_bound=8))
    assert row_of("x", proved, None)["words"] == "proved ≥ 8 B"


def test_a_refusal_is_a_sentence_without_the_name() -> None:
    fixed = Instance.of([0, 0], [2, 2], [4, 4], fixed=[0, -1])
    row = row_of("pools_greedy", solve(fixed, "pools_greedy"), 8)
    assert row["verdict"] == "refused"
    assert row["words"].startswith("cannot keep fixed offsets")
    assert "peak" not in row


@pytest.mark.parametrize(
    ("peaks", "given", "words"),
    [
        (
            {"ggml": 10, "best": 6, "naive": 20},
            None,
            "GPU0: ggml needs 10 B, the bound is 6 B; best finds 6 B: 4 B (40 %) to gain.",
        ),
        ({"ggml": 6, "best": 6}, None, "GPU0: ggml needs 6 B, and no plan can need less: nothing to gain."),
        ({"ggml": 8, "naive": 20}, None, "GPU0: ggml needs 8 B, the bound is 6 B; no planner here finds less."),
        ({"ggml": 8}, None, "GPU0: ggml needs 8 B, the bound is 6 B."),
        ({"naive": 7}, None, "GPU0: the bound is 6 B; naive finds 7 B."),
        (
            {"naive": 7},
            9,
            "GPU0: in this order the bound is 6 B; naive finds 7 B; in the graph's own order ggml needs 9 B.",
        ),
        ({}, None, "GPU0: the bound is 6 B; no planner has a plan yet."),
    ],
)
def test_the_answer(peaks: dict[str, int], given: int | None, words: str) -> None:
    assert texts(headline("GPU0", 6, peaks, given)) == words


def test_the_answer_says_what_late_frees_cost() -> None:
    told = texts(headline("GPU0", 6, {"ggml": 10, "best": 6}, None, 0, 7))
    assert told.endswith("best finds 6 B: 4 B (40 %) to gain, 3 B of it held by ggml after the last use.")
    assert texts(headline("GPU0", 6, {"ggml": 10, "best": 6}, None, 0, 10)).endswith("to gain.")


def test_the_answer_where_the_bound_is_out_of_reach() -> None:
    told = texts(headline("set", 4, {"ggml": 5, "search": 5}, None, 5))
    assert told.endswith(
        "At most 4 B are alive at once, but a complete search proves that no plan needs less: nothing to gain."
    )
    assert "the bound is 4 B (5 B proved); no planner" in texts(headline("set", 4, {"ggml": 6, "tlsf": 6}, None, 5))


def test_the_answer_where_nothing_lives() -> None:
    assert "nothing to plan" in texts(headline("", 0, {}))


def test_a_difference_that_the_digits_hide_is_told() -> None:
    bound = (2 << 20) + 1
    assert (
        texts(headline("s", bound, {"best": bound + 224}))
        == "s: the bound is 2.00 MiB; best finds 2.00 MiB, 224 B above."
    )
    assert "ggml needs 2.00 MiB, 7 B above, the bound is 2.00 MiB" in texts(headline("s", bound, {"ggml": bound + 7}))


def test_when_all_have_answered_none_is_waited_for() -> None:
    assert texts(headline("s", 6, {}, complete=True)) == "s: the bound is 6 B; no planner has a plan."


def test_small_shares_and_ratios_are_not_rounded_away() -> None:
    assert percent_text(1, 300_000) == "0.00033 %"
    assert ratio_text(1 + 1e-9) != "1"


def test_the_pair_that_is_shown_first() -> None:
    names = ["naive", "ggml", "offsets_by_size", "best"]
    assert pair_of(names, {"naive": 9, "ggml": 8, "offsets_by_size": 6, "best": 6}) == ("ggml", "best")
    assert pair_of(names, {"naive": 9, "ggml": 8}) == ("ggml", "naive")
    assert pair_of(names, {"naive": 9, "best": 6}) == ("best", "naive")
    assert pair_of(names, {"ggml": 8}) == ("ggml", "ggml")
    assert pair_of(names, {}) == ("", "")


@pytest.fixture(scope="module")
def subjects() -> list[Subject]:
    state = replay(trace(read_graph(find_sample("lesson-in-place").path)).runs[0])
    return [Subject.of(one.instance, one) for one in instances(state)]


def test_a_graph_keeps_its_colours_and_chains(subjects: list[Subject]) -> None:
    (subject,) = subjects
    scene = set_scene(subject)
    assert {"op", "layer", "device", "size", "time"} == set(scene["colors"])
    assert scene["chains"]
    for buffer, *tensors in scene["chains"]:
        assert tensors == list(subject.members[buffer])
        told = dict(scene["tensors"]["facts"][str(buffer)])
        assert subject.state
        assert subject.state.names[tensors[1]] in told["shared by"]
    peak = ggml_peak(subject)
    assert peak == solve(subject.instance, "ggml").peak


def test_the_stages_of_a_graph(subjects: list[Subject]) -> None:
    (subject,) = subjects
    found = solve(subject.instance, "offsets_by_size")
    assert found.plan
    stages = stages_data(subject, found.plan, "offsets_by_size")
    assert subject.graph
    assert values(stages["order"]["node"], "int32") == list(subject.graph.steps)
    assert sorted(values(stages["placed"]["buffer"], "int32")) == list(range(len(subject.instance)))
    assert max(row[3] for row in stages["cliques"]["rows"]) == found.bound
    assert stages["intervals"]["tensors"]
    assert len(stages["intervals"]["rows"]) == stages["intervals"]["all"] == len(subject.graph.intervals)


def test_the_stages_of_a_set() -> None:
    stages = stages_data(Subject.of(STAIRS), HIGH, "high")
    assert stages["pairs"] == [(0, 1), (1, 2)]
    assert [row[1:5] for row in stages["cliques"]["rows"]] == [[0, 2, 6, 2], [2, 4, 6, 2]]
    assert values(stages["order"]["node"], "int32") == []
    assert stages["intervals"]["rows"][0][:3] == [0, 0, 2]
