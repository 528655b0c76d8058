"""Looking at every decision of a playing llama.cpp where it is made, while nothing is computed."""

from __future__ import annotations

import ctypes as C
from typing import Any

from ..models.shape import GraphShape, Purpose
from . import layouts as abi
from . import play_layouts as more
from .asking import Asking
from .detour import Detours, Real
from .devices import Devices
from .dump import dump
from .folded import Folded
from .messages import RawGraph
from .play_messages import Facts, PlayedPlan, PlayedStep, PlayedUbatch
from .play_read import Reader, changed_ids, input_classes, read_ubatch
from .process import Fail
from .refused import Refused
from .split_hook import slots

MOST_TENSORS = 400_000
"""Of all graphs that are handed out; as messages they take 60 MB."""
SHIFTS = (Purpose.SHIFT, Purpose.SHIFT_SWA)
"""The graphs of one K-shift, in order."""


class PlayWatch:
    """The detours of a session and what they saw.

    Attributes:
        step: the call that is being made; set before each.
        aborting: the abort callback says yes.
        facts: of all graphs, each once.
        graphs: the graph of each shape with its input classes; empty unless they are wanted.
    """

    def __init__(
        self, library: C.CDLL, devices: Devices, asking: Asking, reader: Reader, fail: Fail, *, graphs: bool
    ) -> None:
        """Lay the detours; from now on no weights are read and nothing is computed.

        Raises:
            WrongBuild: the table of addresses is not as expected.
        """
        self._library, self._devices, self._asking, self._reader = library, devices, asking, reader
        self._wanted, self._tensors = graphs, 0
        self.aborting = False
        self.step = PlayedStep(-1, 0, None, 0, [], [], [], [])
        self.facts: dict[Facts, int] = {}
        self.graphs: dict[GraphShape, tuple[RawGraph, tuple[str, ...]]] = {}
        self._trace = self.step.trace
        self._results: dict[int, int] = {}
        self._shape: GraphShape | None = None
        self._result = self._graph = self._sched = 0
        self._built = self._updating = self._allocating = False
        self._folded = Folded()
        self._can_reuse: bool | None = None
        self._changed: tuple[str, int, int, int] | None = None
        self._n_reused = self._shifts = self._facts = 0
        self._fresh = False
        self._detours = detours = Detours(library, fail)  # C holds pointers to what it keeps
        for name, function in (
            (more.LOAD_DATA, lambda *_: True),
            (more.SET_INPUTS, lambda *_: None),
            (more.BUILD_GRAPH, self._build_graph),
            (more.CAN_REUSE, self._ask_reuse),
            (more.PROCESS_UBATCH, self._process_ubatch),
            (more.OUTPUT_RESERVE, self._output_reserve),
            (more.MEMORY_UPDATE, self._memory_update),
            (abi.GRAPH_RESERVE, self._graph_reserve),
            ("ggml_backend_sched_reset", self._seen("reset")),
            ("ggml_backend_sched_synchronize", self._seen("synchronize")),
            ("ggml_backend_sched_split_graph", self._split_graph),
            ("ggml_backend_sched_graph_compute_async", self._compute),
            ("ggml_gallocr_reserve_n", self._reserve_n),
            ("ggml_gallocr_alloc_graph", self._alloc_graph),
        ):
            detours.lead(name, function)

    def begin(self, step: int, turn: int) -> PlayedStep:
        """A call is about to be made."""
        self.step = PlayedStep(step, turn, None, 0, [], [], [], [])
        self._trace = self.step.trace
        return self.step

    def _seen(self, word: str) -> Any:
        def seen(real: Real, *arguments: Any) -> Any:
            self._trace.append(word)
            return real(*arguments)

        return seen

    def _output_reserve(self, real: Real, *arguments: Any) -> Any:
        """The buffer of outputs is cleared by llama.cpp itself where samplers run, so it needs memory."""
        self._devices.place = self._folded.address
        size = real(*arguments)
        self._devices.place = None
        return size

    def _reserve_n(self, real: Real, *arguments: Any) -> Any:
        self._trace.append("replanned" if self._allocating else "reserve_n")
        return real(*arguments)

    def _alloc_graph(self, real: Real, *arguments: Any) -> Any:
        self._trace.append("alloc_graph")
        self._allocating = True
        ok = real(*arguments)
        self._allocating = False
        return ok

    # graphs

    def _build_graph(self, real: Real, model: int, params: int) -> Any:
        self._take(params)
        self._built = True
        return real(model, params)

    def _ask_reuse(self, real: Real, result: int, params: int) -> Any:
        self._take(params)
        self._trace.append("can_reuse")
        self._can_reuse = bool(real(result, params))
        return self._can_reuse

    def _take(self, params: int) -> None:
        """What a graph is, or would be, made for."""
        at = more.GraphParams
        self._shape = self._reader.shape(params)
        self._result = abi.PTR.from_address(params + at.RESULT).value or 0

    def _split_graph(self, real: Real, sched: int, graph: int) -> None:
        self._trace.append("split")
        view, built = abi.Sched.from_address(sched), abi.Graph.from_address(graph)
        ids = (abi.I32 * view.hash_set.size).from_address(view.hv_tensor_backend_ids)
        pins = [(tensor, ids[at]) for tensor, at in slots(view.hash_set).items() if ids[at] >= 0]
        real(sched, graph)
        self._sched, self._graph, self._fresh = sched, graph, True
        self._changed = changed_ids(view)
        if self._wanted:
            self._keep(view, built, pins)

    def _keep(self, sched: abi.Sched, graph: abi.Graph, pins: list[tuple[int, int]]) -> None:
        shape = self._shape
        if self._updating and not self._built:  # the shift of a cache has no params
            shape = GraphShape(purpose=SHIFTS[self._shifts])
        if shape is None or shape in self.graphs:
            return
        self._tensors += graph.n_nodes + graph.n_leafs
        if self._tensors > MOST_TENSORS:
            raise Refused(f"its graphs have more than {MOST_TENSORS:,} tensors; shorten the session")
        size = shape.n_tokens, shape.n_seqs, shape.n_outputs
        classes = ("llm_graph_input_k_shift",) if shape.purpose in SHIFTS else input_classes(self._result)
        self.graphs[shape] = dump(sched, graph, pins, size, self._asking, planned=False), classes

    def _number(self, result: int) -> int:
        """Number of the facts of the graph that was split last; for one that is used again they are known."""
        if not self._fresh:
            return self._facts
        self._fresh = False
        sched, graph = abi.Sched.from_address(self._sched), abi.Graph.from_address(self._graph)
        self._facts = self.facts.setdefault(self._reader.facts(sched, graph, result), len(self.facts))
        return self._facts

    def _compute(self, real: Real, sched: int, graph: int) -> int:
        if self._updating:
            self._shifts += 1
            self.step.shifts.append(self._number(0))
        if self.aborting and self._on_cpu(abi.Sched.from_address(sched)):
            return more.ABORTED
        return more.COMPUTED

    @staticmethod
    def _on_cpu(sched: abi.Sched) -> bool:
        """Something is computed on the last backend, the CPU: only there the abort callback is asked."""
        splits = (abi.Split * sched.n_splits).from_address(sched.splits)
        return any(split.backend == sched.n_backends - 1 for split in splits)

    # calls

    def _memory_update(self, real: Real, *arguments: Any) -> Any:
        self._updating, self._built, self._shifts = True, False, 0
        done = real(*arguments)
        self._updating = False
        return done

    def _graph_reserve(self, real: Real, context: int, *arguments: Any) -> Any:
        n_tokens, n_seqs, n_outputs, _, split_only, _ = arguments
        outer = self._trace
        outer.append("graph_reserve")
        self._results = {}
        trace: list[str] = []
        self._trace = trace
        graph = real(context, *arguments)
        self._trace = outer
        sched = abi.Sched.from_address(self._sched)
        assert self._shape is not None
        self.step.reserves.append(
            PlayedPlan(
                n_tokens, n_seqs, n_outputs, bool(split_only), bool(graph), self._shape, self._number(self._result),
                sched.n_copies, sched.cur_copy, sched.next_copy, trace,
            )
        )  # fmt: skip
        return graph

    def _process_ubatch(self, real: Real, context: int, ubatch: int, kind: int, memory: int, status: int) -> Any:
        outer = self._trace
        outer.append("process_ubatch")
        trace: list[str] = []
        self._trace = trace
        self._built, self._can_reuse, self._shape, self._changed = False, None, None, None
        buffers = len(self._devices.allocated)
        result = real(context, ubatch, kind, memory, status)
        self._trace = outer
        if self._shape is None:
            raise Refused("llama.cpp made no graph for a micro-batch")
        self._n_reused += not self._built
        sched = abi.Sched.from_address(self._sched)
        self.step.ubatches.append(
            PlayedUbatch(
                ubatch=read_ubatch(ubatch),
                shape=self._shape,
                can_reuse=self._can_reuse,
                reused=not self._built,
                n_reused=self._n_reused,
                ok=bool(result),
                status=abi.I32.from_address(status).value,
                result=self._results.setdefault(self._result, len(self._results)),
                facts=self._number(self._result),
                n_copies=sched.n_copies,
                cur_copy=sched.cur_copy,
                next_copy=sched.next_copy,
                buffers_made=self._devices.allocated[buffers:],
                trace=trace,
                ids_changed=self._changed,
            )
        )
        return result
