"""Run a graph: every tensor at its planned address, with real numbers; time, values and what is wrong per node.

FILE is graph JSON or a GGUF. A GGUF is run with its own weights, a graph with random ones; a graph that was only
reserved is run on the plan that the reservation made. Inputs are random, in the ranges that their readers allow, but
for those from --input.

Exit code 1: the guard found an overlap, or --compare a difference. Values that are no numbers are marked, not an error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...core.errors import InputError, printable
from ...core.explain.sentence import count
from ...core.gguf.magic import is_gguf
from .inputs import Teller, add_path, load, pick_run
from .model_options import ONE_MODE, add_model_options
from .output import check_place, tell, write_file

if TYPE_CHECKING:
    from ..executing import Filling, How, Ready
    from ..figures.run_result import Executed
    from .run_output import Output

COMPARE = "naive"
DIGEST = "--backend digest"
MOST = 10**18
"""Of a number on the command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope run`."""
    add_path(parser)
    parser.add_argument("--weights", metavar="GGUF", help="weights from a model file (default for a GGUF: its own)")
    parser.add_argument("--random-weights", metavar="SEED", help="random weights and inputs (default: 1)")
    parser.add_argument(
        "--input", metavar="NAME=FILE.npy", action="append", default=[], help="a tensor from a file, more than once"
    )
    parser.add_argument(
        "--backend", metavar="NAME", default="numpy", help="numpy (default), reference, cupy, or digest: fingerprints"
    )
    parser.add_argument("--exact", action="store_true", help="plain float32 where ggml rounds on the way")
    parser.add_argument("--batches", metavar="N", default="1", help="run the graph N times, taking the copies in turn")
    parser.add_argument("--planner", metavar="NAME", help="addresses of another planner (see `galloscope plan -h`)")
    check = parser.add_argument_group("checks")
    check.add_argument("--poison", action="store_true", help="bytes that were freed or never written are NaN")
    check.add_argument("--guard", action="store_true", help="check before and after each node whose bytes are whose")
    check.add_argument("--compare", choices=(COMPARE,), help="compare every node with a run without shared memory")
    shown = parser.add_argument_group("what is shown")
    shown.add_argument("--top", metavar="K", default="5", help="how many of the slowest nodes (default 5)")
    shown.add_argument("--nodes", action="store_true", help="every node: time, min, max, mean")
    shown.add_argument("--json", action="store_true", help="everything as one JSON object on a line")
    shown.add_argument("-o", "--output", metavar="OUT", help="write the outputs: .npz, shapes as numpy has them")
    shown.add_argument("--force", action="store_true", help="replace OUT when it exists")
    add_model_options(parser, ONE_MODE)


def run(args: argparse.Namespace) -> int:
    """Run, print, write."""
    from ...core.planners.solve import find_planner
    from ...core.timeline.simulate import MOST_BATCHES
    from ..executing import How, prepare

    top, batches = _whole(args.top, "--top", 0), _whole(args.batches, "--batches", 1, MOST_BATCHES)
    out = None if args.output is None else _place(Path(args.output), args.force)
    filling = _filling(args)
    loaded = load(args.file, args)
    pick_run(loaded.session, args.run)
    ready = prepare(loaded.session.problem, args.run, batches)
    if args.planner:
        find_planner(args.planner)
    how = How(args.backend, args.exact, args.poison, args.guard, args.compare == COMPARE, args.planner or "")
    done, outputs = _execute(ready, filling, how)
    return _answer(args, done, outputs, top, out)


def _filling(args: argparse.Namespace) -> Filling:
    """What the tensors hold.

    Raises:
        InputError: two kinds of weights are asked for.
    """
    from ...core.execute.feeds.npy import parse_inputs
    from ..executing import USUAL_SEED, Filling

    if args.weights is not None and args.random_weights is not None:
        raise InputError("--weights and --random-weights: choose one")
    seed = USUAL_SEED if args.random_weights is None else _whole(args.random_weights, "--random-weights", 0)
    weights = args.weights
    if weights is None and args.random_weights is None and is_gguf(args.file):
        weights = args.file
    return Filling(seed, None if weights is None else Path(weights), parse_inputs(args.input))


def _execute(ready: Ready, filling: Filling, how: How) -> tuple[Executed, list[Output]]:
    """The work, its progress told when it takes long."""
    from ..executing import execute
    from .run_output import output_ids, outputs_of

    told = Teller()
    try:
        done, kept = execute(
            ready,
            filling,
            how,
            keep=lambda state: output_ids(state, [root.tensor for root in ready.request.graph.roots]),
            progress=lambda at, of: told.say(f"node {at:,} of {of:,}"),
        )
    except InputError as error:
        raise _with_way_out(error) from None
    finally:
        told.end()
    return done, outputs_of(done, kept)


def _with_way_out(error: InputError) -> InputError:
    """Of a node that no kernel can compute: graphs made only for planning have shapes that their ops never have."""
    said = str(error)
    if not said.startswith("node ") or DIGEST in said:
        return error
    return InputError(f"{said}; if the graph was made only for planning, {DIGEST} follows its bytes")


def _answer(args: argparse.Namespace, done: Executed, outputs: Sequence[Output], top: int, out: Path | None) -> int:
    from .run_output import keys_of, npz_of
    from .run_text import run_numbers, run_text

    ended = done.conflict is None and bool(outputs or not done.differing)  # what differs ends it before the last run
    if out is not None and ended:
        write_file(out, npz_of(outputs), args.force)
    if args.json:
        sys.stdout.buffer.write(msgspec.json.encode(run_numbers(done, outputs, keys_of(outputs))) + b"\n")
    else:
        print(run_text(done, outputs, top, every_node=args.nodes))
        if out is not None and ended:
            print(f"\n{printable(str(out))}: {count(len(outputs), 'output')}")
    if out is not None and not ended:
        tell(f"{printable(str(out))} is not written: the graph was not run to its end")
    return 1 if done.conflict is not None or done.differing else 0


def _place(out: Path, force: bool) -> Path:
    """Refuse a name before the work begins."""
    from .run_output import check_ending

    check_ending(out)
    check_place(out)
    if os.path.lexists(out) and not force:
        raise InputError(f"{out}: exists; choose another name or say --force")
    return out


def _whole(text: str, option: str, least: int, most: int = MOST) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and least <= int(text) <= most):
        raise InputError(f"{option} {text}: not a whole number from {least}" + (f" to {most}" if most < MOST else ""))
    return int(text)
