"""The address spaces that `galloscope plan` plans: of a CSV one, of a graph one per device."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...core.errors import InputError, nearest, printable
from ...core.files.buffers_csv import parse_buffers
from ...core.files.reading import read_bytes
from ...core.gguf.magic import is_gguf
from ...core.planners.from_graph import GraphBuffers, instances
from ...core.planners.instance import Instance
from ...core.planners.pipeline.order import ORDERS
from ...core.replay import replay
from .inputs import load, pick_run
from .model_options import refuse_model_options


@dataclass(frozen=True, eq=False)
class Planned:
    """What is to be planned.

    Attributes:
        instances: address spaces.
        header: the columns of a CSV file; () for a graph.
        is_graph: they come from a graph, where ggml's own plan is known.
    """

    instances: tuple[Instance, ...]
    header: tuple[str, ...]
    is_graph: bool


def read_input(args: argparse.Namespace) -> Planned:
    """Read FILE, told apart by what it holds: GGUF by its first bytes, graph JSON by its brace, else CSV.

    Raises:
        InputError: it cannot be used, or options do not belong to it.
    """
    if is_gguf(args.file):
        return _graph(args)
    data = read_bytes(args.file)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        if b'"planner"' in data[:64]:
            raise InputError(f"{args.file}: a plan that galloscope wrote; give the CSV or the graph that was planned")
        return _graph(args)
    refuse_model_options(args, args.file)
    for given, option in ((args.order, "--order"), (args.in_place, "--in-place"), (args.run, "--run")):
        if given not in (None, 0):
            raise InputError(f"{args.file}: {option} belongs to graphs, and these are buffers with decided lifetimes")
    if args.in_place is False:
        raise InputError(f"{args.file}: --no-in-place belongs to graphs, and these are buffers with decided lifetimes")
    found = parse_buffers(data, printable(str(args.file)))
    named = replace(found.instance, name=printable(Path(args.file).name))
    return Planned(_selected(args, [named]), found.header, False)


def _graph(args: argparse.Namespace) -> Planned:
    loaded = load(args.file, args)
    state = replay(pick_run(loaded.session, args.run))
    found = instances(state, args.in_place is not False, args.order or next(iter(ORDERS)))
    return Planned(_selected(args, [one.instance for one in found]), (), True)


def _selected(args: argparse.Namespace, found: Sequence[Instance]) -> tuple[Instance, ...]:
    """Those that --buffer asks for, under --alignment and --max-chunk."""
    if args.buffer is not None:
        names = [one.name for one in found]
        chosen = [one for one in found if one.name == args.buffer]
        if not chosen:
            raise InputError(
                f"--buffer {args.buffer}: no buffer of that name{nearest(args.buffer, names)}; there is "
                f"{', '.join(names)}"
            )
        found = chosen
    return tuple(_changed(one, args.alignment, args.max_chunk) for one in found)


def _changed(one: Instance, alignment: int | None, max_chunk: int | None) -> Instance:
    """Another alignment or chunk size; a plan that ggml made without them is none for these buffers."""
    aligned = one.alignment.tolist()
    if alignment is not None:
        if not 0 < alignment <= 1 << 40:
            raise InputError(f"--alignment {alignment}: take a number of bytes from 1 to 1TiB")
        common = {step: math.lcm(step, alignment) for step in set(aligned)}
        aligned = [common[step] for step in aligned]
    chunk = one.max_chunk if max_chunk is None else max_chunk
    if chunk == one.max_chunk and aligned == one.alignment.tolist():
        return one
    kind = GraphBuffers if isinstance(one, GraphBuffers) else Instance
    return kind.of(
        one.lower,
        one.upper,
        one.size,
        ids=one.ids,
        alignment=aligned,
        fixed=one.fixed,
        hint=one.hint,
        gaps=one.gaps,
        max_chunk=chunk,
        name=one.name,
    )
