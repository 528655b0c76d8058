"""Every decision the engine records. An event's index in its log is its tick: the time axis of all views.

Tensors, backends, buffers and splits are ids (list indices). Sizes and offsets are bytes. `events` and `compute`
in a decision record are the subset that real ggml's recording hooks print; see `core/files/record.py`.
"""

from __future__ import annotations

from typing import TypeAlias

from .compute_events import AsyncTransfer as AsyncTransfer
from .compute_events import CallCopy as CallCopy
from .compute_events import CopyAsync as CopyAsync
from .compute_events import CopyCalled as CopyCalled
from .compute_events import EventRecord as EventRecord
from .compute_events import EventSync as EventSync
from .compute_events import EventWait as EventWait
from .compute_events import Launch as Launch
from .compute_events import Sync as Sync
from .compute_events import Transfer as Transfer
from .decision import Decision
from .labels import WEIGHT_CAUSES as WEIGHT_CAUSES
from .labels import AllocPhase as AllocPhase
from .labels import Cause as Cause
from .labels import Fit as Fit
from .labels import PassName as PassName
from .labels import Refusal as Refusal
from .labels import SplitReason as SplitReason
from .labels import Stage as Stage


class Begin(Decision, frozen=True):
    """A stage starts."""

    stage: Stage


# graph building


class Visit(Decision, frozen=True):
    """A tensor is listed, as leaf or as node; `parent` reached it first through `slot` (-1: it is a root)."""

    tensor: int
    leaf: bool
    compute: bool
    parent: int
    slot: int


class MarkCompute(Decision, frozen=True):
    """A node listed earlier without the COMPUTE flag gets it now."""

    tensor: int


# scheduler


class Pass(Decision, frozen=True):
    """A pass starts."""

    name: PassName


class PassDone(Decision, frozen=True):
    """The pass went through; one that real ggml aborts in has no end."""

    name: PassName


class Assign(Decision, frozen=True):
    """A backend id or cause is written. `by`: the tensor it came from (neighbour, weight, base), -1 for none."""

    tensor: int
    backend: int
    cause: Cause
    by: int


class Refuse(Decision, frozen=True):
    """A backend was asked for a tensor and said no; said once for each pair."""

    tensor: int
    backend: int
    reason: str


class Decline(Decision, frozen=True):
    """A backend supports the op with a host weight but does not want to take it over."""

    tensor: int
    backend: int
    reason: str


class Weigh(Decision, frozen=True):
    """Pass 3 counted how many sources a candidate backend can read."""

    tensor: int
    backend: int
    readable: int


class CannotUpgrade(Decision, frozen=True):
    """Pass 3 kept a node: the higher backend of the same buffer type cannot read source `src`."""

    tensor: int
    backend: int
    src: int


class Split(Decision, frozen=True):
    """A split starts at a node index. `by`: the node, or the weight, that made the cut; -1 for none."""

    backend: int
    start: int
    reason: SplitReason
    by: int


class SplitInput(Decision, frozen=True):
    """The tensor joins the inputs of the current split."""

    tensor: int


class Copy(Decision, frozen=True):
    """A copy of `src` on a backend; a new tensor, unless it is `src` itself (pass 6, current copy)."""

    tensor: int
    src: int
    backend: int
    copy_no: int
    cause: Cause


class Rewrite(Decision, frozen=True):
    """node.src[slot] now names the copy."""

    node: int
    slot: int
    copy: int


class GraphInput(Decision, frozen=True):
    """An input leaf joins graph_inputs (pipeline copies only)."""

    tensor: int


class Dependency(Decision, frozen=True):
    """A new node "x (view)" that keeps its sources alive until its place in the order."""

    tensor: int
    sources: tuple[int, ...]


class AllocGraph(Decision, frozen=True):
    """The graph the allocator sees: ids and backend (buffer) ids. Node index = step, the x axis of the strip chart."""

    nodes: tuple[int, ...]
    node_buffers: tuple[int, ...]
    leafs: tuple[int, ...]
    leaf_buffers: tuple[int, ...]
    cur_copy: int


