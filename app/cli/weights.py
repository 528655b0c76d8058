"""Where each weight of a GGUF goes and why, and what each -ot pattern catches; no graph is made.

Weights that go to the same place for the same reason are one line; --all lists them one by one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ...core.errors import InputError, printable
from ...core.text import bytes_text
from .inputs import need_gguf
from .model_options import add_model_options, options_of
from .table import table

if TYPE_CHECKING:
    from ...core.llama.matches import Caught

MOST_NAMES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope weights`."""
    parser.add_argument("file", metavar="MODEL.gguf", help="a GGUF; its header is enough")
    parser.add_argument("--all", action="store_true", help="a line for each weight")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object on a line")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the patterns and the places."""
    need_gguf(args.file)
    from ...core.gguf.read import read_header  # only for a GGUF
    from ...core.llama.matches import matches
    from ...core.llama.overrides import all_overrides
    from ...core.llama.placement import place_weights

    header, options = read_header(args.file), options_of(args)
    caught = []
    for one in matches(header, msgspec.structs.replace(options, n_cpu_moe=0), all_overrides(options)):
        if isinstance(one, InputError):
            raise one
        caught.append(one)
    placement = place_weights(header, options)
    rows = [
        (one.tensor.name, one.tensor.dtype.name, one.tensor.nbytes, one.buft or "not loaded", one.why)
        for one in placement.weights
    ]
    if args.json:
        keys = ("name", "type", "bytes", "buffer_type", "why")
        told = {
            "file": printable(args.file),
            "patterns": [msgspec.to_builtins(one) for one in caught],
            "weights": [dict(zip(keys, row, strict=True)) for row in rows],
        }
        sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
        return 0
    if caught:
        print(_patterns(caught) + "\n")
    print(_listed(rows) if args.all else _grouped(rows))
    return 0


def _patterns(caught: Sequence[Caught]) -> str:
    lines = []
    for one in caught:
        moved = ", ".join(f"{bytes_text(move.bytes)} {move.before} → {move.after}" for move in one.moves)
        names = ", ".join(one.names[:MOST_NAMES]) + (" ..." if len(one.names) > MOST_NAMES else "")
        taken = f", {one.taken:,} more caught before" if one.taken else ""
        found = f"{len(one.names):,}{taken}"
        lines.append((f"{one.override.pattern}={one.override.buft}", found, moved or "nothing", names or "-"))
    return table(("pattern", "weights", "moves", "first"), lines, right=())


def _listed(rows: Sequence[tuple[str, str, int, str, str]]) -> str:
    lines = [(name, dtype, bytes_text(size), buft, why) for name, dtype, size, buft, why in rows]
    return table(("weight", "type", "bytes", "buffer type", "why"), lines, right=(2,))


def _grouped(rows: Sequence[tuple[str, str, int, str, str]]) -> str:
    """One line for each place and reason, layer numbers in a reason drawn together."""
    groups: dict[tuple[str, str], list[tuple[str, int, list[int]]]] = {}
    for name, _, size, buft, why in rows:
        numbers = [int(number) for number in re.findall(r"^layer (\d+)", why)]
        reason = re.sub(r"^layer \d+", "layer #", why)
        groups.setdefault((buft, reason), []).append((name, size, numbers))
    lines = []
    for (buft, reason), members in groups.items():
        layers = sorted({number for _, _, numbers in members for number in numbers})
        subject = f"layers {_ranges(layers)} are" if len(layers) > 1 else f"layer {layers[0]} is" if layers else ""
        told = reason.replace("layer # is", subject)
        lines.append((buft, f"{len(members):,}", bytes_text(sum(size for _, size, _ in members)), told))
    return table(("buffer type", "weights", "bytes", "why"), lines, right=(1, 2))


def _ranges(numbers: Sequence[int]) -> str:
    """`0-3, 7`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
