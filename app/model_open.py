"""GGUFs on the server: headers that a browser sent, and models opened under some options, each traced once."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import RLock

from ..core.errors import InputError
from ..core.gguf.read import parse_header
from ..core.llama.arguments import read_command
from ..core.llama.flags import words
from ..core.llama.open import Origin, TracedModel, open_model
from ..core.llama.options import GraphMode

MOST_HEADERS = 16
MAX_HEADER = 256 << 20
"""Largest header a browser may send (bytes)."""
MAX_KEPT = 512 << 20
"""All headers kept together (bytes)."""


class Headers:
    """Headers sent by browsers, cut to the header itself; the last few are kept."""

    def __init__(self) -> None:
        """None yet."""
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._lock = RLock()

    def add(self, data: bytes, name: str) -> str:
        """Check a header and keep it; its source for `open`.

        Raises:
            NeedMoreBytes: `data` ends before the header does.
            InputError: it is no usable header.
        """
        header = parse_header(data, name)
        if header.split_count > 1:
            raise InputError(
                f"{name}: one of {header.split_count} parts of a model; type the path of any of them on the machine "
                "that galloscope runs on, then all are read"
            )
        cut = data[: header.header_bytes]
        key = hashlib.blake2b(cut, digest_size=8).hexdigest()
        with self._lock:
            self._kept[key] = (name, cut)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_HEADERS or sum(len(one) for _, one in self._kept.values()) > MAX_KEPT:
                self._kept.popitem(last=False)
        return f"header:{key}"

    def get(self, key: str) -> tuple[str, bytes]:
        """Name and bytes of a header.

        Raises:
            InputError: it was let go.
        """
        with self._lock:
            if key not in self._kept:
                raise InputError("this file's header is no longer on the server: choose the file again")
            self._kept.move_to_end(key)
            return self._kept[key]


def model_key(source: str | bytes, line: str) -> str:
    """An id for a file under some options: the same question is the same session.

    Raises:
        InputError: the file has gone.
    """
    digest = hashlib.blake2b(digest_size=8)
    if isinstance(source, bytes):
        digest.update(source)
    else:
        try:
            status = os.stat(source)
        except (OSError, ValueError) as error:
            raise InputError(f"{source}: cannot be read ({getattr(error, 'strerror', None) or 'not a path'})") from None
        digest.update(repr((os.path.realpath(source), status.st_size, status.st_mtime_ns)).encode())
    digest.update(b"\0" + line.encode())
    return digest.hexdigest()


def open_for_page(
    source: str | bytes,
    name: str,
    line: str,
    origin: Origin,
    progress: Callable[[str], None],
    cancelled: Callable[[], bool],
) -> TracedModel:
    """Prefill and decode of a model.

    Raises:
        InputError: the file or an option is unusable, or the work was cancelled.
    """
    options, _ = read_command(line)
    modes = (GraphMode.PREFILL, GraphMode.DECODE)
    path = source if isinstance(source, bytes) else Path(source)
    return open_model(path, name, options, modes, origin, progress=progress, cancelled=cancelled)


def normal_line(line: str) -> str:
    """A line of options as galloscope writes it, defaults left out.

    Raises:
        InputError: it cannot be read.
    """
    return shlex.join(words(read_command(line)[0]))
