"""The scheduler of a session: what it remembers is what it would do again."""

from __future__ import annotations

from typing import Any

import pytest

from galloscope.core.decode.events import Rebuilt
from galloscope.core.decode.plans import Plans
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.record import record
from galloscope.core.decode.session import play
from galloscope.core.events import BufferAlloc
from galloscope.core.replay import replay
from galloscope.tests.core.decode.headers import header_of
from galloscope.tests.core.decode.recordings import NAMES, script_of


class Forgetful(dict[Any, Any]):
    """A memory that keeps nothing."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Drop it."""


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("gpu", "mamba", "pool", "sampler"))])
def test_a_session_goes_the_same_way_when_nothing_is_remembered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = script_of(name)
    remembered = play(script, header_of(script.model))
    begin = Plans.__init__

    def forget(self: Plans, *arguments: Any) -> None:
        begin(self, *arguments)
        self._known = Forgetful()

    monkeypatch.setattr(Plans, "__init__", forget)
    forgotten = play(script, header_of(script.model))
    assert len(forgotten.runs) >= len(remembered.runs)
    assert record(forgotten) == record(remembered)


def test_a_session_that_turns_in_a_circle_makes_no_more_runs() -> None:
    """Half of the layers on a device: prompt and decode plan against each other, each time from the same state."""
    steps = '{"decode": [{"n": 40}]}, {"decode": [{"n": 1}], "repeat": 2}, {"clear": true}'
    head = '"model": "llama_4l.gguf", "context": {"n_ctx": 512, "n_ubatch": 64}, "devices": [{"name": "GPU0"}]'
    counts = []
    for times in (3, 30):
        text = f'{{{head}, "model_params": {{"n_gpu_layers": 2}}, "steps": [{", ".join([steps] * times)}]}}'
        script = parse_script(text.encode(), "circle")
        counts.append(len(play(script, header_of(script.model)).runs))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("name", ["gpu1-half-grow", "pool-late", "gpu2-override"])
def test_the_way_back_from_a_run_gives_the_buffers_that_are_real(name: str) -> None:
    """A run names the run whose buffers it found: folding that short chain gives the recorded sizes."""
    script = script_of(name)
    log = play(script, header_of(script.model))
    told = record(log)
    sizes = [one["compute_sizes"] for step in told["steps"] for one in step["ubatches"] if not one["reused"]]
    runs = [event.run for event in log.events if isinstance(event, Rebuilt)]
    assert len(runs) == len(sizes) > 2
    made = sum(any(isinstance(event, BufferAlloc) for event in one.run.events) for one in log.runs)
    for run, size in zip(runs, sizes, strict=True):
        assert [sum(buffer.real) for buffer in replay(log.runs[run].run).buffers] == size
        chain, one = 0, log.runs[run].run
        while one.previous is not None:
            chain, one = chain + 1, one.previous
        assert chain <= 1 + made, "the run that planned, and before it only runs that made buffers"
