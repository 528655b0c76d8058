"""Which ops of a graph a device would refuse, and why; for a GGUF, of the graph that llama.cpp makes for the devices.

Without --device every known kind of device is asked. Whether a device could also read the memory that the sources lie
in is another question: `galloscope stats` and `why` tell what a scheduler makes of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from ...core.build import build_forward
from ...core.devices.known import DEVICES, device
from ...core.devices.refused import Refused, refused
from ...core.devices.spec import device_text
from ...core.gguf.magic import is_gguf
from ...core.llama.options import DeviceSpec
from .inputs import Loaded, add_file, load_all, pick_run
from .model_options import options_of

MOST_NAMES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope supports`."""
    add_file(parser, required=True)
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each graph and device")


def run(args: argparse.Namespace) -> int:
    """Ask each device about each op."""
    specs = _devices(args)
    for graph in load_all(args.file, args):
        problem = pick_run(graph.session, args.run)
        tensors = problem.request.graph.tensors
        built = build_forward(problem.request.graph, problem.problem.config.order, lambda event: None)
        for spec in specs:
            groups = refused(device(spec), tensors, built.nodes)
            answer = _json if args.json else _text
            answer(graph, spec, groups, len(built.nodes), built.names)
    return 0


def _devices(args: argparse.Namespace) -> list[DeviceSpec]:
    """The devices to ask, each once; the graph of a GGUF is made for those of them that llama.cpp would plan with."""
    given = options_of(args).devices
    if given:
        chosen = [spec for spec in given if is_gguf(args.file) and device(spec).type != "accel"]
        args.model_options["devices"] = tuple(chosen)
        if not chosen:
            del args.model_options["devices"]
    specs = given or [DeviceSpec(name) for name in DEVICES]
    return list({device_text(spec): spec for spec in specs}.values())


def _text(graph: Loaded, spec: DeviceSpec, groups: Sequence[Refused], total: int, names: Sequence[str]) -> None:
    count = sum(len(group.nodes) for group in groups)
    where = f" of the {graph.mode} graph" if graph.mode else ""
    told = f"{count:,} of {total:,} ops{where}:" if groups else f"nothing ({total:,} ops{where})"
    print(f"{device_text(spec)} refuses {told}")
    for group in groups:
        shown = ", ".join(names[node] for node in group.nodes[:MOST_NAMES])
        more = len(group.nodes) - MOST_NAMES
        print(f"  {len(group.nodes):,} × {group.reason}\n      {shown}{f' and {more:,} more' if more > 0 else ''}")


def _json(graph: Loaded, spec: DeviceSpec, groups: Sequence[Refused], total: int, names: Sequence[str]) -> None:
    answer: dict[str, Any] = {
        "device": device_text(spec),
        "nodes": total,
        "refused": [
            {
                "op": group.op,
                "reason": group.reason,
                "count": len(group.nodes),
                "tensors": [names[node] for node in group.nodes],
            }
            for group in groups
        ],
    }
    if graph.mode:
        answer["mode"] = graph.mode
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
