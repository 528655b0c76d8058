"""Every decision the engine records. An event's index in its log is its tick: the time axis of all views.

Tensors, backends, buffers and splits are ids (list indices). Sizes and offsets are bytes. `ggml_events` and `compute`
in a decision record are the subset that real ggml's recording hooks print; see `core/files/record.py`.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias


class Stage(str, Enum):
    """The parts of a run, in order."""

    BUILD = "build"
    SCHEDULE = "schedule"
    ALLOCATE = "allocate"
    COMPUTE = "compute"


class PassName(str, Enum):
    """The passes of ggml_backend_sched_split_graph that assign backends."""

    PINS = "0.pins"
    FACTS = "1"
    GPU_DOWN = "2.gpu_down"
    GPU_UP = "2.gpu_up"
    REST_DOWN = "2.rest_down"
    REST_UP = "2.rest_up"
    BEST = "3"
    FOLLOW = "4"
    SPLIT = "5"


class Cause(str, Enum):
    """ggml's SET_CAUSE labels (compiled out of release builds)."""

    USR = "usr"
    DST = "1.dst"
    INP = "1.inp"
    OFF = "1.off"
    WGT0 = "1.wgt0"
    WGT1 = "1.wgt1"
    WGT2 = "1.wgt2"
    WGT3 = "1.wgt3"
    WGT4 = "1.wgt4"
    WGT5 = "1.wgt5"
    WGT6 = "1.wgt6"
    WGT7 = "1.wgt7"
    WGT8 = "1.wgt8"
    WGT9 = "1.wgt9"
    SUP = "2.sup"
    BEST = "3.best"
    UPG = "3.upg"
    VSRC = "4.vsrc"
    CUR = "4.cur"
    CPY = "4.cpy"
    LEAF_CPY = "6.cpy"


WEIGHT_CAUSES = tuple(Cause(f"1.wgt{slot}") for slot in range(10))


class SplitReason(str, Enum):
    """Why pass 5 cut here."""

    FIRST = "first"
    BACKEND = "backend"
    WEIGHT = "weight"


class Refusal(str, Enum):
    """Why a node could not take its source's memory, in the order ggml tests."""

    EXTERNAL = "external"
    OUTPUT = "output"
    LAYOUT = "layout"
    CHILDREN = "children"
    VIEWS = "views"


class Fit(str, Enum):
    """Which free block an allocation took."""

    FIT = "fit"
    LAST = "last"
    NEW = "new"


class Begin(NamedTuple):
    """A stage starts."""

    stage: Stage


# graph building


class Visit(NamedTuple):
    """A tensor is listed, as leaf or as node; `parent` reached it first through `slot` (-1: it is a root)."""

    tensor: int
    leaf: bool
    compute: bool
    parent: int
    slot: int


class MarkCompute(NamedTuple):
    """A node listed earlier without the COMPUTE flag gets it now."""

    tensor: int


# scheduler


class Pass(NamedTuple):
    """A pass starts."""

    name: PassName


class PassDone(NamedTuple):
    """The pass went through; one that real ggml aborts in has no end."""

    name: PassName


class Assign(NamedTuple):
    """A backend id or cause is written. `by`: the tensor it came from (neighbour, weight, base), -1 for none."""

    tensor: int
    backend: int
    cause: Cause
    by: int


class Refuse(NamedTuple):
    """A backend was asked for a tensor and said no; said once for each pair."""

    tensor: int
    backend: int
    reason: str


class Decline(NamedTuple):
    """A backend supports the op with a host weight but does not want to take it over."""

    tensor: int
    backend: int
    reason: str


class Weigh(NamedTuple):
    """Pass 3 counted how many sources a candidate backend can read."""

    tensor: int
    backend: int
    readable: int


class CannotUpgrade(NamedTuple):
    """Pass 3 kept a node: the higher backend of the same buffer type cannot read source `src`."""

    tensor: int
    backend: int
    src: int


class Split(NamedTuple):
    """A split starts at a node index. `by`: the node, or the weight, that made the cut; -1 for none."""

    backend: int
    start: int
    reason: SplitReason
    by: int


class SplitInput(NamedTuple):
    """The tensor joins the inputs of the current split."""

    tensor: int


class Copy(NamedTuple):
    """A copy of `src` on a backend; a new tensor, unless it is `src` itself (pass 6, current copy)."""

    tensor: int
    src: int
    backend: int
    copy_no: int
    cause: Cause


class Rewrite(NamedTuple):
    """node.src[slot] now names the copy."""

    node: int
    slot: int
    copy: int


class GraphInput(NamedTuple):
    """An input leaf joins graph_inputs (pipeline copies only)."""

    tensor: int


class Dependency(NamedTuple):
    """A new node "x (view)" that keeps its sources alive until its place in the order."""

    tensor: int
    sources: tuple[int, ...]


class AllocGraph(NamedTuple):
    """The graph the allocator sees: ids and backend (buffer) ids. Node index = step, the x axis of the strip chart."""

    nodes: tuple[int, ...]
    node_buffers: tuple[int, ...]
    leafs: tuple[int, ...]
    leaf_buffers: tuple[int, ...]
    cur_copy: int


