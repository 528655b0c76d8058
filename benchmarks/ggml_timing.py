"""Milliseconds that real ggml takes for each step of planning a graph; the device callbacks are machine code.

The names of the steps are those of ``timing.jsonl``. ``replan`` is the peer of a whole trace: build, split, reserve and
allocate on a scheduler whose memory is warm, ggml at its best; ``sched_alloc_graph_first`` is the same on a new one.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from galloscope.benchmarks import ggml_abi as abi
from galloscope.benchmarks.ggml_devices import Document, Machine
from galloscope.benchmarks.real_ggml import Planner, runs_of
from galloscope.core.native import layouts

Times = dict[str, list[float]]


class Timing:
    """The first run of a document, planned again and again."""

    def __init__(self, document: Document) -> None:
        """Build tensors and devices; the one-buffer allocator sees the same graph with one buffer."""
        self.library, self.machine = abi.load(), Machine(document)
        self.document, self.times = document, Times()
        self.plain = {**document, "mode": "galloc", "backends": [{"name": self.machine.default_bufts[-1]}], "bufts": []}
        self.sched = Planner(document, self.machine)
        self.galloc = Planner(self.plain, Machine(self.plain))
        self.graph = self.sched.graph(runs_of(document)[0])

    def timed(self, name: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function and note how long it took."""
        start = perf_counter()
        function(*arguments)
        self.times.setdefault(name, []).append((perf_counter() - start) * 1000)

    def fresh(self, planner: Planner | None = None) -> int:
        """Make tensors and graph new again, for a scheduler with its pins set."""
        self.graph.prepare()
        self.graph.build()
        if planner is not None:
            self.library.ggml_backend_sched_reset(planner.handle)
            planner.pin(self.graph)
        pointer: int = self.graph.pointer
        return pointer

    def once(self) -> None:
        """Measure each step once, every time from a fresh graph."""
        library, sched, galloc = self.library, self.sched, self.galloc
        self.graph.prepare()
        self.timed("build_forward_expand", self.graph.build)
        graph = self.graph.pointer
        counts = layouts.Graph.from_address(graph)
        zeros = (abi.I32 * (counts.n_nodes + counts.n_leafs + 1))()
        self.timed("gallocr_reserve(1 buffer)", library.ggml_gallocr_reserve_n, galloc.handle, graph, zeros, zeros)
        self.timed("gallocr_alloc_graph_after_reserve", library.ggml_gallocr_alloc_graph, galloc.handle, graph)

        self.timed("split_graph", library.ggml_backend_sched_split_graph, sched.handle, self.fresh(sched))
        self.timed(
            "sched_reserve(split+reserve_n)", library.ggml_backend_sched_reserve, sched.handle, self.fresh(sched)
        )
        allocate = library.ggml_backend_sched_alloc_graph
        self.timed("sched_alloc_graph_after_reserve(split+alloc)", allocate, sched.handle, self.fresh(sched))
        graph = self.fresh(sched)
        layouts.Gallocr.from_address(sched.galloc).n_leafs += 1  # another count: a new plan in the old memory
        self.timed("sched_alloc_graph_again(split+reserve+alloc)", allocate, sched.handle, graph)

        new = Planner(self.document, self.machine)
        self.timed("sched_alloc_graph_first", allocate, new.handle, self.fresh(new))
        new.close()
        self.times.setdefault("replan", []).append(
            self.times["build_forward_expand"][-1] + self.times["sched_alloc_graph_again(split+reserve+alloc)"][-1]
        )

    def close(self) -> None:
        """Free the graph, the scheduler and the allocator."""
        self.sched.close()
        self.galloc.close()
        self.graph.close()


def measure(document: Document, repeats: int) -> tuple[Times, bool]:
    """Times of each step, and whether real ggml had to call Python in its hot loops (then they say nothing)."""
    timing = Timing(document)
    for _ in range(repeats):
        timing.once()
    timing.close()
    return timing.times, timing.machine.python_callbacks
