"""What all events are: small values that never change, written as a JSON row [kind, field, ...].

A trace of 50,000 nodes makes some 330,000 of them, so they are structs that cost a tenth of a microsecond and are
invisible to the garbage collector: they only hold numbers, texts and tuples, hence no cycles.
"""

from __future__ import annotations

import msgspec


class Decision(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """Base of the events; it is none itself."""
