"""Hazards in words: what the plan in force was made for, what the graph needs, and why ggml does not notice."""

from pathlib import Path

import pytest

from galloscope.core.check.checker import check
from galloscope.core.explain.answers import answers
from galloscope.core.explain.hazards import plan_maker
from galloscope.core.explain.sentence import Sentence
from galloscope.core.files.graph_json import read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace

HAND = Path(__file__).resolve().parent.parent / "golden" / "hand"


def told(case: str, run: int) -> list[Sentence]:
    """The answers of one run of a case, as the page gives them."""
    one = trace(read_graph(HAND / f"{case}.graph.json.gz")).runs[run]
    state, maker = replay(one), plan_maker(one)
    return answers(state, check(state), replay(maker) if maker is not None else None)


@pytest.mark.parametrize(
    ("case", "run", "topic", "words"),
    [
        (
            "a_realloc_topology_hazard",
            1,
            "hazard",
            (
                "c overwrites a at step 2, while it is still needed: both lie in 0x100 to 0x200.",
                "ggml compares counts and sizes, not the wiring.",
                "Node 2 was c and read node 1; now it is c and reads node 0 and node 1.",
                "Both graphs have 3 nodes and 1 leaf, and every tensor fits its place.",
            ),
        ),
        (
            "a_realloc_leaf_not_checked",
            1,
            "unchecked",
            (
                "The plan in force has 256 B at 0x0 for leaf 0, which was l; now l needs 16 KiB there",
                "the buffer ends at 768 B",
                "no node reads this leaf, it is only a root of the graph",
            ),
        ),
        (
            "a_realloc_multi",
            2,
            "no_plan",
            (
                "No tensor has an address: the plan in force does not fit (a needs 1024 bytes, its place holds 256)",
                "only where there is one buffer; here are 2",
                "has to reserve first",
            ),
        ),
        (
            "s_pins_lost",
            0,
            "pins",
            ("2 pins are lost: a was pinned to CUDA0 and is on CPU.", "without being allocated first", "resets"),
        ),
        ("s_prealloc_abort", 0, "abort", ("what an op writes lies in memory already, so the op must run there",)),
        ("a_realloc_single", 2, "realloc", ("Planned anew: a needs 1024 bytes, its place holds 256",)),
    ],
)
def test_a_hazard_is_explained(case: str, run: int, topic: str, words: tuple[str, ...]) -> None:
    (found,) = [one for one in told(case, run) if one.topic == topic]
    for part in words:
        assert part in found.text
    assert found.alarm == (topic != "realloc")


@pytest.mark.parametrize(
    ("case", "run"),
    [("a_realloc_single", 1), ("a_realloc_single", 3), ("a_realloc_multi", 1), ("a_realloc_topology_hazard", 0)],
)
def test_a_plan_that_fits_is_no_hazard(case: str, run: int) -> None:
    assert not [one for one in told(case, run) if one.topic in ("hazard", "unchecked", "no_plan", "pins")]


def test_the_plan_in_force_is_found_behind_runs_that_kept_it() -> None:
    runs = trace(read_graph(HAND / "a_realloc_single.graph.json.gz")).runs
    assert plan_maker(runs[0]) is None
    assert plan_maker(runs[1]) is runs[0]
    assert plan_maker(runs[3]) is runs[2]
