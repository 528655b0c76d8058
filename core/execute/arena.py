"""The memory of a session: one byte buffer per chunk of the plan, and what lay in memory before it."""

from __future__ import annotations

import numpy as np

from ..backends.backend import Backend, Memory, Span
from ..dtypes import Shape
from ..errors import InputError
from ..op import VIEW_OPS
from ..state import State
from ..tensor import Tensor
from .feed import Bytes, Feed
from .layout import Layout

MOST_BYTES = 1 << 36
"""Of one chunk: more than any machine that runs this in Python."""


External = tuple[str, int, Shape, Shape]
"""What tells one weight or cache from another across runs, each of which makes its tensors anew."""


def external_key(tensor: Tensor) -> External:
    """Name, type, shape and strides."""
    return tensor.name, tensor.dtype.id, tensor.ne, tensor.nb


class Arena:
    """Buffers that outlive the runs, weights and caches with them."""

    def __init__(self, backend: Backend) -> None:
        """Empty."""
        self.backend = backend
        self.chunks: dict[tuple[int, int], Memory] = {}
        self.externals: dict[External, Memory] = {}
        self.shared: set[External] = set()
        """Weights that no node has written to: their memory is only read."""

    def enter(self, layout: Layout, fill: int | None) -> bool:
        """Make the chunks large enough; they never shrink.

        Args:
            layout: the plan that comes into force.
            fill: what all their bytes are set to; None leaves them as they are, new ones zero.

        Returns:
            Some buffer is another one now.

        Raises:
            InputError: a chunk is larger than can be had.
        """
        changed = False
        for key, size in layout.chunks.items():
            held = self.chunks.get(key)
            if held is None or held.size < size:
                if size > MOST_BYTES:
                    raise InputError(f"buffer {key[0]} needs {size} bytes: this graph can be planned, not run, here")
                try:
                    self.chunks[key] = self.backend.buffer(size)
                except MemoryError:
                    raise InputError(
                        f"this machine has no {size} bytes for buffer {key[0]}: use a smaller graph"
                    ) from None
                changed = True
        if fill is not None:
            for memory in self.chunks.values():
                memory[:] = fill
        return changed

    def external(self, tensor: Tensor, feed: Feed, *, written: bool) -> Memory:
        """The memory of a weight or cache; zeros where the feed knows nothing.

        Args:
            tensor: the weight or cache.
            feed: asked for its bytes, once.
            written: some node writes to it, so a weight too needs bytes of its own.

        Raises:
            InputError: the feed's bytes are not as many as the tensor's.
        """
        key = external_key(tensor)
        found = self.externals.get(key)
        if found is None or (written and key in self.shared):
            if tensor.is_weight and not written:
                found = self.backend.weight(tensor, lambda: checked(tensor, feed.external(tensor)))
                self.shared.add(key)
            else:
                found = self.backend.buffer(tensor.nbytes)
                data = checked(tensor, feed.external(tensor))
                if data is not None:
                    self.backend.write(found, 0, data)
                self.shared.discard(key)
            self.externals[key] = found
        return found


class Addresses:
    """Spans of one run's tensors."""

    def __init__(self, arena: Arena, state: State, layout: Layout, feed: Feed) -> None:
        """Spans are made when they are asked for; `feed` gives the weights then."""
        self.arena, self.state, self.layout, self.feed = arena, state, layout, feed
        self.written = _written(state)

    def span(self, tensor: int) -> Span:
        """Where the tensor's first byte is.

        Raises:
            InputError: it has no memory.
        """
        tensors = self.state.tensors
        one = tensors[tensor]
        owner, start = (one.view_src, one.view_offs) if one.view_src >= 0 else (tensor, 0)
        base = tensors[owner]
        if base.buft >= 0:
            _inside(one, start, base.nbytes)
            memory = self.arena.external(base, self.feed, written=owner in self.written)
            return Span(memory, start, external_key(base) in self.arena.shared)
        place = self.layout.at.get(owner)
        if place is None:
            raise InputError(
                f"tensor {self.state.names[tensor]!r} has no memory: neither a buffer nor a place in the plan"
            )
        _inside(one, start, place.size)
        return Span(self.arena.chunks[place.buffer, place.chunk], place.offset + start)


def _inside(tensor: Tensor, start: int, size: int) -> None:
    if start + tensor.nbytes > size:
        raise InputError(f"tensor {tensor.name!r} ends at byte {start + tensor.nbytes} of {size}: its view is too long")


def _written(state: State) -> set[int]:
    """Owners that some node writes to."""
    owners = set()
    for node in state.nodes:
        base = state.tensors[node].view_src
        if base >= 0 and state.tensors[node].op not in VIEW_OPS:
            owners.add(base)
    return owners


def checked(tensor: Tensor, data: Bytes | None) -> Bytes | None:
    """Bytes of a feed, as many as the tensor has.

    Raises:
        InputError: they are not.
    """
    if data is not None and (data.dtype != np.uint8 or data.ndim != 1 or data.size != tensor.nbytes):
        raise InputError(f"tensor {tensor.name!r} has {tensor.nbytes} bytes, it was given {data.nbytes}")
    return data
