"""Whether llama.cpp decided the same, in words."""

from __future__ import annotations

from .open import TracedModel

MOST = 3
"""Differences told per graph."""


def agreement(model: TracedModel) -> list[str]:
    """A sentence per graph: verified, how it differs, or that nobody compared."""
    told = []
    for one in model.graphs:
        mode = one.taken.mode.value
        if one.differences is None:
            told.append(f"{mode}: built by galloscope, not compared with llama.cpp")
        elif not one.differences:
            told.append(f"{mode}: verified, given these devices every decision equals that of {model.taken.source}")
        else:
            more = len(one.differences) - MOST
            shown = "; ".join(one.differences[:MOST]) + (f"; and {more:,} more" if more > 0 else "")
            told.append(f"{mode}: DIFFERS from {model.taken.source}: {shown}")
    return told
