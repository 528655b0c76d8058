"""What ggml's own functions said about ops (scripts/record_device_answers.py), in a file and out of it."""

import gzip
import json
from dataclasses import dataclass
from typing import Any

from galloscope.core.devices.seen import Seen
from galloscope.core.dtypes import DTYPES
from galloscope.core.op import Op
from galloscope.tests.corpora import GOLDEN

PATH = GOLDEN / "devices" / "answers.json.gz"


@dataclass(frozen=True)
class Answered:
    """An op; per device the limits that differ, whether it is supported and, when asked, its bytes in memory."""

    op: Seen
    limits: dict[str, dict[str, int]]
    supports: dict[str, bool]
    sizes: dict[str, int]


def op_json(one: Answered) -> dict[str, Any]:
    """A row of the file."""
    op = one.op
    return {
        "params": list(op.op_params),
        "parts": [None if part is None else _part(part) for part in (op, *op.src)],
        "limits": one.limits,
        "supports": one.supports,
        "sizes": one.sizes,
    }


def _part(one: Seen) -> list[Any]:
    return [one.op.value, one.type, one.ne, one.nb, one.owner, one.offset, one.is_view]


def read() -> list[Answered]:
    """The rows of the file."""
    return [
        Answered(_op(row["parts"], row["params"]), row["limits"], row["supports"], row["sizes"])
        for row in json.loads(gzip.decompress(PATH.read_bytes()))
    ]


def _op(parts: list[list[Any] | None], params: list[int]) -> Seen:
    first, *rest = [None if part is None else _seen(*part) for part in parts]
    assert first is not None
    return Seen(
        first.op,
        first.dtype,
        first.ne,
        first.nb,
        tuple(params),
        tuple(rest),
        owner=first.owner,
        offset=first.offset,
        is_view=first.is_view,
    )


def _seen(op: str, dtype: str, ne: list[int], nb: list[int], owner: int, offset: int, is_view: bool) -> Seen:
    n0, n1, n2, n3 = ne
    b0, b1, b2, b3 = nb
    shape, strides = (n0, n1, n2, n3), (b0, b1, b2, b3)
    return Seen(Op(op), DTYPES[dtype], shape, strides, owner=owner, offset=offset, is_view=is_view)
