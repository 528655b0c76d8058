"""The command line: one file per command, registered in `COMMANDS`."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ... import __version__
from ...core.errors import GalloscopeError, InputError, nearest
from ...core.llama.flags import BY_NAME
from .output import tell

COMMANDS = {
    "trace": "what real ggml would decide, as a decision record",
    "stats": "memory and splits per device",
    "why": "why a tensor is where it is",
    "devices": "the kinds of devices, their limits and rules",
    "supports": "which ops a device would refuse, and why",
    "gguf": "what a GGUF file says about its model",
    "view": "open the page in a browser",
    "report": "a picture or page to attach to an issue",
    "whatif": "what other options would change, a row each",
    "weights": "where each weight of a GGUF goes, and what -ot catches",
    "capture": "the graph of a GGUF as graph JSON",
    "run": "run a graph with real numbers inside the planned addresses",
    "generate": "generate tokens with a model through its planned graphs",
    "session": "which batches re-use the graph, which rebuild it, and why",
    "timeline": "when each device computes, copies and waits, simulated with assumed rates",
    "plan": "static planners: addresses for known lifetimes, with the bound",
}
"""Each command's help line; the module of the same name holds `add_arguments` and `run`."""

ELSEWHERE = ("view", "report", "capture")
"""Commands whose result is not what they print."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the one place where an error becomes a sentence and an exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        return _run(words)
    except GalloscopeError as error:
        tell(str(error))
        return 2
    except BrokenPipeError:
        if sys.stderr is not None:
            sys.stderr.close()
        return 1
    except MemoryError:
        tell("not enough memory for this graph")
        return 2
    except OSError as error:
        tell(f"cannot write the output ({error.strerror or error})")
        return 2
    except KeyboardInterrupt:
        return 130


def _open_streams() -> None:
    """Give descriptors 0 to 2 that the caller closed to nobody else: what is opened next would get them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free


def _run(words: Sequence[str]) -> int:
    parser = _Parser(prog="galloscope", description=sys.modules["galloscope"].__doc__)
    parser.add_argument("--version", action="version", version=f"galloscope {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text)
        if name in words[:1]:
            module = importlib.import_module(f".{name}", __name__)
            sub.description = module.__doc__
            module.add_arguments(sub)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a character shows its code
            stream.reconfigure(errors="backslashreplace")
    args, unknown = parser.parse_known_args(_joined(words))
    if unknown:
        known = unknown[0] in (*BY_NAME, "--mode", "--graphs")  # elsewhere
        hint = "" if known else nearest(unknown[0], BY_NAME)
        raise InputError(f"{unknown[0]}: galloscope {args.command} has no such option{hint}")
    if sys.stdout is None and args.command not in ELSEWHERE:
        raise InputError("there is no standard output to write to")
    module = importlib.import_module(f".{args.command}", __name__)
    return int(module.run(args) or 0)


class _Parser(argparse.ArgumentParser):
    """Takes options by their whole names only: `-t 8` of a llama.cpp command is no `-ts 8`."""

    def error(self, message: str) -> NoReturn:
        """One sentence, as for all that cannot be used."""
        raise InputError(f"{message}; {self.prog} -h lists what there is")

    def _get_option_tuples(self, option_string: str) -> list[object]:  # type: ignore[override]
        return []


def _joined(words: Sequence[str]) -> list[str]:
    """`--change "-c 8"` as one word, for argparse would take a value that starts with a dash for an option."""
    out: list[str] = []
    for word in words:
        if out and out[-1] == "--change":
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out
