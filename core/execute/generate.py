"""Greedy decoding of one sequence through planned graphs, in the order of llama_decode.

The prefill graph is reserved; then each micro-batch has its graph built for the cells that it sees, planned on the same
scheduler and allocator, and run. A graph that would be built the same again is run again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from ..backends.backend import Backend, make_backend
from ..errors import InputError
from ..gguf.data import GgufData
from ..gguf.header import Header
from ..gguf.read import read_header
from ..graph import Problem, Request
from ..llama.assemble import graph_maker
from ..llama.options import GraphMode, Options
from ..log import Run
from ..models.cparams import cache_cells
from ..models.shape import GraphShape
from ..ops import as_float
from ..replay import replay_all
from ..session import decide, planner_for
from ..state import State
from .cells import Cells
from .executor import Executor, Settings
from .feed import Feed
from .feeds.gguf import GgufFeed
from .feeds.tokens import TokenBatch, TokensFeed
from .hooks import Hooks
from .result import Execution

LOGITS = "result_output"


@dataclass(frozen=True, slots=True)
class Step:
    """One token.

    Attributes:
        token: the greedy choice: the first with the largest logit.
        logits: one for each token of the vocabulary.
        seconds: to build, plan and run what led to it: all micro-batches of a prompt.
        execution: of the last micro-batch.
    """

    token: int
    logits: npt.NDArray[np.float32]
    seconds: float
    execution: Execution


class Generator:
    """A model that generates; its caches live on between the micro-batches.

    Attributes:
        header: of the model.
        options: as llama.cpp uses them, defaults filled in.
        feed: what fills the graphs; its `batch` is the current micro-batch.
        executor: what runs them.
        runs: every graph that was planned, the reservation first; `run` and `state` are the last one.
    """

    def __init__(
        self,
        source: Header | str | Path,
        options: Options | None = None,
        backend: Backend | None = None,
        settings: Settings | None = None,
        weights: Feed | None = None,
    ) -> None:
        """Open a model and reserve its memory.

        Args:
            source: a path, or a header that was read from one.
            options: of llama.cpp; one sequence.
            backend: what computes; numpy when nothing is said.
            settings: of the executor.
            weights: what fills weights; those of the file when nothing is said.

        Raises:
            InputError: the model has no builder or no data, or an option does not fit.
        """
        self.header = source if isinstance(source, Header) else read_header(source)
        given = options or Options()
        if given.n_seq_max > 1:
            raise InputError(f"-np {given.n_seq_max}: one sequence is generated, leave -np out")
        self._maker = graph_maker(self.header, msgspec.structs.replace(given, n_tokens=None, n_outputs=None))
        self.options = self._maker.options
        self._flash = self._maker.flash().on
        self._hparams = self._maker.hparams
        if self._hparams.recurrent:
            raise InputError(
                f"architecture {self._hparams.arch!r} keeps recurrent states, tokens are generated only with models "
                "that have a KV cache"
            )
        self.feed = TokensFeed(weights or GgufFeed(GgufData(self.header)))
        self.executor = Executor(backend or make_backend("numpy"), settings or Settings())
        _, problem = self._maker.problem(GraphMode.PREFILL, self._flash)
        self._problem = msgspec.structs.replace(problem, requests=(Request(problem.requests[0].graph, reserve=True),))
        self._planner = planner_for(self._problem)
        self.runs: list[Run] = []
        self._states = replay_all(self._last_runs())
        self._plan(self._problem.requests[0])
        self._shape: GraphShape | None = None
        self._caches: tuple[Cells, ...] = ()
        self._n_past = 0
        self.clear()

    @property
    def run(self) -> Run:
        """The graph that was planned last."""
        return self.runs[-1]

    @property
    def problem(self) -> Problem:
        """Everything that was asked of the scheduler until now."""
        return msgspec.structs.replace(self._problem, requests=tuple(run.request for run in self.runs))

    def clear(self) -> None:
        """Forget the sequence (llama_memory_clear without data)."""
        h = self._hparams
        size, size_swa = cache_cells(h, self.options)
        whole = Cells(size)
        window = (Cells(size_swa, h.n_swa),) if h.n_swa else ()
        # In the order in which a graph lists their inputs: the cache of layer 0 first.
        self._caches = (*window, whole) if h.n_swa and h.is_swa[0] else (whole, *window)
        self._n_past = 0

    def generate(
        self, prompt: Sequence[int], n: int, forced: Sequence[int] | None = None, hooks: Hooks | None = None
    ) -> Iterator[Step]:
        """Begin a new sequence: the prompt, then `n` tokens one by one.

        Args:
            prompt: token ids.
            n: how many tokens to choose.
            forced: what is fed back in place of the choices, at least n - 1 tokens (teacher forcing).
            hooks: for the executor.

        Raises:
            InputError: the prompt is empty or holds an unknown token, or all of it does not fit the context.
        """
        self._check(prompt, n, forced)
        self.clear()
        return self._steps(list(prompt), n, forced, hooks or Hooks())

    def _steps(self, prompt: list[int], n: int, forced: Sequence[int] | None, hooks: Hooks) -> Iterator[Step]:
        tokens = prompt
        for count in range(n):
            began = time.perf_counter()
            execution = self.decode(tokens, hooks)
            logits = self._logits()
            token = int(np.argmax(logits))
            yield Step(token, logits, time.perf_counter() - began, execution)
            tokens = [token if forced is None else forced[count]] if count < n - 1 else []

    def decode(self, tokens: Sequence[int], hooks: Hooks) -> Execution:
        """llama_decode: compute these tokens after those before them, in micro-batches; logits of the last one.

        Raises:
            InputError: the context is full, or a node cannot be computed.
        """
        execution = None
        for at in range(0, len(tokens), self.options.n_batch):
            batch = tokens[at : at + self.options.n_batch]
            for start in range(0, len(batch), self.options.n_ubatch):
                piece = batch[start : start + self.options.n_ubatch]
                last = at + start + len(piece) == len(tokens)
                execution = self._run(piece, [len(piece) - 1] if last else [], hooks)
        assert execution is not None
        return execution

    def _run(self, tokens: Sequence[int], outputs: Sequence[int], hooks: Hooks) -> Execution:
        """One micro-batch (process_ubatch)."""
        positions = np.arange(self._n_past, self._n_past + len(tokens), dtype=np.int64)
        slots = tuple(cache.place(positions) for cache in self._caches)
        seen = {cache.window > 0: slot.n_kv for cache, slot in zip(self._caches, slots, strict=True)}
        shape = GraphShape(
            n_tokens=len(tokens),
            n_seqs=len(tokens),
            equal_seqs=False,
            n_outputs=len(outputs),
            n_kv=seen[False],
            n_kv_swa=seen.get(True, 0),
        )
        if shape != self._shape:
            self._plan(self._maker.graph(shape, self._flash).problem.requests[0])
            self._shape = shape
        scale = as_float(sqrt(self._hparams.n_embd))
        self.feed.batch = TokenBatch(tokens, positions, outputs, slots, scale)
        execution = self.executor.run(self.run, self.state, self.feed, hooks)
        self._n_past += len(tokens)
        return execution

    def _plan(self, request: Request) -> None:
        run = decide(self._planner, self._problem, request, self.runs[-1] if self.runs else None)
        if run.abort is not None:
            raise InputError(f"the graph cannot run, ggml stops: {run.abort}")
        self.runs.append(run)
        self.state: State = next(self._states)

    def _last_runs(self) -> Iterator[Run]:
        """What `replay_all` is to fold next: the run that was planned since it asked last."""
        while True:
            yield self.runs[-1]

    def _logits(self) -> npt.NDArray[np.float32]:
        """Of the last output."""
        values = self.executor.values(self.state.names.index(LOGITS))
        last: npt.NDArray[np.float32] = values.reshape(-1, self._hparams.n_vocab)[-1].astype(np.float32)
        return last

    def _check(self, prompt: Sequence[int], n: int, forced: Sequence[int] | None) -> None:
        if not prompt:
            raise InputError("the prompt is empty: give at least one token")
        if n < 1:
            raise InputError(f"{n} tokens to generate: at least 1")
        if forced is not None and len(forced) < n - 1:
            raise InputError(f"{len(forced)} tokens to be fed back, {n} steps need {n - 1}")
        n_vocab = self._hparams.n_vocab
        for token in (*prompt, *(forced or ())[: n - 1]):
            if not 0 <= token < n_vocab:
                raise InputError(f"token {token} is not in the vocabulary of {n_vocab} tokens (0 to {n_vocab - 1})")
        n_ctx = self.options.n_ctx or 0
        if len(prompt) + n - 1 > n_ctx:
            raise InputError(
                f"{len(prompt)} tokens of prompt and {n} generated ones need {len(prompt) + n - 1} cells, the context "
                f"has {n_ctx}: ask for more (-c)"
            )