# allocator


class IdsChanged(NamedTuple):
    """backend_ids_changed: `what` at `position` of the allocation graph moved to another buffer type."""

    what: str
    position: int
    old: int
    new: int


class NeedsRealloc(NamedTuple):
    """The plan in force does not fit. `what`: n_nodes, n_leafs (old, new), node (index), src (index, slot)."""

    what: str
    first: int
    second: int
    tensor: int
    recorded: int
    needed: int


class Reserve(NamedTuple):
    """ggml_gallocr_reserve starts."""

    n_nodes: int
    n_leafs: int


class AllocPhase(str, Enum):
    """The three loops of ggml_gallocr_alloc_graph_impl."""

    LEAFS = "leafs"
    INPUTS = "inputs"
    NODES = "nodes"


class Phase(NamedTuple):
    """A loop of the allocator starts."""

    name: AllocPhase


class Exec(NamedTuple):
    """The node's turn: its memory is settled, its sources are about to be released."""

    node: int
    buffer: int


class NewChunk(NamedTuple):
    """A chunk is opened; capacity None is endless."""

    buffer: int
    chunk: int
    capacity: int | None


class PassOver(NamedTuple):
    """Free blocks that were looked at and not taken, as (chunk, offset, size)."""

    tensor: int
    buffer: int
    needed: int
    blocks: tuple[tuple[int, int, int], ...]


class Alloc(NamedTuple):
    """Bytes are taken. `detail`: block size (fit), reuse factor (last) or capacity (new, None for endless)."""

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int
    fit: Fit
    detail: int | None


class Free(NamedTuple):
    """Bytes are given back."""

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int


class Keep(NamedTuple):
    """A free is refused: the tensor is flagged OUTPUT."""

    tensor: int


class Reuse(NamedTuple):
    """In place: the child takes its parent's memory."""

    child: int
    parent: int
    buffer: int
    chunk: int
    offset: int


class NoReuse(NamedTuple):
    """In place refused. `number`: children or views of the parent where that is the reason, else 0."""

    child: int
    parent: int
    reason: Refusal
    number: int


class FreeExtra(NamedTuple):
    """The parent was larger than the child that took its memory: the rest is given back."""

    parent: int
    child: int
    buffer: int
    chunk: int
    offset: int
    size: int


class ViewDone(NamedTuple):
    """The last user of a view ran; the base's counts after that."""

    view: int
    base: int
    children: int
    views: int


class BufferAlloc(NamedTuple):
    """A real buffer is made for one chunk."""

    buffer: int
    size: int


class BufferFree(NamedTuple):
    """All real buffers of this id are released."""

    buffer: int
    size: int


class Place(NamedTuple):
    """alloc_graph gives the tensor its address from the plan in force (size unrounded)."""

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int


# compute loop


class Sync(NamedTuple):
    """ggml_backend_synchronize of a backend that queues."""

    backend: int


class EventSync(NamedTuple):
    """ggml_backend_event_synchronize."""

    backend: int
    copy_no: int


class EventWait(NamedTuple):
    """ggml_backend_event_wait: `backend` waits for the event of `owner`."""

    backend: int
    owner: int
    copy_no: int


class EventRecord(NamedTuple):
    """ggml_backend_event_record."""

    backend: int
    copy_no: int


class Transfer(NamedTuple):
    """Blocking write ("set") to or read ("get") from a tensor by the host."""

    what: str
    tensor: int
    offset: int
    size: int


class AsyncTransfer(NamedTuple):
    """Queued write ("set_async") or read ("get_async")."""

    what: str
    backend: int
    tensor: int
    offset: int
    size: int


class CopyAsync(NamedTuple):
    """cpy_tensor_async of the destination backend; refused when ok is false."""

    src_backend: int
    backend: int
    src: int
    tensor: int
    ok: bool


class CallCopy(NamedTuple):
    """The copy callback is asked (logging modes only)."""

    backend: int
    src: int
    tensor: int
    first_node: int
    n_nodes: int


class CopyCalled(NamedTuple):
    """Its answer: true means it did the copy itself."""

    done: bool


class Launch(NamedTuple):
    """graph_compute of a split."""

    backend: int
    n_nodes: int
    first: int
    last: int


# the end


class Done(NamedTuple):
    """The run ended: what reserve or alloc_graph returned."""

    ok: bool


class Abort(NamedTuple):
    """Real ggml stops the process here, with this text."""

    message: str


Event: TypeAlias = (
    Begin | Visit | MarkCompute | Pass | PassDone | Assign | Refuse | Decline | Weigh | CannotUpgrade | Split
    | SplitInput | Copy | Rewrite | GraphInput | Dependency | AllocGraph | IdsChanged | NeedsRealloc | Reserve
    | Phase | Exec | NewChunk | PassOver | Alloc | Free | Keep | Reuse | NoReuse | FreeExtra | ViewDone | BufferAlloc
    | BufferFree | Place | Sync | EventSync | EventWait | EventRecord | Transfer | AsyncTransfer | CopyAsync
    | CallCopy | CopyCalled | Launch | Done | Abort
)  # fmt: skip
"""The union of all events. Every fold names what it does with each; tests compare the lists."""
