"""The real llama.cpp at work: it decodes tokens with a model's weights, and everything on the way can be looked at.

`observe` is the door. One sequence, on the CPU, without repacked weights, so that each node has the bytes that the
graph names; in a child process, because an assert of ggml ends the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
import numpy.typing as npt

from ..dtypes import nbytes
from ..errors import InputError
from ..gguf.data import GgufData
from ..gguf.read import read_header
from ..gguf.source import FileSource
from ..gguf.values import LazyArray
from ..llama.options import FlashAttn, Options
from ..op import Op
from ..tensor import Tensor
from .asking import OPS, TYPES
from .capture import library_path, with_context
from .checks import check
from .layouts import FLAG_COMPUTE
from .library import WrongBuild
from .observe_messages import AskObserve, Observed, ObserveMessage, RawNode, RawSeen, RawStep, Watching
from .parent import Call, Cancelled, Progress, converse

MEMORY = 4 << 30
"""Bytes of private memory that the child may have beside twice the size of the model: caches, buffers, logits."""
TOKENS = "tokenizer.ggml.tokens"
MOST_THREADS = 512

Data = npt.NDArray[np.uint8]
Logits = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Watch:
    """What to look at; nothing by default, which costs nothing.

    Attributes:
        inputs: the bytes of the INPUT leafs of every step.
        steps: steps (from 0) whose nodes are looked at; each is then computed by itself, with the same result.
        ops: of their nodes, only those with one of these ops; empty for all.
        names: of their nodes, only those with one of these names; empty for all.
    """

    inputs: bool = False
    steps: Collection[int] = ()
    ops: Collection[Op] = ()
    names: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor of llama.cpp and its bytes at one moment.

    Attributes:
        tensor: name as llama.cpp has it, not unique; `src` holds slots (0, 1, ...; -1 for an empty one), not ids.
        data: `tensor.nbytes` bytes from the first to the last element, gaps of strided tensors included; read only.
    """

    tensor: Tensor
    data: Data


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node that was computed.

    Attributes:
        graph: which graph of its step: a batch longer than a micro-batch makes several.
        index: its place in the graph, nodes that compute nothing counted.
        result: after it was computed.
        sources: before it was computed, by slot.
    """

    graph: int
    index: int
    result: Seen
    sources: tuple[Seen | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One llama_decode.

    Attributes:
        tokens: what went in.
        position: of the first of them.
        logits: of the last of them, n_vocab values.
        token: the one with the largest logit (of equal ones the first): the greedy choice.
        seconds: that llama_decode took; without meaning when nodes were looked at.
        inputs: (graph of the step, INPUT leaf before the graph ran), in the order of the leafs. Leafs that nobody
            reads are there, too, with whatever lies at their place.
        nodes: those that were looked at, in the order of execution.
    """

    tokens: tuple[int, ...]
    position: int
    logits: Logits
    token: int
    seconds: float
    inputs: tuple[tuple[int, Seen], ...]
    nodes: tuple[SeenNode, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """What llama.cpp did.

    Attributes:
        options: as llama.cpp rounded and settled them.
        steps: first the given batches, then one for each predicted token but the last.
    """

    options: Options
    steps: tuple[Step, ...]


def observe(
    path: str | Path,
    options: Options,
    batches: Sequence[Sequence[int]],
    *,
    n_predict: int = 0,
    watch: Watch | None = None,
    n_threads: int = 1,
    progress: Progress = None,
    cancelled: Cancelled = None,
    time_limit: float = 600,
) -> Observation:
    """Decode with the real llama.cpp and a model's weights.

    Args:
        path: a GGUF with its data; of a split one the first part.
        options: as for a capture; the CPU only, and `n_ctx` is filled in.
        batches: tokens of each llama_decode, one sequence from position 0 in an empty cache.
        n_predict: tokens to choose greedily: the first by the logits of the last batch, each fed back but the last.
        watch: what to look at.
        n_threads: of the CPU; llama.cpp's results do not depend on it.
        progress: told what is being done, a few words each time.
        cancelled: asked now and then; True ends the child.
        time_limit: seconds for the child.

    Raises:
        InputError: llama.cpp cannot be asked, the file, an option or a token is unusable, llama.cpp refuses or stops,
            the time is over, or the work was cancelled.
    """
    try:
        library = library_path()
    except WrongBuild as error:
        raise InputError(f"the real llama.cpp cannot be asked: {error}") from None
    name, header = Path(path).name, read_header(path)
    options = with_context(options, header)
    watch = watch or Watch()
    _check(options, batches, n_predict, n_threads)
    weights = GgufData(header)
    tokens = header.metadata.get(TOKENS)
    first = header.parts[0].source
    assert isinstance(first, FileSource)
    with tempfile.TemporaryFile() as file:
        question = AskObserve(
            library=str(library),
            model=str(first.path.resolve()),
            options=options,
            architecture=header.architecture,
            n_vocab=len(tokens) if isinstance(tokens, (tuple, LazyArray)) else 0,
            batches=[list(batch) for batch in batches],
            n_predict=n_predict,
            n_threads=n_threads,
            watching=Watching(watch.inputs, [*watch.steps], [OPS.index(op) for op in watch.ops], [*watch.names]),
            data=file.fileno(),
            memory=MEMORY + 2 * header.file_bytes,
        )
        call = Call("observe_child", ObserveMessage, (file.fileno(),), progress, cancelled, time_limit)
        answer = converse(call, question, question.model, name)
        assert isinstance(answer, Observed)
        return _Reader(weights, file).observation(answer, options)


def _check(options: Options, batches: Sequence[Sequence[int]], n_predict: int, n_threads: int) -> None:
    """What llama.cpp would assert, or do in another way than asked.

    Raises:
        InputError: with what to do.
    """
    check(options)
    if options.devices or options.repack:
        raise InputError("llama.cpp is observed on the CPU without repacking; leave devices and --repack out")
    if not batches or not all(batches):
        raise InputError("no tokens to decode; each batch needs at least one")
    longest = max(map(len, batches))
    if longest > options.n_batch:
        raise InputError(f"-b {options.n_batch}: a batch has {longest} tokens; raise -b or cut the batch")
    if n_predict < 0:
        raise InputError(f"{n_predict} tokens cannot be predicted; a number from 0 is expected")
    n_ctx = options.n_ctx or 0
    total = sum(map(len, batches)) + max(0, n_predict - 1)
    if total > n_ctx:
        raise InputError(f"-c {n_ctx}: {total} tokens do not fit into the context; raise -c or decode fewer")
    if not 1 <= n_threads <= MOST_THREADS:
        raise InputError(f"{n_threads} threads: a number from 1 to {MOST_THREADS} is expected")
    wrong = next((token for batch in batches for token in batch if not 0 <= token < 1 << 31), None)
    if wrong is not None:
        raise InputError(f"token {wrong} is in no vocabulary; tokens are numbers from 0")


class _Reader:
    """From the messages and the data file to arrays."""

    def __init__(self, weights: GgufData, file: IO[bytes]) -> None:
        self._weights = weights
        self._data: Data = np.memmap(file, np.uint8, "r").view(np.ndarray)

    def observation(self, answer: Observed, options: Options) -> Observation:
        flash = FlashAttn.OFF if answer.flash_off or options.flash_attn is FlashAttn.OFF else FlashAttn.ON
        settled = msgspec.structs.replace(options, n_ctx=answer.n_ctx, flash_attn=flash)
        return Observation(settled, tuple(self._step(step, answer.n_vocab) for step in answer.steps))

    def _step(self, step: RawStep, n_vocab: int) -> Step:
        return Step(
            tokens=tuple(step.tokens),
            position=step.position,
            logits=self._data[step.logits : step.logits + 4 * n_vocab].view(np.float32),
            token=step.token,
            seconds=step.seconds,
            inputs=tuple((graph, self._seen(leaf)) for graph, leaf in step.inputs),
            nodes=tuple(map(self._node, step.nodes)),
        )

    def _node(self, node: RawNode) -> SeenNode:
        slots = tuple(-1 if source is None else slot for slot, source in enumerate(node.src))
        sources = tuple(None if source is None else self._seen(source) for source in node.src)
        return SeenNode(node.graph, node.index, self._seen(node.result, slots), sources)

    def _seen(self, raw: RawSeen, src: tuple[int, ...] = ()) -> Seen:
        dtype, params = TYPES[raw.dtype], raw.op_params
        while params and not params[-1]:
            params = params[:-1]
        size = nbytes(dtype, raw.ne, raw.nb)
        tensor = Tensor(
            raw.name, OPS[raw.op], dtype, raw.ne, raw.nb, src, size, flags=raw.flags & ~FLAG_COMPUTE, op_params=params,
            is_weight=raw.at < 0,
        )  # fmt: skip
        return Seen(tensor, self._weights.bytes(raw.name) if raw.at < 0 else self._data[raw.at : raw.at + size])
