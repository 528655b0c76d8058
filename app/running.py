"""Running a graph on the server: what it would take, whether it may, the work, and the last result of each run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ..core.errors import InputError
from ..core.execute.conflict import Conflict
from ..core.state import State
from ..core.text import bytes_text
from ..core.timeline.flops import work_of

if TYPE_CHECKING:
    from .figures.run_result import Executed
    from .jobs import Job
    from .run_view import RunView

BACKENDS = ("numpy", "digest")
"""What the page offers; the command line knows more."""
MOST_BYTES = 4 << 30
"""Weights, caches and compute buffers that a page may ask for together (bytes)."""
MOST_FLOPS = 4_000_000_000_000
"""Arithmetic that a page may ask for: some minutes of numpy on an ordinary machine."""
MOST_SEED = 2**63


@dataclass(frozen=True, slots=True)
class Wish:
    """What a page asks for.

    Attributes:
        own: the weights of the file itself, else random numbers.
        seed: of the random numbers.
        backend: one of `BACKENDS`.
        poison: bytes that hold nothing are NaN.
        guard: owners of all bytes are checked.
    """

    own: bool = False
    seed: int = 1
    backend: str = "numpy"
    poison: bool = False
    guard: bool = False


@dataclass(frozen=True, slots=True)
class Demand:
    """What running a graph takes.

    Attributes:
        external: bytes of weights and caches.
        caches: those of the caches alone.
        compute: bytes of the compute buffers.
        flops: arithmetic operations.
    """

    external: int
    caches: int
    compute: int
    flops: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a graph is not run; `digest`: its bytes could be followed all the same."""

    sentence: str
    digest: bool = False


class Running:
    """What is known of one run: the last time it was computed."""

    def __init__(self) -> None:
        """Not yet."""
        self.done: Executed | None = None


def wish_of(asked: dict[str, Any]) -> Wish:
    """A wish as a request writes it.

    Raises:
        InputError: a part of it is none.
    """
    seed, backend = str(asked.get("seed", "1")), str(asked.get("backend", "numpy"))
    if not (seed.isascii() and seed.isdecimal() and len(seed) < 20 and int(seed) < MOST_SEED):
        raise InputError(f"seed {seed[:40]!r}: a whole number from 0 is expected")
    if backend not in BACKENDS:
        raise InputError(f"backend {backend[:40]!r}: known are {', '.join(BACKENDS)}")
    switches = {key: bool(asked.get(key)) for key in ("own", "poison", "guard")}
    return Wish(seed=int(seed), backend=backend, **switches)


def demand_of(state: State) -> Demand:
    """What running the graph takes, from shapes alone."""
    tensors = state.tensors
    placed = [one for one in tensors if one.buft >= 0 and one.view_src < 0]
    external = sum(one.nbytes for one in placed)
    caches = sum(one.nbytes for one in placed if not one.is_weight)
    compute = sum(sum(buffer.chunks) for buffer in state.buffers if buffer.same_as < 0)
    flops = 0
    for node in state.nodes:
        flops += work_of(tensors[node], [tensors[src] for src in state.src[node] if src >= 0]).flops
    return Demand(external, caches, compute, flops)


def refusal(view: RunView, wish: Wish) -> Refused | None:
    """Why a wish is not granted; None when it is."""
    state = view.state
    if state.abort is not None:
        return Refused("Real ggml stops at this graph, so there is nothing to run.")
    demand = demand_of(state)
    digest = wish.backend == "digest"
    size = demand.compute if digest else demand.external + demand.compute  # fingerprints need no weights
    watched = demand.compute + demand.caches  # the guard keeps a second copy of what must not change
    small = demand.compute + watched <= MOST_BYTES
    if size > MOST_BYTES:
        parts = f"compute buffers of {bytes_text(demand.compute)}"
        if not digest:
            parts = f"weights and caches of {bytes_text(demand.external)} and {parts}"
        return Refused(
            f"Running this takes {parts}; the page stops at {bytes_text(MOST_BYTES)}. "
            "The command galloscope run has no such limit.",
            digest=small and not digest,
        )
    if wish.guard and size + watched > MOST_BYTES:
        return Refused(
            f"Running this with the guard takes {bytes_text(size + watched)}, a second copy of {bytes_text(watched)} "
            f"of it; the page stops at {bytes_text(MOST_BYTES)}. It runs this graph without the guard, and the command "
            "galloscope run has no such limit.",
            digest=small and not digest,
        )
    if demand.flops > MOST_FLOPS and not digest:
        return Refused(
            f"Running this takes {demand.flops / 1e12:,.1f} TFLOP, minutes of numpy; the page stops at "
            f"{MOST_FLOPS / 1e12:g}. The command galloscope run has no such limit.",
            digest=small,
        )
    return None


def board_of(view: RunView, own: str) -> dict[str, Any]:
    """What can be run: `own` is the path of the file whose weights may be read, or empty."""
    demand = demand_of(view.state)
    why = "Real ggml stops at this graph, so there is nothing to run." if view.state.abort is not None else ""
    return {
        "own": bool(own),
        "why": why,
        "external": demand.external,
        "compute": demand.compute,
        "flops": demand.flops,
    }


def run_view(view: RunView, wish: Wish, own: str, job: Job) -> str:
    """Run a graph for the page; what comes out is kept in its view.

    Args:
        view: the run on the screen.
        wish: what was asked.
        own: the file whose weights may be read; empty for random ones.
        job: told how far it is, asked whether to stop.

    Raises:
        InputError: it cannot be run, or was cancelled.
    """
    from .executing import Filling, How, execute, prepare

    def progress(at: int, of: int) -> None:
        if job.is_stopped():
            raise InputError("cancelled")
        job.stage = f"node {at:,} of {of:,}"  # told with the next answer: not every node is worth one

    job.say("planning")
    ready = prepare(view.run.problem, _number(view))
    job.say("filling")
    filling = Filling(wish.seed, Path(own) if own else None)
    how = How(wish.backend, poison=wish.poison, guard=wish.guard)
    done, _ = execute(ready, filling, how, progress=progress)
    view.running.done = aligned(done, view.state)
    return ""


def _number(view: RunView) -> int:
    """Which run of its problem it is: in a session of batches every graph is a problem by itself."""
    number, run = 0, view.run
    while run.previous is not None and run.previous.problem is run.problem:
        number, run = number + 1, run.previous
    return number


def aligned(done: Executed, state: State) -> Executed:
    """The same with the tensor ids of `state`: a graph that was reserved and then run has its copies numbered anew."""
    names = done.state.names
    if names == state.names:
        return replace(done, execution=replace(done.execution, state=state))
    ids = {name: i for i, name in enumerate(state.names)}

    def moved(tensor: int) -> int:
        return ids.get(names[tensor], -1) if tensor >= 0 else -1

    nodes = [structs.replace(one, node=moved(one.node)) for one in done.execution.nodes if moved(one.node) >= 0]
    execution = replace(done.execution, state=state, nodes=nodes)
    found = done.conflict
    if found is not None:
        found = Conflict(str(found), moved(found.tensor), moved(found.other), moved(found.node), found.step, ())
    return replace(done, execution=execution, conflict=found)
