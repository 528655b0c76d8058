"""A plan that is kept for a graph it was not made for: in the recorded sessions no tensor overwrites a living one."""

import pytest

from galloscope.core.check.checker import check
from galloscope.core.decode.session import play
from galloscope.core.gguf.read import read_header
from galloscope.core.replay import replay

from .played import MODELS
from .recordings import NAMES, script_of


@pytest.mark.parametrize("name", NAMES)
def test_every_graph_of_a_recorded_session_is_sound(name: str) -> None:
    script = script_of(name)
    log = play(script, read_header(MODELS / script.model))
    states = [replay(one.run) for one in log.runs]
    placed = [state for state in states if state.places]
    assert placed
    for state in placed:
        assert check(state) == []
