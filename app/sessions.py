"""Traced files on the server: an id for each, the last few kept, and everything derived from a run computed once."""

from __future__ import annotations

import gzip
import hashlib
import stat
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import msgspec

from ..core.check.checker import Violation, check
from ..core.errors import GalloscopeError, InputError
from ..core.explain.answers import answers
from ..core.explain.sentence import Sentence
from ..core.explain.stats import stats
from ..core.files.graph_json import parse_graph
from ..core.files.reading import read_bytes
from ..core.log import Run
from ..core.replay import replay
from ..core.session import Session, trace
from ..core.state import State
from .figures.causes import cause_codes, cause_titles
from .figures.dag import dag_data
from .figures.passes import pass_colors, passes_data
from .figures.scene import scene_of
from .figures.steps import step_ticks
from .figures.table import table_columns
from .samples import find_sample

MOST_SESSIONS = 8
_T = TypeVar("_T")


class SessionGone(GalloscopeError):
    """The page asks about a file that the server has let go of."""


class RunView:
    """One run of an opened file, with what the page asks of it; each thing is computed at the first asking."""

    def __init__(self, run: Run, look: str) -> None:
        """Nothing is computed yet; `look` says what there is to see, for a sample."""
        self.run = run
        self.look = look
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

    @property
    def answers(self) -> list[Sentence]:
        """The opening sentences."""
        return self._once("answers", lambda: answers(self.state, self.violations))

    @property
    def stats(self) -> dict[str, Any]:
        """The numbers of the run."""
        return self._once("stats", lambda: stats(self.state))

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


class Opened:
    """A traced file: its id is made from its bytes, so the same file is the same session after a reload."""

    def __init__(self, key: str, title: str, session: Session, look: str = "") -> None:
        """Wrap what `trace` returned."""
        self.key = key
        self.title = title
        self.session = session
        self.runs = [RunView(run, look) for run in session.runs]


class SessionStore:
    """The last few opened files; safe to use from several threads."""

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        """Keep at most `most` files."""
        self.most = most
        self._kept: OrderedDict[str, Opened] = OrderedDict()
        self._lock = RLock()

    def open_source(self, source: str) -> Opened:
        """Open `sample:NAME`, `path:FILE` or `session:ID` (a file sent earlier).

        Raises:
            InputError: it cannot be opened, in one sentence that never quotes a file which is no graph.
        """
        kind, _, rest = source.partition(":")
        if kind == "sample":
            sample = find_sample(rest)
            return self.open_bytes(read_bytes(sample.path), rest, sample.title, sample.look)
        if kind == "path":
            return self.open_bytes(read_graph_file(rest), rest, Path(rest).name)
        try:
            return self.get(rest)
        except SessionGone:
            raise InputError("this uploaded file is no longer on the server: choose it again") from None

    def open_bytes(self, data: bytes, where: str, title: str, look: str = "") -> Opened:
        """Trace a file's bytes, or find the session that has done so.

        Raises:
            InputError: they are no usable graph; `where` stands for the file.
        """
        key = hashlib.blake2b(data, digest_size=8).hexdigest()
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        opened = Opened(key, title, trace(parse_graph(data, where)), look)
        with self._lock:
            self._kept[key] = opened
            while len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return opened

    def get(self, key: str) -> Opened:
        """The session of an id.

        Raises:
            SessionGone: it was dropped, or never was.
        """
        with self._lock:
            if key not in self._kept:
                raise SessionGone(f"session {key} is gone: open the file again")
            self._kept.move_to_end(key)
            return self._kept[key]

    def view(self, key: str, run: int) -> RunView:
        """One run of a session.

        Raises:
            SessionGone: there is no such run.
        """
        runs = self.get(key).runs
        if not 0 <= run < len(runs):
            raise SessionGone(f"session {key} has no run {run}")
        return runs[run]


class _Graph(msgspec.Struct):
    """The one key that makes a JSON file a graph file."""

    tensors: list[msgspec.Raw]


def read_graph_file(path: str) -> bytes:
    """A graph file's bytes; of any other file nothing is told but that it is none, whoever asks.

    Raises:
        InputError: not a regular file, not readable, or not a graph.
    """
    try:
        regular = stat.S_ISREG(Path(path).stat().st_mode)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not a path'})") from None
    if not regular:
        raise InputError(f"{path}: not a file")
    data = read_bytes(path)
    try:
        msgspec.json.decode(data, type=_Graph)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise InputError(f"{path}: not a graph file (galloscope's graph JSON, plain or gzip)") from None
    return data


def _packed(value: dict[str, Any]) -> bytes:
    return gzip.compress(msgspec.json.encode(value), 6, mtime=0)
