"""Errors on the error stream, and the file that a command was asked for: whole or not at all, waiting for nobody."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ...core.errors import InputError


def tell(text: str) -> None:
    """A sentence on the error stream; nowhere when there is none, for `print` would then take the output instead."""
    if sys.stderr is not None:
        print(f"galloscope: {text}", file=sys.stderr)


def check_place(out: Path) -> None:
    """Refuse what is no place for a file, before the work begins.

    Raises:
        InputError: it is a folder, or lies in none.
    """
    if os.path.isdir(out) or not os.path.isdir(out.parent):
        raise InputError(f"{out}: not a place for a file")


def write_file(out: Path, data: bytes, force: bool) -> None:
    """Write a new file, with `force` also over one that exists; a new one that cannot be finished is taken away.

    Raises:
        InputError: it exists and `force` is not given, or it cannot be written.
    """
    kind = os.O_TRUNC if force else os.O_EXCL
    new = not os.path.lexists(out)
    try:
        # Without waiting: a pipe that nobody reads would hang the writer.
        quick = getattr(os, "O_NONBLOCK", 0)
        handle = os.open(out, os.O_WRONLY | os.O_CREAT | kind | quick | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                if quick:
                    os.set_blocking(handle, True)
                file.write(data)
        except BaseException:
            if new:
                os.unlink(out)
            raise
    except FileExistsError:
        raise InputError(f"{out}: exists; choose another name or say --force") from None
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from None
