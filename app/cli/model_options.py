"""The options of a GGUF on the command line: llama.cpp's flags, the devices, and which graphs."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from ...core.errors import InputError
from ...core.gguf.source import file_source
from ...core.llama.arguments import read_given, read_words
from ...core.llama.flags import BY_NAME, FLAGS, Flag, read_value, set_value
from ...core.llama.options import GraphMode, Options, Override
from ...core.llama.overrides import EXPERTS

MODES = {
    "prefill": (GraphMode.PREFILL,),
    "decode": (GraphMode.DECODE,),
    "both": (GraphMode.PREFILL, GraphMode.DECODE),
}
ONE_MODE = ("prefill", "decode")
"""For commands that take one graph."""
GRAPH_FIELDS = ("n_tokens", "n_outputs")
"""Options that say what a graph is for."""
_GIVEN = "model_options"


def add_model_options(parser: argparse.ArgumentParser, modes: Sequence[str] = tuple(MODES)) -> None:
    """The flags of `core.llama.flags`, `--mode` and `--graphs`.

    Args:
        parser: of a command.
        modes: what `--mode` offers; () for a command that makes its graphs itself and takes no option about them.
    """
    group = parser.add_argument_group("for a GGUF, as in llama.cpp")
    for flag in FLAGS:
        if flag.field in GRAPH_FIELDS and not modes:
            continue
        kind: dict[str, Any] = {"nargs": 0} if flag.switch is not None else {"metavar": flag.metavar}
        group.add_argument(
            *flag.names, *flag.undo, dest=flag.field, help=flag.help, action=_Given, default=None, flag=flag, **kind
        )
    group.add_argument(
        "-cmoe", "--cpu-moe", dest=_GIVEN, nargs=0, action=_CpuMoe, help="all experts stay on the CPU", default=None
    )
    group.add_argument(
        "--command",
        dest="pasted",
        metavar="LINE",
        default=None,
        help="a llama.cpp command in quotes, whose options are used; those given beside it come first",
    )
    if not modes:
        return
    group.add_argument("--mode", choices=list(modes), default=None, help="which graphs (default prefill)")
    group.add_argument(
        "--graphs",
        choices=("auto", "llama.cpp", "builder"),
        default=None,
        help="who makes the graphs: the real llama.cpp of the extra 'native', or galloscope's own builders "
        "(default: llama.cpp where it is installed)",
    )


def options_of(args: argparse.Namespace) -> Options:
    """The options that were given, those of a pasted command beneath.

    Raises:
        InputError: the pasted command cannot be read.
    """
    return Options(**given_of(args))


def given_of(args: argparse.Namespace) -> dict[str, Any]:
    """The same, only those that were given, by the attribute of `Options`.

    Raises:
        InputError: the pasted command cannot be read.
    """
    given = getattr(args, _GIVEN, None) or {}
    if args.pasted is None:
        return given
    beneath, skipped = read_given(args.pasted)
    if skipped and sys.stderr is not None:
        print(f"passed over: {' '.join(skipped)}", file=sys.stderr)
    return {**beneath, **given}


def with_change(options: Options, text: str) -> Options:
    """The options with those of a line laid over them; devices and overrides that the line names replace the old ones.

    Raises:
        InputError: the line is no options.
    """
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--change {text}: {str(error).lower()}; look at its quotes") from None
    changed = read_words(parts)
    named = {flag.field for word in parts if (flag := BY_NAME.get(word.partition("=")[0]))}
    named |= {"overrides"} if changed.overrides else set()
    if "n_cpu_moe" in named and "overrides" not in named:  # the first N layers in place of all
        options = msgspec.structs.replace(
            options, overrides=tuple(one for one in options.overrides if one != Override(EXPERTS, "CPU"))
        )
    return msgspec.structs.replace(options, **{field: getattr(changed, field) for field in named})


def modes_of(args: argparse.Namespace) -> tuple[GraphMode, ...]:
    """The graphs that were asked for."""
    return MODES[args.mode or "prefill"]


def refuse_model_options(args: argparse.Namespace, path: str | None) -> None:
    """A graph file, or the sample that stands for none, is what it is: options of a model would do nothing.

    Raises:
        InputError: one was given, or there is no such file to belong to.
    """
    given = [
        *(getattr(args, _GIVEN, None) or ()),
        *(name for name in ("pasted", "mode", "graphs") if getattr(args, name)),
    ]
    if given:
        if path is not None:
            file_source(path)  # it says what is wrong with the file itself
        flag = next((flag.names[0] for flag in FLAGS if flag.field == given[0]), f"--{given[0]}")
        raise InputError(f"{path or 'the sample'}: {flag} belongs to GGUF files, and this is none")


class _Given(argparse.Action):
    """Reads a value by its flag and keeps it beside the others, so that what was not given stays a default."""

    def __init__(self, *args: Any, flag: Flag, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.flag = flag

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        given = _given(namespace)
        name = option_string or self.flag.names[0]
        if self.flag.switch is not None:
            given[self.flag.field] = self.flag.switch != (name in self.flag.undo)
        else:
            set_value(given, self.flag, read_value(self.flag, name, str(values)), name)


class _CpuMoe(argparse.Action):
    """`--cpu-moe` is one more override."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        flag = next(one for one in FLAGS if one.field == "overrides")
        set_value(_given(namespace), flag, (Override(EXPERTS, "CPU"),), option_string or "--cpu-moe")


def _given(namespace: argparse.Namespace) -> dict[str, Any]:
    if getattr(namespace, _GIVEN, None) is None:
        setattr(namespace, _GIVEN, {})
    found: dict[str, Any] = getattr(namespace, _GIVEN)
    return found
