"""Plans of real ggml that are not sound, and graphs whose result depends on when a copy is made: the guard tells."""

import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.execute.compare import compare
from galloscope.core.execute.conflict import Conflict
from galloscope.core.execute.executor import Settings
from galloscope.core.execute.feed import Zeros
from galloscope.core.execute.runnable import runnable
from galloscope.core.files.graph_json import read_graph
from galloscope.core.session import trace
from galloscope.tests.corpora import graph_path

GUARDED = Settings(guard=True, poison=True, stats=False)


def run_guarded(name: str, settings: Settings = GUARDED) -> None:
    session = trace(runnable(read_graph(graph_path(name))))
    compare(session.runs, Zeros(), lambda: make_backend("digest"), settings)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a_leaf_view_early_free", "'o' at step 3 reads 'x', whose bytes 'c' has taken"),
        ("a_realloc_topology_hazard", "'c' at step 2 writes over 'a' while it reads it"),
        ("s_pin_view", "reads 'a', which nobody has written yet"),
        ("r0177", "'n189' at step 163 reads 'CUDA0#u92#0', a copy of 'u92' that was made before a node wrote to it"),
    ],
)
def test_hazard(name: str, said: str) -> None:
    with pytest.raises(Conflict) as found:
        run_guarded(name)
    assert said in str(found.value)
    assert "; events #" in str(found.value)


@pytest.mark.parametrize("name", ["a_leaf_view_early_free", "s_pin_view", "r0177"])
def test_without_a_guard_the_numbers_are_wrong(name: str) -> None:
    session = trace(runnable(read_graph(graph_path(name))))
    found = compare(session.runs, Zeros(), lambda: make_backend("digest"), Settings(stats=False))
    assert any(not one.equal for one in found)


def test_a_view_written_after_it_was_copied() -> None:
    """Found by running: the scheduler copies at the start of a split, and an in-place node of it comes later."""
    with pytest.raises(Conflict, match="in place") as found:
        run_guarded("r0048")
    assert found.value.tensor >= 0
