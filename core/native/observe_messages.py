"""What caller and child say to each other about decoding; large data lie in a file that both have open."""

from __future__ import annotations

from typing import Union

import msgspec

from ..llama.options import Options
from .messages import Refusal, Stage


class Watching(msgspec.Struct):
    """What is looked at while tokens are decoded.

    Attributes:
        inputs: the bytes of all INPUT leafs before each graph runs.
        steps: steps whose nodes are looked at.
        ops: only nodes with these numbers in enum ggml_op; empty for all.
        names: only nodes with these names; empty for all.
    """

    inputs: bool
    steps: list[int]
    ops: list[int]
    names: list[str]


class AskObserve(msgspec.Struct):
    """The only question.

    Attributes:
        library: path of the shared object.
        model: path of the model, its first part.
        options: checked; `n_ctx` is filled in.
        architecture: of the model.
        n_vocab: entries of the vocabulary, which is then not read; 0 where the model has none anyway.
        batches: tokens of each llama_decode, one sequence from position 0.
        n_predict: tokens that are chosen greedily after that.
        n_threads: of the CPU.
        watching: what is looked at.
        data: descriptor of the file for large data.
        memory: bytes of private memory that the child may have.
    """

    library: str
    model: str
    options: Options
    architecture: str
    n_vocab: int
    batches: list[list[int]]
    n_predict: int
    n_threads: int
    watching: Watching
    data: int
    memory: int


class RawSeen(msgspec.Struct, array_like=True, gc=False):
    """A ggml_tensor and where its bytes lie.

    Attributes:
        name: as it is, not unique.
        op: number in enum ggml_op.
        dtype: number in enum ggml_type.
        ne: elements per dimension.
        nb: strides in bytes.
        op_params: all 16 int32 words.
        flags: bits of enum ggml_tensor_flag.
        at: byte in the data file; -1 for a weight, which lies in the model's file.
    """

    name: str
    op: int
    dtype: int
    ne: tuple[int, int, int, int]
    nb: tuple[int, int, int, int]
    op_params: tuple[int, ...]
    flags: int
    at: int


class RawNode(msgspec.Struct, array_like=True, gc=False):
    """A node that was computed: which graph of its step, its place in it, its result, and its sources before."""

    graph: int
    index: int
    result: RawSeen
    src: list[RawSeen | None]


class RawStep(msgspec.Struct):
    """One llama_decode.

    Attributes:
        tokens: what went in.
        position: of the first of them.
        logits: byte in the data file, n_vocab float32 of the last token.
        token: that with the largest logit, the first of several.
        seconds: of llama_decode.
        inputs: (graph of the step, INPUT leaf).
        nodes: those that were looked at.
    """

    tokens: list[int]
    position: int
    logits: int
    token: int
    seconds: float
    inputs: list[tuple[int, RawSeen]]
    nodes: list[RawNode]


class Observed(msgspec.Struct, tag=True):
    """Everything that was seen.

    Attributes:
        steps: one per llama_decode.
        n_vocab: logits per token.
        n_ctx: as llama.cpp rounded it.
        flash_off: flash attention was asked for or left to llama.cpp, and it said no.
    """

    steps: list[RawStep]
    n_vocab: int
    n_ctx: int
    flash_off: bool


ObserveMessage = Union[Observed, Stage, Refusal]  # noqa: UP007 (msgspec evaluates it, on Python 3.10 too)
