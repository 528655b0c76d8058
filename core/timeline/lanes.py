"""What a timeline is: lanes of spans in whole nanoseconds, two lanes per device and one for the host."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import msgspec

from .cost import HOST


class Kind(str, Enum):
    """What a lane is doing.

    Attributes:
        COMPUTE: the nodes of one split.
        COPY: bytes move.
        WAIT: it has been told to go on only when something else is done.
        HELD: the host is inside a call that returns when what it asked for is done.
    """

    COMPUTE = "compute"
    COPY = "copy"
    WAIT = "wait"
    HELD = "held"


class Bound(str, Enum):
    """What a node's time is: the longer of the first two, and the launch."""

    ARITHMETIC = "arithmetic"
    MEMORY = "memory traffic"
    LAUNCH = "launch latency"


class Logits(NamedTuple):
    """The node that llama.cpp calls result_output: its row in `Timeline.nodes`, and the tokens it has logits for."""

    row: int
    tokens: int


class Span(msgspec.Struct, frozen=True):
    """Something that takes time on a lane.

    Attributes:
        lane: index in `Timeline.lanes`.
        kind: see `Kind`.
        start: nanoseconds.
        end: nanoseconds, exclusive.
        batch: which micro-batch, from 0.
        split: of the graph, 0 where there is no scheduler.
        tick: index of the event in the run's log; -1 when the run was only reserved and its events were made up.
        backend: the device that works, or that is waited for; HOST for the host's memory.
        other: the far side of a copy, else the same as `backend`.
        tensor: what is copied to (or read), -1 for none.
        source: what is copied from, -1 when that is the host's own memory.
        nbytes: moved by a copy; of a split, what its nodes read and write.
        first: first row of `Timeline.nodes`.
        count: rows.
        cause: of WAIT and HELD the span that it ends with; of the others the span whose end let it begin, -1 when it
            is the first.
    """

    lane: int
    kind: Kind
    start: int
    end: int
    batch: int
    split: int
    tick: int
    backend: int
    other: int
    tensor: int = -1
    source: int = -1
    nbytes: int = 0
    first: int = 0
    count: int = 0
    cause: int = -1


class Lane(NamedTuple):
    """A clock: `what` is compute or copy of a backend, or "host" of HOST."""

    backend: int
    what: str


@dataclass(slots=True)
class Nodes:
    """Columns, a row per node: in simulated lanes every batch runs the same rows.

    Attributes:
        tensor: id.
        backend: who computes it; empty in measured lanes, as are `math` and `memory`.
        offset: nanoseconds from the start of its span.
        ns: how long it takes, 0 for what ggml does not compute (views, empty results, nodes without COMPUTE).
        flops: operations, 0 in measured lanes.
        nbytes: read and written, 0 in measured lanes.
        math: nanoseconds of its operations alone, at the device's rate.
        memory: nanoseconds of its bytes alone.
    """

    tensor: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=list)
    ns: list[int] = field(default_factory=list)
    flops: list[int] = field(default_factory=list)
    nbytes: list[int] = field(default_factory=list)
    math: list[int] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    backend: list[int] = field(default_factory=list)

    def parts(self, row: int) -> dict[Bound, int]:
        """The nanoseconds of a simulated node by what they are; they add up to `ns`."""
        math, memory = self.math[row], self.memory[row]
        longer = Bound.MEMORY if memory > math else Bound.ARITHMETIC
        work = max(math, memory)
        return {longer: work, Bound.LAUNCH: self.ns[row] - work}


@dataclass(slots=True)
class Timeline:
    """Lanes of spans.

    Attributes:
        names: of the backends.
        lanes: compute and copy of each backend in their order, then the host.
        spans: in the order in which the host asked for them; those of one lane do not overlap.
        nodes: what the compute spans are made of.
        batches: micro-batches in flight.
        n_copies: pipeline copies that the graph has.
        total: when everything is done, nanoseconds.
        as_if: the run was only reserved; this is what its graph would do.
        measured: real times of an execution, not clocks.
        decode: every sequence has one token in a micro-batch.
        logits: the node that computes them in a graph of llama.cpp; None when it has no more than a prompt wants.
    """

    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    spans: list[Span]
    nodes: Nodes
    batches: int = 1
    n_copies: int = 1
    total: int = 0
    as_if: bool = False
    measured: bool = False
    decode: bool = False
    logits: Logits | None = None

    def name(self, backend: int) -> str:
        """A backend's name, or "host"."""
        return "host" if backend == HOST else self.names[backend]


def lanes_of(n_backends: int) -> tuple[Lane, ...]:
    """Lane 2 b computes and lane 2 b + 1 copies for backend b; the last one is the host."""
    both = [Lane(backend, what) for backend in range(n_backends) for what in ("compute", "copy")]
    return (*both, Lane(HOST, "host"))
