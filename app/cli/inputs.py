"""What the commands share: the file argument, opening it, the run to look at, finding a tensor by name."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import InputError, nearest, printable
from ...core.files.graph_json import read_graph
from ...core.files.reading import read_bytes
from ...core.gguf.magic import is_gguf
from ...core.gguf.source import file_source
from ...core.graph import Problem
from ...core.log import Run
from ...core.session import Session, trace
from ...core.state import State
from ..samples import FIRST, find_sample
from .model_options import add_model_options, modes_of, options_of, refuse_model_options

if TYPE_CHECKING:
    from ...core.llama.open import TracedGraph, TracedModel
    from ...core.llama.options import Options

PATIENCE = 1.0
"""Seconds until progress is told."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """One traced graph and, when it comes from a GGUF, the model it belongs to."""

    session: Session
    model: TracedModel | None = None
    graph: TracedGraph | None = None

    @property
    def mode(self) -> str:
        """prefill or decode, empty for a graph file."""
        return self.graph.taken.mode.value if self.graph else ""


def add_file(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """FILE, --run and the options of a GGUF."""
    add_path(parser, required=required)
    add_model_options(parser)


def add_path(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """FILE and --run; without a FILE the commands look at the opening sample."""
    parser.add_argument(
        "file",
        nargs=None if required else "?",
        default=None if required else str(find_sample(FIRST).path),
        metavar="FILE",
        help="GGUF, or graph JSON, plain or gzip" + ("" if required else f" (default: the sample {FIRST})"),
    )
    parser.add_argument(
        "--run", type=int, default=0, metavar="N", help="which run of a sequence (default 0, the first)"
    )


def load_all(path: str, args: argparse.Namespace) -> list[Loaded]:
    """Read and trace a file: one graph, or the graphs of a model that `--mode` asks for.

    Raises:
        InputError: it cannot be used.
    """
    if not is_gguf(path):
        refuse_model_options(args, path)
        return [Loaded(trace(_graph(path)))]
    model = load_model(path, args)
    return [Loaded(one.session, model, one) for one in model.graphs]


def _graph(path: str) -> Problem:
    """A graph file; of buffers it is said where they belong.

    Raises:
        InputError: it cannot be used.
    """
    try:
        return read_graph(path)
    except InputError:
        from ..buffers_open import is_buffers_csv  # only where something is wrong

        if is_buffers_csv(read_bytes(path)):
            raise InputError(f"{path}: a CSV of buffers and no graph: use `galloscope plan`") from None
        raise


def models_folder(given: str | None) -> Path | None:
    """The folder of --models, where models of sessions are looked for.

    Raises:
        InputError: it is no folder.
    """
    if given is not None and not os.path.isdir(given):
        raise InputError(f"--models {given}: not a folder")
    return None if given is None else Path(given)


def need_gguf(path: str, otherwise: str = "") -> None:
    """For commands that take a GGUF only.

    Raises:
        InputError: it cannot be read, or is something else.
    """
    if not is_gguf(path):
        file_source(path)  # it says what is wrong with the file itself
        raise InputError(f"{path}: not a GGUF file{'; ' if otherwise else ''}{otherwise}")


def load(path: str, args: argparse.Namespace) -> Loaded:
    """One graph of a file.

    Raises:
        InputError: it cannot be used, or it is two graphs.
    """
    found = load_all(path, args)
    if len(found) > 1:
        raise InputError("--mode both: this command shows one graph; choose --mode prefill or --mode decode")
    return found[0]


def load_model(path: str, args: argparse.Namespace) -> TracedModel:
    """Open a GGUF under the options of the command."""
    return open_model_with(path, args, options_of(args))


def open_model_with(path: str, args: argparse.Namespace, options: Options) -> TracedModel:
    """Open a GGUF under these options; what takes over a second is told on the error stream."""
    from ...core.llama.open import Origin, open_model  # only for a GGUF: a graph file needs none of it

    told = Teller()
    try:
        return open_model(
            path,
            printable(Path(path).name),
            options,
            modes_of(args),
            Origin(args.graphs or "auto"),
            progress=told.say,
        )
    finally:
        told.end()


class Teller:
    """Progress on the error stream, once the work has taken a while, when a person may be watching."""

    def __init__(self) -> None:
        """The work begins now."""
        self.began = time.monotonic()
        self.width = 0

    def say(self, text: str) -> None:
        """What is being done."""
        if time.monotonic() - self.began > PATIENCE and sys.stderr is not None and sys.stderr.isatty():
            line = f"galloscope: {text} ..."
            print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(line)

    def end(self) -> None:
        """Wipe the line."""
        if self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


def time_limit(text: str) -> float:
    """The seconds of --time-limit.

    Raises:
        InputError: it is no such number.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"--time-limit {text}: not a number of seconds such as 10 or 0.5")
    return value


def pick_run(session: Session, number: int) -> Run:
    """One run of a session.

    Raises:
        InputError: there is no such run.
    """
    if not 0 <= number < len(session.runs):
        last = len(session.runs) - 1
        raise InputError(
            f"--run {number}: the runs of this file are 0 to {last}"
            if last
            else f"--run {number}: the file has one run, 0"
        )
    return session.runs[number]


def find_tensor(state: State, wanted: str) -> int:
    """A tensor id by its name or shown label, or by `#id`.

    Raises:
        InputError: no tensor has that name.
    """
    if wanted in state.names:
        return state.names.index(wanted)
    if wanted.startswith("#") and wanted[1:].isdecimal() and len(wanted) < 12 and int(wanted[1:]) < len(state.names):
        return int(wanted[1:])
    labels = [tensor.label for tensor in state.tensors]
    if wanted and wanted in labels:
        return labels.index(wanted)
    family = [name for name in state.names if name.startswith(f"{wanted}-")] if wanted else []
    hint = f" (there are {family[0]} to {family[-1]})" if len(family) > 1 else nearest(wanted, state.names)
    raise InputError(f"no tensor is named {wanted!r}{hint}")
