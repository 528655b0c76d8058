"""Every decision in the life of a decode, in order: what `core/decode/life.py` folds and all views read.

What happened inside one graph (splits, addresses) stands in the log of its run; events name runs by number.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from ..decision import Decision
from ..models.shape import GraphShape
from .memory.memory import Seen
from .ubatch import Ubatch


class Reserve(str, Enum):
    """Which graph of sched_reserve."""

    PROBE = "probe"
    PREFILL = "pp"
    DECODE = "tg"


class Why(str, Enum):
    """Why a micro-batch has no re-used graph."""

    DISABLED = "graph re-use is disabled"
    NO_ACTIVE = "no graph is active"
    OTHER_SLOT = "the active graph has another kind of output"
    PARAMS = "a parameter of the graph differs"
    INPUT = "an input of the graph has another shape"


class StepBegin(Decision, frozen=True):
    """A call begins. `step`: its place in the script; `turn`: which of its repeats, from 0."""

    step: int
    turn: int


class StepEnd(Decision, frozen=True):
    """The call returned: a number, yes or no; None for calls without a result."""

    ret: int | bool | None


class Refused(Decision, frozen=True):
    """llama_decode does not begin: the batch is bad, or there is no slot for it."""

    reason: str


class Condition(Decision, frozen=True):
    """One condition of pipeline parallelism, as it is asked."""

    text: str
    holds: bool


class SchedReserve(Decision, frozen=True):
    """sched_reserve: a new scheduler and new result objects; no graph is active. `n_copies` of the new scheduler."""

    why: str
    n_copies: int


class PlanReserved(Decision, frozen=True):
    """One graph of a reservation: as passed to graph_reserve, and its run. `ok`: the buffers could be made."""

    kind: Reserve
    n_tokens: int
    n_seqs: int
    n_outputs: int
    shape: GraphShape
    run: int
    ok: bool


class PipelineDropped(Decision, frozen=True):
    """The plan could not be allocated with copies: once more without pipeline parallelism."""

    run: int


class MemoryUpdate(Decision, frozen=True):
    """memory_update found work: a shift of K has a graph for each cache (their runs), `copies` of streams have none."""

    copies: tuple[tuple[int, int], ...]
    runs: tuple[int, ...]


class Synchronize(Decision, frozen=True):
    """The scheduler waits for its devices. `why`: re-use under pipeline parallelism, outputs grow, the user asks."""

    why: str


class UbatchBegin(Decision, frozen=True):
    """process_ubatch: the micro-batch has its cells; `shape` is what its graph would be made for."""

    ubatch: Ubatch
    seen: Seen
    shape: GraphShape


class Check(Decision, frozen=True):
    """One condition of re-use: what the active graph was made for, what is asked now, and whether they agree.

    Attributes:
        group: `params` (llm_graph_params::allow_reuse), or the class of an input such as `llm_graph_input_attn_kv`.
        name: what is compared: n_tokens, kq_mask.ne0.
        active: of the active graph.
        now: of this micro-batch.
        holds: they agree; false as well for inputs that never allow it.
    """

    group: str
    name: str
    active: str
    now: str
    holds: bool


class Reused(Decision, frozen=True):
    """The active graph is used again, with plan and addresses. `n_reused`: how often that has happened."""

    n_reused: int


class Rebuilt(Decision, frozen=True):
    """The graph is built anew, split, and given addresses. `run`: its run; `copy`, `next_copy` of the scheduler."""

    why: Why
    run: int
    copy: int
    next_copy: int


class UbatchEnd(Decision, frozen=True):
    """It was computed (`status` 0), or aborted (2), or could not be allocated (-2)."""

    status: int


DecodeEvent: TypeAlias = (
    StepBegin | StepEnd | Refused | Condition | SchedReserve | PlanReserved | PipelineDropped | MemoryUpdate
    | Synchronize | UbatchBegin | Check | Reused | Rebuilt | UbatchEnd
)  # fmt: skip
"""The union of all events."""
