"""Traced files on the server: an id for each, and the last few kept."""

from __future__ import annotations

import hashlib
import stat
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import RLock

import msgspec

from ..core.errors import GalloscopeError, InputError
from ..core.files.graph_json import parse_graph
from ..core.files.reading import read_bytes
from ..core.gguf.magic import is_gguf
from ..core.llama.open import Origin, TracedModel
from ..core.planners.instance import Instance
from ..core.session import Session, trace
from .buffers_open import buffers_of, is_buffers_csv
from .jobs import Job, Jobs
from .model_open import Headers, model_key, normal_line, open_for_page
from .planning import Planning
from .run_view import RunView
from .samples import find_sample
from .session_view import SessionView

MOST_SESSIONS = 8


class SessionGone(GalloscopeError):
    """The page asks about a file that the server has let go of."""


class Opened:
    """A traced file: its id is made from its bytes and options, so the same question is the same session.

    Attributes:
        key: the id.
        title: what the page calls it.
        sessions: one, or one per graph of a model.
        runs: all their runs, as the page numbers them.
        buffers: of a buffer set (CSV): then there is no graph, so no session and no run.
        life: of a session of batches: its runs are the graphs that were split or planned in it.
        look: what there is to see, for a sample.
        model: of a GGUF, what was opened.
        line: of a GGUF, the options as a line, defaults left out.
        path: of a GGUF on this machine, where it is; empty for a header that was sent.
    """

    def __init__(self, key: str, title: str, sessions: Sequence[Session], look: str = "") -> None:
        """Wrap what `trace` returned."""
        self.key = key
        self.title = title
        self.look = look
        self.sessions = tuple(sessions)
        self.runs = [RunView(run, look, f"run {k}", self) for one in sessions for k, run in enumerate(one.runs)]
        self.model: TracedModel | None = None
        self.line = ""
        self.path = ""
        self.buffers: Instance | None = None
        self.life: SessionView | None = None
        self._planning: Planning | None = None

    @classmethod
    def of_buffers(cls, key: str, title: str, buffers: Instance, look: str = "") -> Opened:
        """A buffer set, to be planned and nothing else."""
        opened = cls(key, title, [], look)
        opened.buffers, opened._planning = buffers, Planning.of_set(buffers)
        return opened

    @classmethod
    def of_life(cls, key: str, life: SessionView, look: str = "") -> Opened:
        """A played session of batches."""
        script = life.log.script
        opened = cls(key, script.name or script.model, [], look)
        opened.life = life
        named = zip(life.log.runs, life.labels(), strict=True)
        opened.runs = [RunView(one.run, look, label, opened) for one, label in named]
        return opened

    def planning(self, run: int) -> Planning:
        """The planners' view of a run, or of the buffer set.

        Raises:
            SessionGone: there is no such run.
        """
        if self._planning is not None:
            return self._planning
        if not 0 <= run < len(self.runs):
            raise SessionGone(f"session {self.key} has no run {run}")
        return self.runs[run].planning

    @classmethod
    def of_model(cls, key: str, model: TracedModel, line: str) -> Opened:
        """A model: a run per graph, named by its mode."""
        opened = cls(key, model.name, [one.session for one in model.graphs])
        opened.model, opened.line = model, line
        for view, graph in zip(opened.runs, model.graphs, strict=True):
            view.label = graph.taken.mode.value
            view.graph = graph
        return opened


class SessionStore:
    """The last few opened files; safe to use from several threads."""

    def __init__(self, most: int = MOST_SESSIONS, origin: Origin = Origin.AUTO) -> None:
        """Keep at most `most` files; `origin` makes the graphs of models."""
        self.most = most
        self.origin = origin
        self.headers = Headers()
        self.jobs = Jobs()
        self.plans = Jobs("planners are at work already")
        self.runs = Jobs("graphs are being run already")
        self.models: Path | None = None  # the folder of --models, for sessions whose model is not beside them
        self.own = ""  # the file that the command line named: only its weights may be read
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

    def open_model(self, source: str, line: str) -> Opened | Job:
        """Open `path:FILE` or `header:KEY` under a line of options: at once when it is known, else in the background.

        Raises:
            InputError: there is no such file or header, or the line cannot be read.
        """
        kind, _, rest = source.partition(":")
        name, given = (Path(rest).name, rest) if kind == "path" else self.headers.get(rest)
        usual = normal_line(line)
        key = model_key(given, usual)
        found = self.known(key)
        if found is not None:
            return found

        def work(job: Job) -> str:
            opened = Opened.of_model(
                key, open_for_page(given, name, usual, self.origin, job.say, job.is_stopped), usual
            )
            opened.path = rest if kind == "path" else ""
            job.say("adding up")
            for view in opened.runs:
                _ = view.totals  # the page asks for those of every graph at once
            return self.keep(opened).key

        return self.jobs.start(work)

    def open_bytes(self, data: bytes, where: str, title: str, look: str = "") -> Opened:
        """Trace a file's bytes, or find the session that has done so.

        Raises:
            InputError: they are no usable graph; `where` stands for the file.
        """
        key = hashlib.blake2b(data, digest_size=8).hexdigest()
        found = self.known(key)
        if found is not None:
            return found
        buffers = buffers_of(data, where, title)
        if buffers is not None:
            return self.keep(Opened.of_buffers(key, title, buffers, look))
        return self.keep(Opened(key, title, [trace(parse_graph(data, where))], look))

    def known(self, key: str) -> Opened | None:
        """What has this id, None when it is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, opened: Opened) -> Opened:
        """Keep it, and let go of the one that was asked for longest ago."""
        with self._lock:
            self._kept[opened.key] = opened
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


def is_model_source(source: str) -> bool:
    """Whether a source is a GGUF: a header that was sent, or a path to a file that begins like one."""
    kind, _, rest = source.partition(":")
    return kind == "header" or (kind == "path" and is_gguf(rest))


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
    if is_buffers_csv(data):
        return data
    try:
        msgspec.json.decode(data, type=_Graph)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise InputError(
            f"{path}: not a graph file (galloscope's graph JSON or a CSV of buffers, plain or gzip)"
        ) from None
    return data
