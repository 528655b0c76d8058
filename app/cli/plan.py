"""Plan buffers with known lifetimes: any planner or all of them, with the bound and what they save against ggml.

FILE is a CSV in MiniMalloc's format (id,lower,upper,size and, as needed, alignment, hint, gaps, offset), graph JSON or
a GGUF. A graph has an address space per device, each planned on its own and added up. A CSV that -o wrote keeps its
offsets when it is read again: they are fixed then; take the column out to plan anew.

Exit code 1: no planner that was asked has a plan within the capacity.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ...core.devices.spec import parse_bytes
from ...core.errors import InputError, printable
from ...core.files.buffers_write import dump_buffers, dump_plans
from ...core.planners.compare import ALL_PLANNERS, Comparison, Row, compare
from ...core.planners.known import PLANNERS
from ...core.planners.pipeline.order import ORDERS
from ...core.planners.planner import Budget
from ...core.planners.solve import find_planner
from ..samples import FIRST, find_sample
from .inputs import Teller, time_limit
from .model_options import add_model_options
from .output import check_place, tell, write_file
from .plan_input import Planned, read_input
from .plan_text import plan_text

DEFAULT = "best"
ENDINGS = (".csv", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope plan`."""
    parser.add_argument(
        "file",
        nargs="?",
        default=str(find_sample(FIRST).path),
        metavar="FILE",
        help="buffers as CSV, graph JSON (both plain or gzip), or GGUF (default: a sample)",
    )
    parser.add_argument(
        "--planner",
        metavar="NAME",
        action="append",
        help=f"a planner, more than once for several, or all (default {DEFAULT}): {', '.join(PLANNERS)}",
    )
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--capacity", metavar="BYTES", help="bytes each address space must fit into, as 1048576 or 1MiB")
    goal.add_argument("--minimize", action="store_true", help="as few bytes as possible (the default)")
    parser.add_argument(
        "--time-limit", metavar="S", default="10", help="seconds for each planner on each address space (default 10)"
    )
    parser.add_argument("--node-limit", metavar="N", help="search nodes; makes a run repeatable that time would end")
    parser.add_argument("--seed", metavar="N", default="0", help="of every random choice (default 0)")
    parser.add_argument("--alignment", metavar="BYTES", help="every offset a multiple of this, besides what FILE asks")
    parser.add_argument("--max-chunk", metavar="BYTES", help="the largest single chunk of memory")
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="write the smallest plan: .csv with a column offset, or .json"
    )
    parser.add_argument("--force", action="store_true", help="replace OUT when it exists")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object on a line")
    graph = parser.add_argument_group("for graphs")
    graph.add_argument("--run", type=int, default=0, metavar="N", help="which run of a sequence (default 0, the first)")
    graph.add_argument("--buffer", metavar="NAME", help="only this device, as the table names it")
    graph.add_argument(
        "--in-place",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether results computed in place share the bytes of their source, as in ggml (default), or not",
    )
    graph.add_argument(
        "--order", choices=list(ORDERS), default=None, help="of the steps (default: the order of the graph)"
    )
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Plan, print or write."""
    names = list(args.planner or [DEFAULT])
    for name in names:
        if name != ALL_PLANNERS:
            find_planner(name)
    if ALL_PLANNERS in names:
        names = [ALL_PLANNERS]
    told = Teller()
    budget = Budget(
        time_limit(args.time_limit),
        None if args.node_limit is None else _whole(args.node_limit, "--node-limit", 1),
        _whole(args.seed, "--seed", 0),
        progress=told.say,
    )
    for option in ("capacity", "alignment", "max_chunk"):
        given = getattr(args, option)
        setattr(args, option, None if given is None else parse_bytes(given, f"--{option.replace('_', '-')}"))
    out = None if args.output is None else _place(Path(args.output), args.force)
    planned = read_input(args)
    if out is not None and out.suffix.lower() == ".csv" and len(planned.instances) > 1:
        there = ", ".join(one.name for one in planned.instances)
        raise InputError(f"{out}: a CSV holds one address space; choose one with --buffer ({there}), or write .json")
    try:
        found = compare(
            planned.instances,
            names,
            args.capacity,
            budget,
            against_ggml=planned.is_graph,
            done=lambda name, _: told.say(f"planning with {name}"),
        )
    finally:
        told.end()
    return _answer(args, planned, found, out)


def _answer(args: argparse.Namespace, planned: Planned, found: Comparison, out: Path | None) -> int:
    best = found.best
    if out is not None and best is not None:
        write_file(out, _written(out, planned, best), args.force)
    if args.json:
        sys.stdout.buffer.write(msgspec.json.encode(found.numbers()) + b"\n")
    else:
        print(plan_text(found))
        if out is not None and best is not None:
            print(f"\n{printable(str(out))}: the plan of {best.planner}")
    if best is None:
        tell(printable(_unsolved(found.rows)) + ("" if out is None else f"; {out} is not written"))
        return 1
    return 0


def _unsolved(rows: Sequence[Row]) -> str:
    if len(rows) == 1:
        row = rows[0]
        failed = next(one for one in row.outcomes if not one.solved)
        where = f"{failed.instance.name}: " if len(row.outcomes) > 1 else ""
        return f"{where}{failed.refused}" if failed.refused else f"{where}{row.planner}: {failed.note}"
    return "none of the planners has a plan" + (" within the capacity" if rows[0].outcomes[0].capacity else "")


def _written(out: Path, planned: Planned, best: Row) -> bytes:
    if out.suffix.lower() == ".json":
        return dump_plans(best.outcomes)
    return dump_buffers(best.outcomes[0].instance, best.outcomes[0].plan, planned.header)


def _place(out: Path, force: bool) -> Path:
    """Refuse a name before the work begins."""
    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"{out}: end the name in .csv or .json")
    check_place(out)
    if os.path.lexists(out) and not force:
        raise InputError(f"{out}: exists; choose another name or say --force")
    return out


def _whole(text: str, option: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text) >= least):
        raise InputError(f"{option} {text}: not a whole number from {least}")
    return int(text)
