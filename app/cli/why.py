"""Why a tensor is where it is: its device and cause, its memory, who kept it alive, why it was not in place."""

from __future__ import annotations

import argparse
import sys

import msgspec

from ...core.explain.why import why
from ...core.replay import replay
from .inputs import add_file, find_tensor, load, pick_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope why`."""
    add_file(parser, required=True)
    parser.add_argument("tensor", metavar="TENSOR", help="its name, or #id")
    parser.add_argument("--json", action="store_true", help="the sentences as one JSON object on a line")


def run(args: argparse.Namespace) -> int:
    """Print the sentences."""
    loaded = load(args.file, args)
    state = replay(pick_run(loaded.session, args.run))
    tensor = find_tensor(state, args.tensor)
    told = why(state, tensor)
    if loaded.model:
        from ...core.llama.placement import place_weights  # only for a GGUF
        from ...core.llama.weight_reason import weight_reason

        reason = weight_reason(place_weights(loaded.model.header, loaded.model.taken.options), state, tensor)
        told += [reason] if reason else []
    if args.json:
        rows = [{"topic": one.topic, "text": one.text, "tensor": one.tensor, "split": one.split} for one in told]
        answer = {"tensor": state.names[tensor], "id": tensor, "why": rows}
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    else:
        print("\n".join(one.text for one in told))
    return 0
