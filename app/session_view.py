"""A played session on the server: its log, its fold, and what the page asks of it, each made at the first asking."""

from __future__ import annotations

import gzip
from threading import RLock
from typing import Any

import msgspec

from ..core.decode.life import Life, fold
from ..core.decode.log import LifeLog
from ..core.decode.presets import PRESETS
from ..core.errors import InputError
from .figures.session import session_scene
from .figures.session_detail import ubatch_data
from .figures.session_words import graph_text


class SessionView:
    """A session with what the page asks of it.

    Attributes:
        log: what was decided.
        life: its fold.
        base: the source of the model, where the page opened one; presets can be played on it.
        line: the options of llama.cpp that it is played under, as the page gave them.
    """

    def __init__(self, log: LifeLog, base: str = "", line: str = "") -> None:
        """Fold the log; pictures are made later."""
        self.log = log
        self.life: Life = fold(log)
        self.base = base
        self.line = line
        self._scene = b""
        self._lock = RLock()

    @property
    def scene(self) -> bytes:
        """The gzipped scene."""
        with self._lock:
            if not self._scene:
                scene = session_scene(self.log, self.life)
                self._scene = gzip.compress(msgspec.json.encode(scene), 6, mtime=0)
            return self._scene

    def ubatch(self, number: int) -> dict[str, Any]:
        """One ubatch.

        Raises:
            InputError: there is no such one.
        """
        if not 0 <= number < len(self.life.ubatches):
            raise InputError(f"ubatch {number}: the session has {len(self.life.ubatches):,}")
        return ubatch_data(self.log, self.life, number)

    def labels(self) -> list[str]:
        """What the page calls the graph of each run."""
        shapes = {one.run: one.shape for one in reversed(self.life.ubatches)}
        plans = {plan.run: plan.shape for one in self.life.reservations for plan in one.plans}
        found = []
        for run in range(len(self.log.runs)):
            kind = "ubatch" if run in shapes else "reserved" if run in plans else "memory update"
            shape = shapes.get(run) or plans.get(run)
            found.append(f"{kind}: {graph_text(shape)}" if shape is not None else kind)
        return found


def presets_data() -> list[dict[str, str]]:
    """The sessions that can be played on any model."""
    return [{"name": name, "title": one.title, "look": one.teaches} for name, one in PRESETS.items()]
