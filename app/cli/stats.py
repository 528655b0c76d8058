"""Memory and splits of a graph, per device: sizes, peak, who is alive at it, in-place results, copies, causes.

Of a GGUF first the model: the equal llama.cpp command, whether llama.cpp agreed, and bytes per device.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from ...core.check.checker import check
from ...core.errors import InputError
from ...core.explain.answers import answers
from ...core.explain.cures import cures
from ...core.explain.stats import stats
from ...core.replay import replay
from ...core.state import State
from ...core.text import bytes_text
from .inputs import add_file, load_all, pick_run
from .model_text import breakdown_text, model_numbers, model_text
from .table import table

MOST_ROWS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope stats`."""
    add_file(parser)
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--json", action="store_true", help="all numbers as one JSON object on a line")
    style.add_argument(
        "--breakdown",
        action="store_true",
        help="of a GGUF, the memory table that llama.cpp prints at exit, and no more",
    )


def run(args: argparse.Namespace) -> int:
    """Print the numbers, of a GGUF those of each graph that --mode asks for."""
    loaded = load_all(args.file, args)
    states = [replay(pick_run(one.session, args.run)) for one in loaded]
    model = loaded[0].model
    if args.json:
        about = model_numbers(model, states) if model else None
        for one, state in zip(loaded, states, strict=True):
            numbers = stats(state)
            if about is not None:
                numbers = {"mode": one.mode, "model": about, **numbers}
            sys.stdout.buffer.write(msgspec.json.encode(numbers) + b"\n")
        return 0
    if args.breakdown:
        if model is None:
            raise InputError(f"{args.file}: --breakdown is for GGUF files: this graph has no totals of a model")
        print(breakdown_text(model, states))
        return 0
    if model:
        print(model_text(model, states))
    for one, state in zip(loaded, states, strict=True):
        if model:
            print(f"\n{one.mode}\n")
        _print(state)
    return 0


def _print(state: State) -> None:
    numbers = stats(state)
    for sentence in answers(state, check(state)):
        print(sentence.text)
    for sentence in cures(state):
        print(sentence.text)
    print(f"\n{numbers['nodes']:,} nodes, {numbers['leafs']:,} leafs, {numbers['steps']:,} steps")
    for part in (_devices(numbers), _peaks(numbers), _splits(numbers), _counts(numbers)):
        print("\n" + part)


def _devices(numbers: dict[str, Any]) -> str:
    rows = [
        (
            one["name"],
            one["buft"],
            bytes_text(one["compute_bytes"]),
            str(len(one["chunks"])),
            bytes_text(one["peak_live_bytes"]),
            str(one["peak_step"]),
            f"{100 * one['fragmentation']:.1f} %",
            bytes_text(one["sum_bytes"]),
            f"{one['tensors']:,}",
        )
        for one in numbers["devices"]
    ]
    head = ("device", "buffer type", "compute", "chunks", "peak live", "at step", "wasted", "sum of tensors", "tensors")
    return table(head, rows, right=range(2, 9))


def _peaks(numbers: dict[str, Any]) -> str:
    parts = []
    for one in numbers["devices"]:
        if not one["at_peak"]:
            continue
        rows = [(bytes_text(row["bytes"]), row["tensor"]) for row in one["at_peak"][:MOST_ROWS]]
        more = len(one["at_peak"]) - len(rows)
        title = f"alive at the peak of {one['name']} (step {one['peak_step']}, {one['peak_node']})"
        parts.append(table(("bytes", title), rows, right=(0,)) + (f"\n  and {more:,} more" if more > 0 else ""))
    return "\n\n".join(parts)


def _splits(numbers: dict[str, Any]) -> str:
    rows = [
        (
            str(one["split"]),
            one["backend"],
            f"{one['start']}-{one['end'] - 1}" if one["nodes"] else "-",
            f"{one['nodes']:,}",
            str(len(one["inputs"])),
            bytes_text(one["copied_bytes"]),
            one["reason"] + (f": {one['by']}" if one["by"] else ""),
        )
        for one in numbers["splits"]
    ]
    shown = sorted(range(len(rows)), key=lambda k: (-numbers["splits"][k]["copied_bytes"], k))[:MOST_ROWS]
    head = ("split", "device", "nodes", "count", "inputs", "copied", "cut by")
    more = len(rows) - len(shown)
    text = table(head, [rows[k] for k in sorted(shown)], right=(0, 3, 4, 5)) if rows else "no splits (no scheduler)"
    return text + (f"\n  and {more:,} that copy less; --json lists all" if more > 0 else "")


def _counts(numbers: dict[str, Any]) -> str:
    in_place = numbers["in_place"]
    refused = ", ".join(f"{reason} {count}" for reason, count in in_place["refused"].items()) or "none"
    causes = ", ".join(f"{cause} {count}" for cause, count in numbers["causes"].items()) or "none"
    lines = [f"in place: {in_place['hits']} hits; refused: {refused}", f"causes: {causes}"]
    lines += [
        f"{one['backend']} refused {one['count']} × {one['op']} ({one['reason']}); they run on "
        + (", ".join(one["runs_on"]) or "nothing")
        for one in numbers["refused_ops"]
    ]
    return "\n".join(lines)
