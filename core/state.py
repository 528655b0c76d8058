"""What a log says after any number of events: the values that all views read. Built by `core/replay.py` alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import Cause, PassName, Refusal, SplitReason
from .graph import Backend, BufferType
from .tensor import Tensor


@dataclass(slots=True)
class PassChanges:
    """What one pass wrote: (tensor, backend, cause, by) in the order of writing; `done` unless ggml aborted in it."""

    name: PassName
    done: bool = False
    writes: list[tuple[int, int, Cause, int]] = field(default_factory=list)


@dataclass(slots=True)
class SplitState:
    """Nodes [start, end) of the graph on one backend. `by`: the node or weight that made the cut, -1 for none."""

    backend: int
    start: int
    end: int
    reason: SplitReason
    by: int
    inputs: list[int] = field(default_factory=list)


@dataclass(slots=True)
class CopyState:
    """A scheduler copy; tensor == src for the current copy of a pass-6 leaf."""

    tensor: int
    src: int
    backend: int
    copy_no: int
    cause: Cause


@dataclass(slots=True)
class BufferState:
    """Buffer id: planned chunk sizes, sizes of the real buffers, and the first id that shares its type (or -1)."""

    buft: BufferType
    chunks: list[int]
    real: list[int]
    same_as: int


@dataclass(slots=True)
class Lifetime:
    """A tensor's rectangle: steps [born, dies), bytes [offset, offset + size) of a chunk.

    Attributes:
        tensor: its id.
        buffer: first buffer id of its buffer type.
        chunk: index in that buffer.
        offset: bytes.
        size: bytes, rounded up to the alignment.
        born: first step.
        dies: the step after its last; the number of steps when it is never freed.
        parent: the tensor whose memory it took in place, -1 for none.
        child: the tensor that took its memory in place, -1 for none.
        kept: a free was refused because it is an output.
        freed: it was given back (else dies is the end, or a child took over).
    """

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int
    born: int
    dies: int
    parent: int = -1
    child: int = -1
    kept: bool = False
    freed: bool = False


@dataclass(slots=True)
class Place:
    """Where alloc_graph put a tensor; size in bytes, unrounded."""

    buffer: int
    chunk: int
    offset: int
    size: int


@dataclass(slots=True)
class State:
    """Everything known after a run; see `core/log.py` for the run itself. Lists are indexed by tensor id.

    Attributes:
        buffers: by buffer id; inherited from the run before, like the plan in them.
        not_upgraded: (tensor, backend, source it cannot read), from pass 3.
        reused: child -> parent, the in-place decisions of this run.
        plan_reuse: step -> source slot, the in-place decisions of the plan in force (inherited with it).
        lifetimes: what this run's reservation planned; empty when it kept the plan of an earlier run.
        earlier: lives that ended before their tensor was given memory again (an INPUT node in place of an input).
        places: the addresses that alloc_graph gave out; empty when only a reservation was asked.
        inherits: an earlier run on the same allocator left a plan.
        reserved: this run made a plan.
        realloc_reason: why the plan in force did not fit, in words.
    """

    tensors: list[Tensor]
    names: list[str]
    backends: tuple[Backend, ...]
    bufts: tuple[BufferType, ...]
    n_graph: int
    src: list[tuple[int, ...]]
    flags: list[int]
    buffers: list[BufferState]
    nodes: list[int] = field(default_factory=list)
    leafs: list[int] = field(default_factory=list)
    use_counts: dict[int, int] = field(default_factory=dict)
    computed: set[int] = field(default_factory=set)
    backend_ids: list[int] = field(default_factory=list)
    causes: list[Cause | None] = field(default_factory=list)
    came_from: list[int] = field(default_factory=list)
    passes: list[PassChanges] = field(default_factory=list)
    splits: list[SplitState] = field(default_factory=list)
    copies: list[CopyState] = field(default_factory=list)
    rewrites: list[tuple[int, int, int]] = field(default_factory=list)
    graph_inputs: list[int] = field(default_factory=list)
    cur_copy: int = 0
    alloc_nodes: list[tuple[int, int]] = field(default_factory=list)
    alloc_leafs: list[tuple[int, int]] = field(default_factory=list)
    dependencies: dict[int, tuple[int, ...]] = field(default_factory=dict)
    refused: dict[tuple[int, int], str] = field(default_factory=dict)
    declined: dict[tuple[int, int], str] = field(default_factory=dict)
    weighed: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    not_upgraded: list[tuple[int, int, int]] = field(default_factory=list)
    no_reuse: list[tuple[int, int, Refusal, int]] = field(default_factory=list)
    reused: dict[int, int] = field(default_factory=dict)
    plan_reuse: dict[int, int] = field(default_factory=dict)
    lifetimes: dict[int, Lifetime] = field(default_factory=dict)
    earlier: list[Lifetime] = field(default_factory=list)
    places: dict[int, Place] = field(default_factory=dict)
    inherits: bool = False
    reserved: bool = False
    realloc_reason: str = ""
    ok: bool | None = None
    abort: str | None = None

    @property
    def n_steps(self) -> int:
        """Length of the step axis: nodes of the allocation graph."""
        return len(self.alloc_nodes)
