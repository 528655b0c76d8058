"""Columns of numbers for the browser: base64 of little-endian typed arrays, read by `galloscope.format.column`."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Literal

import numpy as np

Kind = Literal["int8", "uint8", "int16", "int32", "float64"]


def column(values: Iterable[float], kind: Kind) -> str:
    """One column; sizes and addresses take float64 because they pass 4 GiB and stay exact below 8 PiB.

    >>> column([1, -1], "int8")
    'Af8='
    """
    array = np.fromiter(values, dtype=np.dtype(kind).newbyteorder("<"))
    return base64.b64encode(array.tobytes()).decode("ascii")


def values(text: str, kind: Kind) -> list[int]:
    """The numbers of a column, for readers in Python.

    >>> values(column([3, 4], "float64"), "float64")
    [3, 4]
    """
    array = np.frombuffer(base64.b64decode(text), dtype=np.dtype(kind).newbyteorder("<"))
    return [int(x) for x in array]
