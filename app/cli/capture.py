"""Write the graph of a GGUF as graph JSON: what llama.cpp hands to ggml, with devices and pins, to keep or to send.

Only the header of the GGUF is read. With --mode both two files are written, NAME-prefill and NAME-decode.
"""

from __future__ import annotations

import argparse
import gzip
import os
from pathlib import Path

from ...core.errors import InputError, printable
from ...core.files.graph_write import dump_graph
from .inputs import load_model, need_gguf
from .model_options import add_model_options
from .output import check_place, write_file

ENDINGS = (".graph.json.gz", ".graph.json", ".json.gz", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope capture`."""
    parser.add_argument("file", metavar="MODEL.gguf", help="a GGUF; its header is enough")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="graph.json or graph.json.gz")
    parser.add_argument("--force", action="store_true", help="replace OUT when it exists")
    add_model_options(parser)


def run(args: argparse.Namespace) -> int:
    """Write a file per graph; none when one of them exists."""
    out = Path(args.output)
    ending = next((one for one in ENDINGS if out.name.endswith(one)), None)
    if ending is None:
        raise InputError(f"{out}: end the name in .json or .json.gz")
    check_place(out)
    need_gguf(args.file, "a graph JSON needs no capture")
    model = load_model(args.file, args)
    several = len(model.graphs) > 1
    stem = out.name[: -len(ending)]
    places = [out.with_name(f"{stem}-{one.taken.mode.value}{ending}") if several else out for one in model.graphs]
    taken = [place for place in places if os.path.lexists(place)]
    if taken and not args.force:
        raise InputError(f"{taken[0]}: exists; choose another name or say --force")
    for one, place in zip(model.graphs, places, strict=True):
        text = dump_graph(one.taken.problem)
        data = gzip.compress(text, 6, mtime=0) if ending.endswith(".gz") else text
        write_file(place, data, args.force)
        run = one.session.runs[0]
        told = (
            ""
            if one.differences is None
            else (
                ", our decisions equal llama.cpp's" if not one.differences else f", {len(one.differences)} differences"
            )
        )
        count = len(run.request.graph.tensors)
        print(f"{printable(os.fspath(place))}: {count:,} tensors, {len(data):,} bytes, by {model.taken.source}{told}")
    return 0
