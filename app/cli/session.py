"""The life of a decode: a sequence of batches, ubatch by ubatch: re-used or rebuilt, planned anew or not, and why.

FILE is a script of llama_decode calls, JSON or YAML; its model is looked for beside it and in --models. For example:

  model: llama.gguf
  context: {n_ctx: 2048, n_ubatch: 512, flash_attn: off}
  steps:
    - decode: [{seq: 0, n: 100}]
    - decode: [{seq: 0, n: 1}]
      repeat: 50

With --preset FILE is a GGUF, and the script is one of those below; --save writes it down to be changed. Options of
llama.cpp stand in place of what the script or the preset says: galloscope session m.gguf --preset chat -c 8192 -fa on
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ...core.decode.from_options import is_causal, under_options
from ...core.decode.life import fold
from ...core.decode.presets import PRESETS, make_preset
from ...core.decode.read import model_path, read_script
from ...core.decode.record import record_json
from ...core.decode.script import Script
from ...core.decode.session import play
from ...core.errors import InputError
from ...core.gguf.header import Header
from ...core.gguf.magic import is_gguf
from ...core.gguf.read import read_header
from .inputs import Teller, models_folder, need_gguf
from .model_options import add_model_options, given_of
from .session_report import check_report, write_report
from .session_save import check_save, save_script
from .session_text import session_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `galloscope session`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", metavar="FILE", help="a script, JSON or YAML; with --preset a GGUF")
    parser.add_argument("--models", metavar="FOLDER", help="where the script's model lies, if it is not beside it")
    parser.add_argument("--preset", metavar="NAME", help=f"one of {', '.join(PRESETS)}")
    parser.add_argument("--save", metavar="FILE", help="write the script as JSON, and play nothing")
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--json", action="store_true", help="the record as one JSON object on a line")
    style.add_argument("--ubatches", action="store_true", help="each ubatch by itself, with all that is known about it")
    style.add_argument("-o", "--output", metavar="OUT", help="life.svg, a picture for an issue, or life.html")
    parser.add_argument("--force", action="store_true", help="replace OUT, or the FILE of --save, when it exists")
    add_model_options(parser, modes=())
    lines = [f"  {name.ljust(11)} {preset.title}. {preset.teaches}" for name, preset in PRESETS.items()]
    parser.epilog = "\n".join(["presets:", *lines])


def run(args: argparse.Namespace) -> int:
    """Play the script and print what happened."""
    if args.save is not None:
        check_save(args)
    if args.output is not None:
        check_report(Path(args.output))
    script, header = _asked(args)
    if given := given_of(args):
        script = under_options(script, given, causal=header is None or is_causal(header))
    if args.save is not None or header is None:
        save_script(script, args)
        return 0
    teller = Teller()
    try:
        log = play(script, header, progress=lambda done, total: teller.say(f"step {done:,} of {total:,}"))
    finally:
        teller.end()
    if args.output is not None:
        write_report(log, fold(log), Path(args.output), args.force)
    elif args.json:
        for piece in record_json(log):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.write(b"\n")
    else:
        print(session_text(log, fold(log), every=args.ubatches))
    return 0


def _asked(args: argparse.Namespace) -> tuple[Script, Header | None]:
    """The script and the header of its model; none where the script is only to be written down.

    Raises:
        InputError: one of them cannot be used.
    """
    path = Path(args.file)
    models = models_folder(args.models)
    if args.preset is not None:
        need_gguf(args.file, "with --preset FILE is the model")
        header = read_header(path)
        layers = header.get("block_count")
        return make_preset(args.preset, path.name, layers if isinstance(layers, int) else 2), header
    if is_gguf(args.file):
        raise InputError(f"{args.file}: a model and no script; say --preset and one of {', '.join(PRESETS)}")
    script = read_script(path)
    if args.save is not None:
        return script, None
    return script, read_header(model_path(script, path, models))
