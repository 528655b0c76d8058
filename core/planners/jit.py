"""The one door to numba: kernels are compiled at first use and kept on disk; without it the same code runs as it is.

A kernel reads and writes flat columns by index alone, so it does the same with numpy arrays (compiled) and with lists
(plain Python, where a list is some five times faster than an array).
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
Column = Any
"""int64 values by index: a numpy array for compiled kernels, a list for plain ones."""

Records = Any
"""Rows of int64 fields by index and name: a structured array for compiled kernels, a list of objects for others."""

SLOW_COMPILE = 1.1
"""Seconds after which a first use is announced."""


def _numba() -> Any:
    if os.environ.get("GALLOSCOPE_NO_JIT", "") not in ("", "0"):
        return None
    try:
        import numba
    except ImportError:
        return None
    return numba


_NUMBA = _numba()
COMPILED = _NUMBA is not None
"""Kernels are compiled; false without numba or with GALLOSCOPE_NO_JIT=1."""


def kernel(function: F) -> F:
    """Compile at first call, without Python's lock; may call other kernels."""
    return _compiled(function)


def inner(function: F) -> F:
    """A kernel for other kernels to call, compiled into each of them.

    A call passes every column of its tuples one by one, which takes longer than most of these functions do.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: F, **options: bool) -> F:
    if _NUMBA is None:
        return function
    if not os.environ.get("NUMBA_CACHE_DIR"):
        _keep_apart(Path(function.__code__.co_filename))
    try:
        compiled: F = _NUMBA.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # no folder where it could keep what it compiled
        compiled = _NUMBA.njit(nogil=True, **options)(function)
    return compiled


def _keep_apart(source: Path) -> None:
    """Keep what is compiled from a file in a folder for this state of it and of all it imports; else as numba does.

    numba itself compares a loop with its own file alone, and would go on using one that was compiled together with an
    older state of another file.
    """
    state = hashlib.sha256(b"".join(path.read_bytes() for path in (Path(__file__), *sorted(_with_imports(source)))))
    folder = source.parent / "__pycache__" / "compiled" / f"{source.stem}-{state.hexdigest()[:12]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        for old in folder.parent.glob(f"{source.stem}-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
        _NUMBA.config.CACHE_DIR = str(folder)


@functools.cache
def _with_imports(source: Path) -> frozenset[Path]:
    """A file of kernels and those it imports from its own folder."""
    names = re.findall(r"^from \.(\w+) import", source.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset({source}.union(*(_with_imports(source.parent / f"{name}.py") for name in names)))


def column(values: Sequence[int] | np.ndarray) -> Column:
    """A column for a kernel; a copy, which the kernel may write."""
    if COMPILED:
        return np.array(values, dtype=np.int64)
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def blank(count: int, value: int = 0) -> Column:
    """A column of equal values."""
    return np.full(count, value, dtype=np.int64) if COMPILED else [value] * count


def records(fields: Sequence[str], count: int) -> Records:
    """Rows of zeros."""
    if COMPILED:
        return np.zeros(count, dtype=[(name, np.int64) for name in fields])
    return [SimpleNamespace(**dict.fromkeys(fields, 0)) for _ in range(count)]


def write(rows: Records, field: str, values: np.ndarray) -> None:
    """Set a field of all rows."""
    if COMPILED:
        rows[field] = values
        return
    for row, value in zip(rows, values.tolist(), strict=True):
        setattr(row, field, value)


def read(rows: Records, field: str) -> np.ndarray:
    """A field of all rows, copied."""
    if COMPILED:
        return np.array(rows[field])
    return np.array([getattr(row, field) for row in rows], dtype=np.int64)


def array(values: Column) -> np.ndarray:
    """What a kernel wrote, as a numpy array."""
    return np.asarray(values, dtype=np.int64)


@contextmanager
def first_use(say: Callable[[str], None] | None) -> Iterator[None]:
    """Announce that kernels are being compiled, once it takes long enough to be noticed."""
    if say is None or not COMPILED:
        yield
        return
    timer = threading.Timer(SLOW_COMPILE, say, ("compiling the planners' inner loops (once, then kept on disk)",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
