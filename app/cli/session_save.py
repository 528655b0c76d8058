"""A session's script written down, to be changed and played by itself."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from ...core.decode.read import model_path
from ...core.decode.script import Script
from ...core.decode.write import write_script
from ...core.errors import InputError, printable
from .output import check_place, write_file


def check_save(args: argparse.Namespace) -> None:
    """Refuse what would be forgotten, and a name that nothing can be written for.

    Raises:
        InputError: --save with an option for what is played, or no place for a file.
    """
    for given, option in ((args.output, "-o"), (args.json, "--json"), (args.ubatches, "--ubatches")):
        if given:
            raise InputError(f"--save writes the script and plays nothing: leave {option} out, or --save")
    if args.save == "-":
        raise InputError("--save -: a script is written to a file, name one")
    check_place(Path(args.save))


def save_script(script: Script, args: argparse.Namespace) -> None:
    """Write it to the file of --save, and say how it is played.

    Raises:
        InputError: the file exists and --force is not given, or it cannot be written.
    """
    out, folder = Path(args.save), _folder(script, args)
    write_file(out, write_script(script), args.force)
    print(f"{printable(str(out))}: {len(script.steps):,} steps for {printable(script.model)}")
    models = "FOLDER" if folder is None else shlex.quote(str(folder))
    end = f", where FOLDER has {script.model}" if folder is None else ""
    print(printable(f"play it with: galloscope session {_argument(out)} --models {models}{end}"))


def _folder(script: Script, args: argparse.Namespace) -> Path | None:
    """Where the model lies; a script may be written down before it has one."""
    path = Path(args.file)
    if args.preset is not None:
        return path.parent
    try:
        return model_path(script, path, args.models).parent
    except InputError:
        return None


def _argument(path: Path) -> str:
    """A path for a command line; one that begins with a dash would be an option."""
    text = str(path)
    return shlex.quote(os.path.join(os.curdir, text) if text.startswith("-") else text)
