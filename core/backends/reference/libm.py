"""Functions of the C library on float32 arrays: ggml calls them too, and each C library rounds in its own way."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ...errors import InputError
from .fused import Floats


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The C library's mathematical part.

    Raises:
        InputError: there is none here.
    """
    try:
        return ctypes.CDLL("libm.so.6" if sys.platform == "linux" else ctypes.util.find_library("m"))
    except (OSError, TypeError):  # TypeError: Windows takes no None for "this process"
        raise InputError(
            "the reference backend calls expf and its like in the C library, and none is found: take another backend"
        ) from None


@lru_cache(maxsize=8)
def _function(name: str) -> Callable[[float], float]:
    found = library()[name]
    found.restype, found.argtypes = ctypes.c_float, [ctypes.c_float]
    call: Callable[[float], float] = found
    return call


def call(name: str, values: Floats) -> Floats:
    """A function of one float. Equal values are computed once: masks and positions have many."""
    distinct, places = np.unique(values.view(np.int32), return_inverse=True)
    function = _function(name)
    made = np.fromiter(map(function, distinct.view(np.float32).tolist()), np.float32, distinct.size)
    return made[places.reshape(values.shape)]


def expf(values: Floats) -> Floats:
    """The exponential function."""
    return call("expf", values)


def cosf(values: Floats) -> Floats:
    """The cosine."""
    return call("cosf", values)


def sinf(values: Floats) -> Floats:
    """The sine."""
    return call("sinf", values)


def tanhf(values: Floats) -> Floats:
    """The hyperbolic tangent."""
    return call("tanhf", values)
