"""The life of a session as a file to take away: a picture, or a page with the picture and all reasons."""

from __future__ import annotations

import os
from pathlib import Path

from ...core.decode.life import Life
from ...core.decode.log import LifeLog
from ...core.errors import InputError, printable
from .output import check_place, write_file


def check_report(out: Path) -> None:
    """Refuse a name that nothing can be written for, before the session is played.

    Raises:
        InputError: no such kind of file, or no place for one.
    """
    if out.suffix not in (".svg", ".html"):
        raise InputError(f"{out}: end the name in .svg or .html")
    check_place(out)


def write_report(log: LifeLog, life: Life, out: Path, force: bool) -> None:
    """Write it and say how large it is.

    Raises:
        InputError: the file exists and `force` is not given, or it cannot be written.
    """
    # Each writer is imported when it is wanted: pictures need numpy, the rest of the command does not.
    if out.suffix == ".svg":
        from ..report.session_svg import session_svg

        text = session_svg(log, life)
    else:
        from ..report.session_page import session_html

        text = session_html(log, life)
    data = text.encode()
    write_file(out, data, force)
    print(f"{printable(os.fspath(out))}: {len(data):,} bytes")
