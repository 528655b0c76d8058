"""What the commands that show a timeline share: micro-batches in flight, and the cost model."""

from __future__ import annotations

import argparse

from ...core.errors import InputError, printable
from ...core.files.reading import read_bytes
from ...core.log import Run
from ...core.state import State
from ...core.timeline.cost import Cost, assumed, read_cost
from ...core.timeline.lanes import Timeline
from ...core.timeline.simulate import MOST_BATCHES, simulate


def add_timeline_options(parser: argparse.ArgumentParser, extra: str = "") -> None:
    """--batches and --cost."""
    parser.add_argument(
        "--batches", metavar="K", help=f"{extra}micro-batches in flight, each the same graph again (default 1)"
    )
    parser.add_argument(
        "--cost", metavar="COST.json", help=f"{extra}rates of devices and links (default: assumed, docs/timeline.md)"
    )


def timeline_with(args: argparse.Namespace, run: Run, state: State) -> tuple[Timeline, Cost]:
    """The timeline that the options ask for.

    Raises:
        InputError: an option cannot be used, or nothing runs in the graph.
    """
    cost = cost_of(args, state)
    return simulate(run, state, cost, batches_of(args)), cost


def batches_of(args: argparse.Namespace) -> int:
    """The number of --batches.

    Raises:
        InputError: it is none.
    """
    text = "1" if args.batches is None else args.batches
    if not text.isdecimal() or not 1 <= int(text[:6]) <= MOST_BATCHES:
        raise InputError(f"--batches {printable(text)}: not a number from 1 to {MOST_BATCHES}")
    return int(text)


def cost_of(args: argparse.Namespace, state: State) -> Cost:
    """The cost model of --cost.

    Raises:
        InputError: the file cannot be used.
    """
    if args.cost is None:
        return assumed(state.backends)
    return read_cost(read_bytes(args.cost), printable(args.cost), state.backends)
