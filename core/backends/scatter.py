"""From a contiguous result to the bytes of a tensor: conversion to its type, strides, rows named by integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..tensor import Tensor
from .backend import Span
from .gather import INTEGERS, Host, blocks, numbers
from .maths import Array


def store(xp: Any, tensor: Tensor, span: Span, result: Array, to_host: Host) -> None:
    """Write a result of the tensor's shape, as values or (one dimension more) as blocks of its type."""
    target, made = _converted(xp, tensor, span, result, to_host)
    target[...] = made


def store_rows(xp: Any, tensor: Tensor, span: Span, result: Array, rows: Array, to_host: Host) -> None:
    """Write rows into those of the tensor that `rows` names (ggml_set_rows).

    Args:
        xp: the array module.
        tensor: the result of the node, a view of what is written into.
        span: where it is.
        result: values of source 0, shape (ne3, ne2, number of rows, ne0).
        rows: integers, shape (1, ne12, ne11, number of rows); dimensions 1 and 2 repeat over dimensions 2 and 3.
        to_host: copies an array to the host.

    Raises:
        InputError: a row is outside.
    """
    n3, n2, count = result.shape[:3]
    named = to_host(rows)[0]
    if named.size and not (int(named.min()) >= 0 and int(named.max()) < tensor.ne[1]):
        worst = int(named.min()) if int(named.min()) < 0 else int(named.max())
        raise InputError(f"row id {worst} is outside of the {tensor.ne[1]} rows of {tensor.name!r}")
    i3, i2 = np.arange(n3)[:, None, None], np.arange(n2)[None, :, None]
    at = named[i3 % named.shape[0], i2 % named.shape[1], np.arange(count)[None, None, :]]
    target, made = _converted(xp, tensor, span, result, to_host)
    target[xp.asarray(i3), xp.asarray(i2), xp.asarray(at)] = made


def _converted(xp: Any, tensor: Tensor, span: Span, result: Array, to_host: Host) -> tuple[Array, Array]:
    """The view to write to and what to write, for the tensor's type."""
    dtype, name = tensor.dtype, tensor.dtype.name
    if result.ndim == 5:
        return blocks(xp, tensor, span), result
    if dtype.quantized:
        from .quants import quantize

        return blocks(xp, tensor, span), xp.asarray(quantize(np.ascontiguousarray(to_host(result)), dtype))
    target = numbers(xp, tensor, span)
    if name == "bf16":
        return target, _bf16(xp, result)
    kind = target.dtype
    if name in INTEGERS and result.dtype.kind == "f":  # C truncates; what does not fit is undefined there, 0 here
        result = xp.where(xp.isfinite(result), result, 0)
    return target, result if result.dtype == kind else result.astype(kind)


def _bf16(xp: Any, values: Array) -> Array:
    """The upper half of float32, rounded to nearest even; a NaN becomes quiet (ggml_compute_fp32_to_bf16)."""
    values = values.astype(xp.float32)
    bits = values.view(xp.uint32)
    rounded = (bits + (((bits >> 16) & 1) + 0x7FFF).astype(xp.uint32)) >> 16
    return xp.where(xp.isnan(values), (bits >> 16) | 64, rounded).astype(xp.uint16)
