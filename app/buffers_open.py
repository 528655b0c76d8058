"""Buffer sets on the server: a CSV that begins as one is opened like a graph, and planned."""

from __future__ import annotations

import dataclasses

from ..core.files.buffers_csv import ALIASES, NEEDED, parse_buffers
from ..core.files.reading import unpack
from ..core.planners.instance import Instance

MOST_HEADER = 4096
"""Bytes of a first line that are looked at."""


def is_buffers_csv(data: bytes) -> bool:
    r"""Whether the first line names the columns that every buffer set has; the rest is not looked at.

    >>> is_buffers_csv(b"buffer,start,end,size\n1,2,3,4\n"), is_buffers_csv(b'{"tensors": []}')
    (True, False)
    """
    first = data[:MOST_HEADER].splitlines()[:1]
    words = first[0].decode("utf-8-sig", "replace").split(",") if first else []
    kinds = {word.strip().strip('"').lower() for word in words}
    return set(NEEDED) <= {ALIASES.get(kind, kind) for kind in kinds}


def buffers_of(data: bytes, where: str, title: str) -> Instance | None:
    """The buffers of a CSV, plain or gzip, under the title that sentences shall use; None for any other file.

    Raises:
        InputError: it is one that cannot be used.
    """
    plain = unpack(data, where)
    if not is_buffers_csv(plain):
        return None
    return dataclasses.replace(parse_buffers(plain, where).instance, name=title)
