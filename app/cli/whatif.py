"""What other options would change: splits, copies, ops on the CPU and bytes per device, one row for each --change.

For example: galloscope whatif model.gguf --device cuda:24GiB --change "-ngl 20" --change "-fa off" --change "-ub 256"
Each change is laid over the options of the command; the first row is the command as it is.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

import msgspec

from ...core.errors import InputError, printable
from ...core.llama.brief import Brief, brief, changes
from ...core.llama.flags import words
from ...core.text import bytes_text
from .inputs import need_gguf, open_model_with
from .model_options import add_model_options, options_of, with_change
from .table import table

MOST = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope whatif`."""
    parser.add_argument("file", metavar="MODEL.gguf", help="a GGUF; its header is enough")
    parser.add_argument(
        "--change",
        action="append",
        default=[],
        metavar="OPTIONS",
        help="options to lay over the others, in quotes; repeat it for more rows",
    )
    parser.add_argument("--json", action="store_true", help="all numbers as one JSON object on a line")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Open the model once for each row."""
    need_gguf(args.file, "what-if needs a model")
    if not args.change:
        raise InputError('nothing to change: say for example --change "-ngl 20"')
    if len(args.change) > MOST:
        raise InputError(f"--change: given {len(args.change)} times, {MOST} are allowed")
    base = options_of(args)
    asked = [("as asked", base), *((text, with_change(base, text)) for text in args.change)]
    rows: list[tuple[str, Brief | None, str]] = []
    for label, options in asked:
        try:
            rows.append((label, brief(open_model_with(args.file, args, options)), ""))
        except InputError as error:
            if label == "as asked":
                raise
            rows.append((label, None, str(error)))
    if args.json:
        sys.stdout.buffer.write(msgspec.json.encode(_plain(args.file, rows)) + b"\n")
    else:
        print(printable(f"{args.file} {shlex.join(words(base))}".rstrip()) + "\n")
        print(_table(rows))
        for label, one, why_not in rows[1:]:
            first = rows[0][1]
            told = why_not or (first is not None and one is not None and "; ".join(changes(first, one))) or "nothing"
            print(f"\n{printable(label)}: {told}")
    return 0


def _table(rows: list[tuple[str, Brief | None, str]]) -> str:
    found = [one for _, one, _ in rows if one is not None]
    modes = [graph.mode.value for graph in found[0].graphs]
    names = list(dict.fromkeys(row.name for one in found for row in one.totals))
    head = ["options"]
    for mode in modes:
        head += [f"{mode} splits", "copied", "on CPU*"]
    head += [f"{name} {what}" for name in names for what in ("total", "compute")]
    lines = []
    for label, one, _ in rows:
        cells = [label]
        if one is None:
            cells += ["-"] * (len(head) - 1)
        else:
            for graph in one.graphs:
                cells += [f"{graph.splits:,}", bytes_text(graph.copied), f"{sum(graph.fallen.values()):,}"]
            by_name = {row.name: row for row in one.totals}
            for name in names:
                total = by_name.get(name)
                cells += [bytes_text(total.total + total.output), bytes_text(total.compute)] if total else ["-", "-"]
        lines.append(tuple(cells))
    return (
        table(tuple(head), lines, right=range(1, len(head)))
        + "\n* ops that fell back because a device refuses them. Copied: for experts at most, only those in use go."
    )


def _plain(file: str, rows: list[tuple[str, Brief | None, str]]) -> dict[str, Any]:
    first = rows[0][1]
    return {
        "file": printable(file),
        "rows": [
            {"change": label, "error": error}
            if one is None
            else {
                "change": label,
                "graphs": [msgspec.to_builtins(graph) for graph in one.graphs],
                "totals": [total.as_json() for total in one.totals],
                "changes": changes(first, one) if first is not None else [],
            }
            for label, one, error in rows
        ],
    }
