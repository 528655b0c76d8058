"""The scheduler that outlives the runs (ggml_backend_sched): copies in rotation, last ids, the allocator behind it."""

from __future__ import annotations

from collections.abc import Mapping

from ..allocator.gallocr import Gallocr
from ..columns import Columns, Record
from ..events import AllocGraph, Begin, IdsChanged, Stage, Sync
from ..graph import Problem
from .assign import Assignment
from .backends import Backends
from .compute import ComputeLoop
from .split import Splitter


class Scheduler:
    """Splits, allocates and follows the compute loop of one graph after another."""

    def __init__(self, problem: Problem, alloc_limits: Mapping[str, int] | None = None) -> None:
        """A scheduler over the problem's backends, with nothing reserved.

        Args:
            problem: settings and devices; its requests are not looked at.
            alloc_limits: by name of a buffer type, the bytes of its largest buffer that can be made.
        """
        self.config = problem.config
        self.bufts = problem.bufts
        self.backends = problem.backends
        self.gallocr = Gallocr(problem.bufts, [backend.buft for backend in problem.backends], alloc_limits)
        self.cur_copy = 0
        self.next_copy = 0
        self.splitter: Splitter | None = None
        self.first_backend = 0
        self.node_ids: list[int] = []
        self.leaf_ids: list[int] = []
        self.prev_node_ids: list[int] = []
        self.prev_leaf_ids: list[int] = []

    def split_only(self, columns: Columns, record: Record) -> None:
        """ggml_backend_sched_split_graph alone: nothing is planned, but the next split is compared with this one."""
        record(Begin(Stage.SCHEDULE))
        self._split(columns, record)

    def reserve(self, columns: Columns, record: Record) -> bool:
        """ggml_backend_sched_reserve: synchronize (the next copy is 0 again), split, reserve.

        Returns:
            Whether the buffers could be made.
        """
        self._sync_all(record)
        self.next_copy = 0
        record(Begin(Stage.SCHEDULE))
        graph = self._split(columns, record)[1]
        record(Begin(Stage.ALLOCATE))
        return self._reserve(columns, graph, record)

    def alloc_and_compute(self, columns: Columns, record: Record) -> bool:
        """ggml_backend_sched_alloc_graph and, when configured, graph_compute_async.

        Returns:
            Whether the buffers could be made; nothing is computed when not.

        Raises:
            GgmlAbort: where real ggml asserts.
        """
        self.cur_copy = self.next_copy
        self.next_copy = (self.cur_copy + 1) % self.config.n_copies
        record(Begin(Stage.SCHEDULE))
        splitter, graph = self._split(columns, record)
        record(Begin(Stage.ALLOCATE))
        changed = self._ids_changed(graph)
        if changed:
            record(changed)
        if not (self._fits(columns, graph, record) if not changed else self._plan_anew(columns, graph, record)):
            return False
        placed = self.gallocr.place(columns, graph.nodes, graph.leafs, record)
        if self.config.compute or self.config.direct:
            record(Begin(Stage.COMPUTE))
            board = splitter.board({t: self.gallocr.buft_ids[slot[0]] for t, slot in placed.items()})
            ComputeLoop(board, self.config.copy_callback, record).run()
        return True

    def _split(self, columns: Columns, record: Record) -> tuple[Splitter, AllocGraph]:
        backends = Backends(self.backends, self.bufts, columns, record)
        assignment = Assignment(backends, op_offload=self.config.op_offload)
        assignment.run(pins_lost=self.config.direct)
        splitter = self.splitter = Splitter(assignment, self.config.n_copies, self.cur_copy, self.first_backend)
        graph = splitter.run()
        self.first_backend = splitter.splits[0].backend
        self.node_ids, self.prev_node_ids = self.prev_node_ids, self.node_ids
        self.leaf_ids, self.prev_leaf_ids = self.prev_leaf_ids, self.leaf_ids
        self.node_ids[: len(graph.node_buffers)] = graph.node_buffers
        self.leaf_ids[: len(graph.leaf_buffers)] = graph.leaf_buffers
        return splitter, graph

    def _ids_changed(self, graph: AllocGraph) -> IdsChanged | None:
        """The first position whose id and buffer type differ from the last split; unwritten positions hold id 0."""
        buft = [backend.buft for backend in self.backends]
        for what, now, before in (
            ("node", graph.node_buffers, self.prev_node_ids),
            ("leaf", graph.leaf_buffers, self.prev_leaf_ids),
        ):
            for i, backend in enumerate(now):
                old = before[i] if i < len(before) else 0
                if backend != old and (backend < 0 or old < 0 or buft[backend] != buft[old]):
                    return IdsChanged(what, i, old, backend)
        return None

    def _fits(self, columns: Columns, graph: AllocGraph, record: Record) -> bool:
        """The plan in force holds this graph, or a new one could be made.

        With one buffer the allocator plans anew by itself, and puts everything into buffer 0.
        """
        reason = self.gallocr.needs_realloc(columns, graph.nodes, graph.leafs)
        if reason is None:
            return True
        record(reason)
        if len(self.backends) > 1:
            return self._plan_anew(columns, graph, record)
        zeros = (0,) * max(len(graph.nodes), len(graph.leafs))
        return self.gallocr.reserve(
            columns, graph.nodes, graph.leafs, zeros[: len(graph.nodes)], zeros[: len(graph.leafs)], record
        )

    def _plan_anew(self, columns: Columns, graph: AllocGraph, record: Record) -> bool:
        self._sync_all(record)
        return self._reserve(columns, graph, record)

    def _reserve(self, columns: Columns, graph: AllocGraph, record: Record) -> bool:
        return self.gallocr.reserve(columns, graph.nodes, graph.leafs, graph.node_buffers, graph.leaf_buffers, record)

    def _sync_all(self, record: Record) -> None:
        for backend, one in enumerate(self.backends):
            if one.is_async:
                record(Sync(backend))
