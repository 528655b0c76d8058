"""Generate tokens with a model, greedily: prefill and decode through planned graphs, the KV cache in its own buffer.

Each token is printed as it is chosen, with its logit, how far the second best is behind (margin) and the time it took.
With --compare llama.cpp the real one generates first; its tokens are then fed back here, so that every step is
compared on the same ground. It needs the extra 'native'.

Exit code 1: the guard found an overlap, or a token is not the one that llama.cpp chose.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import msgspec

from ...core.errors import InputError
from .generate_text import Told, Total, head, line, numbers, summary, token_pieces
from .inputs import need_gguf
from .model_options import add_model_options, options_of
from .output import tell

if TYPE_CHECKING:
    from ...core.execute.generate import Generator
    from ...core.gguf.header import Header
    from ...core.llama.options import Options
    from ...core.native.observe import Observation

LLAMA = "llama.cpp"
MOST_TOKENS = 1 << 20
"""Of a command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope generate`."""
    parser.add_argument("file", metavar="FILE", help="a GGUF with its weights")
    parser.add_argument("--tokens", metavar="1,2,3", required=True, help="the prompt, as token ids")
    parser.add_argument("-n", dest="count", metavar="N", default="8", help="how many tokens to generate (default 8)")
    parser.add_argument("--backend", metavar="NAME", default="numpy", help="numpy (default), reference or cupy")
    parser.add_argument("--exact", action="store_true", help="plain float32 where ggml rounds on the way")
    parser.add_argument("--poison", action="store_true", help="bytes that were freed or never written are NaN")
    parser.add_argument("--guard", action="store_true", help="check before and after each node whose bytes are whose")
    parser.add_argument("--compare", choices=(LLAMA,), help="with the real one, whose tokens are fed back")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object on a line")
    add_model_options(parser, ())


def run(args: argparse.Namespace) -> int:
    """Generate and print."""
    from ...core.execute.conflict import Conflict
    from ...core.gguf.read import read_header

    need_gguf(args.file)
    header = read_header(args.file)
    _check_builder(header, args.file)
    prompt, count = _tokens(args.tokens), _count(args.count)
    options = options_of(args)
    made = _generator(args, header, options)
    made.generate(prompt, count)  # refuses what cannot be, before anybody is asked
    theirs = _observed(args, made.options, prompt, count) if args.compare else None
    pieces = token_pieces(header.metadata)
    total = Total(len(prompt), args.guard, args.poison)
    if not args.json:
        print(head(pieces, compared=theirs is not None), flush=True)
    try:
        forced = None if theirs is None else [step.token for step in theirs.steps]
        for number, step in enumerate(made.generate(prompt, count, forced)):
            told = Told.of(number, step, pieces, None if theirs is None else theirs.steps[number])
            total.add(told, step)
            if not args.json:
                print(line(told, pieces), flush=True)
    except Conflict as found:
        tell(f"the guard ends the run: {found}")
        return 1
    if args.json:
        sys.stdout.buffer.write(msgspec.json.encode(numbers(total, made.options)) + b"\n")
    else:
        print("\n" + summary(total))
    return 1 if total.differing else 0


def _check_builder(header: Header, path: str) -> None:
    """The real llama.cpp hands out the graphs that it reserves, and none for the cells that a token sees.

    Raises:
        InputError: galloscope cannot build the graphs of this architecture.
    """
    from ...core.models import MODELS

    name = header.architecture
    if name and name not in MODELS:
        raise InputError(
            f"{path}: generate needs one of galloscope's own builders ({', '.join(MODELS)}), there is none for "
            f"{name!r}; `galloscope run` and `galloscope stats` open it with the real llama.cpp"
        )


def _generator(args: argparse.Namespace, header: Header, options: Options) -> Generator:
    from ...core.backends.backend import make_backend
    from ...core.execute.executor import Settings
    from ...core.execute.generate import Generator

    backend = make_backend(args.backend, exact=args.exact)
    if not backend.arithmetic:
        raise InputError(f"--backend {args.backend}: it computes no logits, so there is no token to choose")
    return Generator(header, options, backend, Settings(args.poison, args.guard, stats=False))


def _observed(args: argparse.Namespace, options: Options, prompt: list[int], count: int) -> Observation:
    """What the real llama.cpp does with the same prompt."""
    from ...core.native.observe import observe

    return observe(args.file, options, [prompt], n_predict=count)


def _tokens(text: str) -> list[int]:
    """The ids of --tokens.

    Raises:
        InputError: one is no number.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) > MOST_TOKENS:
        raise InputError(f"--tokens: {len(words):,} tokens, at most {MOST_TOKENS:,} fit")
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) < 11):
            raise InputError(f"--tokens {word[:40] or text[:40]!r}: token ids are whole numbers, as in 1,2,3")
    return [int(word) for word in words]


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text) >= 1):
        raise InputError(f"-n {text}: not a whole number from 1")
    return int(text)
