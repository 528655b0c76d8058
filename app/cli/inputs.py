"""What the commands share: the file argument, the run to look at, finding a tensor by name."""

from __future__ import annotations

import argparse

from ...core.errors import InputError, nearest
from ...core.files.graph_json import read_graph
from ...core.log import Run
from ...core.session import Session, trace
from ...core.state import State
from ..samples import FIRST, find_sample


def add_file(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """FILE and --run; without a FILE the commands look at the opening sample."""
    parser.add_argument(
        "file",
        nargs=None if required else "?",
        default=None if required else str(find_sample(FIRST).path),
        metavar="FILE",
        help="graph JSON, plain or gzip" + ("" if required else " (default: a sample)"),
    )
    parser.add_argument(
        "--run", type=int, default=0, metavar="N", help="which run of a sequence (default 0, the first)"
    )


def load(path: str) -> Session:
    """Read and trace a file."""
    return trace(read_graph(path))


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
