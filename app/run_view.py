"""One run of an opened file and everything derived from it, each thing computed at the first asking."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..core.check.checker import Violation, check
from ..core.explain.answers import answers
from ..core.explain.hazards import plan_maker
from ..core.explain.sentence import Sentence
from ..core.explain.stats import stats
from ..core.llama.placement import place_weights
from ..core.llama.weight_reason import weight_reason
from ..core.log import Run
from ..core.replay import replay
from ..core.state import State
from .figures.causes import cause_codes, cause_titles
from .figures.dag import dag_data
from .figures.devices import DeviceTotals, device_totals
from .figures.model import totals_facts
from .figures.model_devices import model_totals
from .figures.passes import pass_colors, passes_data
from .figures.scene import scene_of
from .figures.steps import step_ticks
from .figures.table import table_columns
from .planning import Planning
from .running import Running

if TYPE_CHECKING:
    from ..core.llama.open import TracedGraph
    from .sessions import Opened

_T = TypeVar("_T")


class RunView:
    """One run of an opened file, with what the page asks of it; each thing is computed at the first asking."""

    def __init__(self, run: Run, look: str = "", label: str = "", opened: Opened | None = None) -> None:
        """Nothing is computed yet; `look` says what there is to see, for a sample, `label` which graph it is."""
        self.run = run
        self.look = look
        self.label = label
        self.opened = opened
        self.graph: TracedGraph | None = None  # of a model: what it was taken from
        self._known: dict[str, Any] = {}
        self._lock = RLock()

    def _once(self, key: str, make: Callable[[], _T]) -> _T:
        with self._lock:
            if key not in self._known:
                self._known[key] = make()
            value: _T = self._known[key]
            return value

    @property
    def state(self) -> State:
        """The replayed log."""
        return self._once("state", lambda: replay(self.run))

    @property
    def violations(self) -> list[Violation]:
        """What the checker says about the plan."""
        return self._once("violations", lambda: check(self.state))

    def loaded(self, tensor: int) -> list[Sentence]:
        """Of a model's weight: why llama.cpp loaded it where it lies."""
        model = self.opened.model if self.opened else None
        if model is None:
            return []
        placement = self._once("placement", lambda: place_weights(model.header, model.taken.options))
        reason = weight_reason(placement, self.state, tensor)
        return [reason] if reason else []

    @property
    def answers(self) -> list[Sentence]:
        """The opening sentences."""
        return self._once("answers", self._answers)

    def _answers(self) -> list[Sentence]:
        maker = plan_maker(self.run) if self.violations or self.run.abort is not None else None
        return answers(self.state, self.violations, replay(maker) if maker is not None else None)

    @property
    def stats(self) -> dict[str, Any]:
        """The numbers of the run."""
        return self._once("stats", lambda: stats(self.state))

    @property
    def devices(self) -> list[DeviceTotals]:
        """What each device holds."""
        return self._once("devices", self._devices)

    def _devices(self) -> list[DeviceTotals]:
        opened = self.opened
        if opened is None or opened.model is None:
            return device_totals(self.state)
        return model_totals(opened.model.taken, [view.state for view in opened.runs], opened.runs.index(self))

    @property
    def totals(self) -> dict[str, Any]:
        """The numbers that are compared with those under other options."""
        return totals_facts(len(self.state.splits), self.stats["copied_bytes"], self.devices)

    @property
    def planning(self) -> Planning:
        """The planners' view of this run's buffers."""
        return self._once("planning", lambda: Planning.of_graph(self.state))

    @property
    def running(self) -> Running:
        """The last time that this run was computed."""
        return self._once("running", Running)

    @property
    def ids(self) -> dict[str, int]:
        """Tensor ids by name, so that a name in a sentence can be a link."""
        return self._once("ids", lambda: {name: i for i, name in enumerate(self.state.names)})

    @property
    def ticks(self) -> list[tuple[int, int]]:
        """Per step the range of events that decided about it."""
        return self._once("ticks", lambda: step_ticks(self.run, self.state))

    @property
    def scene(self) -> bytes:
        """The gzipped scene: what the pictures need."""
        return self._once("scene", lambda: _packed(self._scene()))

    @property
    def table(self) -> bytes:
        """The gzipped columns of the table that the scene does not have."""
        return self._once("table", lambda: _packed(table_columns(self.state)))

    def _scene(self) -> dict[str, Any]:
        scene = scene_of(self.state)
        scene["colors"]["pass"] = pass_colors(self.state)
        for entry, codes in zip(scene["colors"]["cause"]["palette"], cause_codes(), strict=True):
            entry["codes"] = codes
        return {
            **scene,
            "dag": dag_data(self.state),
            "passes": passes_data(self.run, self.state),
            "causes": cause_titles(),
            "step_tick": [first for first, _ in self.ticks],
        }


def _packed(value: dict[str, Any]) -> bytes:
    return gzip.compress(msgspec.json.encode(value), 6, mtime=0)