# allocator


class IdsChanged(Decision, frozen=True):
    """backend_ids_changed: `what` at `position` of the allocation graph moved to another buffer type."""

    what: str
    position: int
    old: int
    new: int


class NeedsRealloc(Decision, frozen=True):
    """The plan in force does not fit. `what`: n_nodes, n_leafs (old, new), node (index), src (index, slot)."""

    what: str
    first: int
    second: int
    tensor: int
    recorded: int
    needed: int


class Reserve(Decision, frozen=True):
    """ggml_gallocr_reserve starts."""

    n_nodes: int
    n_leafs: int


class Phase(Decision, frozen=True):
    """A loop of the allocator starts."""

    name: AllocPhase


class Exec(Decision, frozen=True):
    """The node's turn: its memory is settled, its sources are about to be released."""

    node: int
    buffer: int


class NewChunk(Decision, frozen=True):
    """A chunk is opened; capacity None is endless."""

    buffer: int
    chunk: int
    capacity: int | None


class PassOver(Decision, frozen=True):
    """Free blocks that were looked at and not taken, as (chunk, offset, size)."""

    tensor: int
    buffer: int
    needed: int
    blocks: tuple[tuple[int, int, int], ...]


class Alloc(Decision, frozen=True):
    """Bytes are taken. `detail`: block size (fit), reuse factor (last) or capacity (new, None for endless)."""

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int
    fit: Fit
    detail: int | None


class Free(Decision, frozen=True):
    """Bytes are given back."""

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int


class Keep(Decision, frozen=True):
    """A free is refused: the tensor is flagged OUTPUT."""

    tensor: int


class Reuse(Decision, frozen=True):
    """In place: the child takes its parent's memory."""

    child: int
    parent: int
    buffer: int
    chunk: int
    offset: int


class NoReuse(Decision, frozen=True):
    """In place refused. `number`: children or views of the parent where that is the reason, else 0."""

    child: int
    parent: int
    reason: Refusal
    number: int


class FreeExtra(Decision, frozen=True):
    """The parent was larger than the child that took its memory: the rest is given back."""

    parent: int
    child: int
    buffer: int
    chunk: int
    offset: int
    size: int


class ViewDone(Decision, frozen=True):
    """The last user of a view ran; the base's counts after that."""

    view: int
    base: int
    children: int
    views: int


class BufferAlloc(Decision, frozen=True):
    """A real buffer is made for one chunk."""

    buffer: int
    size: int


class BufferFree(Decision, frozen=True):
    """All real buffers of this id are released."""

    buffer: int
    size: int


class BufferFail(Decision, frozen=True):
    """A chunk of this size cannot be made: the device gives out `limit` bytes at most. No buffer is left."""

    buffer: int
    size: int
    limit: int


class Place(Decision, frozen=True):
    """alloc_graph gives the tensor its address from the plan in force (size unrounded)."""

    tensor: int
    buffer: int
    chunk: int
    offset: int
    size: int


# the end


class Done(Decision, frozen=True):
    """The run ended: what reserve or alloc_graph returned."""

    ok: bool


class Abort(Decision, frozen=True):
    """Real ggml stops the process here, with this text."""

    message: str


Event: TypeAlias = (
    Begin | Visit | MarkCompute | Pass | PassDone | Assign | Refuse | Decline | Weigh | CannotUpgrade | Split
    | SplitInput | Copy | Rewrite | GraphInput | Dependency | AllocGraph | IdsChanged | NeedsRealloc | Reserve
    | Phase | Exec | NewChunk | PassOver | Alloc | Free | Keep | Reuse | NoReuse | FreeExtra | ViewDone | BufferAlloc
    | BufferFree | BufferFail | Place | Sync | EventSync | EventWait | EventRecord | Transfer | AsyncTransfer
    | CopyAsync | CallCopy | CopyCalled | Launch | Done | Abort
)  # fmt: skip
"""The union of all events. Every fold names what it does with each; tests compare the lists."""
