"""Print what real ggml would decide about each graph file: order, passes, splits, copies, placements, events.

With --json one decision record a line, in the order given, for a GGUF one per graph of --mode; a file that cannot be
read gets {"error": sentence} on its line, the others are still traced, and the exit code is 2.
"""

from __future__ import annotations

import argparse
import gc
import sys

import msgspec

from ...core.errors import GalloscopeError
from ...core.files.record import session_record
from .inputs import load_all
from .model_options import add_model_options
from .output import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope trace`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="GGUF, or graph JSON, plain or gzip")
    add_model_options(parser)
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--json", action="store_true", help="one record a line (the default)")
    style.add_argument("--pretty", action="store_true", help="indented, for people")


def run(args: argparse.Namespace) -> int:
    """Trace every file; 2 when one could not be read."""
    gc.disable()  # a trace is one burst of small tuples that all live to its end: collecting them finds nothing
    code = 0
    for path in args.files:
        try:
            records = [session_record(one.session) for one in load_all(path, args)]
        except GalloscopeError as error:
            tell(str(error))
            records = [{"error": str(error)}]
            code = 2
        for record in records:
            line = msgspec.json.encode(record)
            sys.stdout.buffer.write((msgspec.json.format(line, indent=1) if args.pretty else line) + b"\n")
        sys.stdout.buffer.flush()
        gc.collect(0)
    return code
