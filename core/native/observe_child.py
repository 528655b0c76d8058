"""The child process of an observation: the real llama.cpp decodes tokens with its weights. Started by `observe`."""

from __future__ import annotations

import ctypes as C
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from . import decode_layouts as more
from . import layouts as abi
from .library import declare, load
from .log import Log
from .model import FLASH_OFF, context_params
from .observe_messages import AskObserve, Observed, RawStep
from .process import Fail, Say, bound_memory, serve
from .refused import Refused
from .watch import DataFile, Watch


def main(pipe: int, parent: int) -> None:
    """Answer the question on standard input on `pipe`; end with the process `parent`."""
    serve(pipe, parent, _answer)


def _answer(question: bytes, say: Say, fail: Fail) -> Observed:
    ask = msgspec.msgpack.decode(question, type=AskObserve)
    bound_memory(ask.memory)
    library = load(Path(ask.library))
    declare(library, more.PROTOTYPES)
    log, data = Log(library), DataFile(ask.data)
    say("llama.cpp loads the model")
    decoder = Decoder(library, ask, Watch(library, ask.watching, data, fail), data, log)
    total = len(ask.batches) + max(0, ask.n_predict - 1)
    steps: list[RawStep] = []
    for number in range(total):
        tokens = ask.batches[number] if number < len(ask.batches) else [steps[-1].token]
        say(f"llama.cpp decodes step {number + 1} of {total}")
        steps.append(decoder.decode(number, tokens))
    flash_off = any(sign in line for _, line in log.lines for sign in FLASH_OFF)
    return Observed(steps, decoder.n_vocab, library.llama_n_ctx(decoder.context), flash_off)


class Decoder:
    """A model with its weights and a context with one sequence. They are never freed: the process ends instead."""

    def __init__(self, library: C.CDLL, ask: AskObserve, watch: Watch, data: DataFile, log: Log) -> None:
        """Load the model and make the context.

        Raises:
            Refused: with llama.cpp's reason.
        """
        self.library, self.watch, self.data, self.log = library, watch, data, log
        self._position = 0
        params = library.llama_model_default_params()
        devices = (abi.PTR * 1)(None)
        params.devices = C.addressof(devices)
        params.n_gpu_layers, params.use_extra_bufts, params.load_mode = 0, False, more.LOAD_MODE_MMAP
        overrides = _without_vocabulary(ask) if ask.n_vocab else None
        params.kv_overrides = overrides and C.addressof(overrides)
        model = library.llama_model_load_from_file(ask.model.encode(), params)
        if not model:
            raise Refused(log.reason("llama.cpp cannot load the model"))
        settings = context_params(library, ask.options)
        settings.n_threads = settings.n_threads_batch = ask.n_threads
        if ask.watching.inputs or ask.watching.steps:
            settings.cb_eval = C.cast(watch.callback, abi.PTR).value
        self.context = library.llama_init_from_model(model, settings)
        if not self.context:
            raise Refused(log.reason("llama.cpp cannot make a context"))
        self.n_vocab: int = library.llama_vocab_n_tokens(library.llama_model_get_vocab(model))
        self._sched = abi.Sched.from_address(getattr(library, abi.GET_SCHED)(self.context))

    def decode(self, step: int, tokens: Sequence[int]) -> RawStep:
        """One llama_decode; only the last token gives logits.

        Raises:
            Refused: with llama.cpp's reason.
        """
        wrong = next((token for token in tokens if token >= self.n_vocab), None)
        if wrong is not None:
            raise Refused(f"token {wrong} is not in the vocabulary of {self.n_vocab} tokens (0 to {self.n_vocab - 1})")
        n, position = len(tokens), self._position
        given, positions = (abi.I32 * n)(*tokens), (abi.I32 * n)(*range(position, position + n))
        counts, sequence = (abi.I32 * n)(*[1] * n), (abi.I32 * 1)(0)
        sequences, wanted = (abi.PTR * n)(*[C.addressof(sequence)] * n), (C.c_int8 * n)(*[0] * (n - 1), 1)
        arrays: list[Any] = [given, positions, counts, sequences, wanted]
        token, pos, n_seq_id, seq_id, logits = map(C.addressof, arrays)
        self.watch.begin(self._sched, step)
        start = time.perf_counter()
        status = self.library.llama_decode(self.context, more.Batch(n, token, None, pos, n_seq_id, seq_id, logits))
        seconds = time.perf_counter() - start
        if status:
            raise Refused(self.log.reason(f"llama.cpp cannot decode step {step + 1} (llama_decode returns {status})"))
        self._position += n
        row = self.library.llama_get_logits_ith(self.context, -1)
        values = np.ctypeslib.as_array((C.c_float * self.n_vocab).from_address(row))
        return RawStep(
            tokens=list(tokens),
            position=position,
            logits=self.data.add(row, values.nbytes),
            token=int(values.argmax()),
            seconds=seconds,
            inputs=self.watch.inputs,
            nodes=self.watch.nodes,
        )


def _without_vocabulary(ask: AskObserve) -> Any:
    """Metadata that make llama.cpp leave the vocabulary out: reading 262,000 tokens takes two seconds."""
    entries = (
        more.TextOverride(more.OVERRIDE_TEXT, b"tokenizer.ggml.model", 0, b"no_vocab"),
        more.Override(more.OVERRIDE_INT, f"{ask.architecture}.vocab_size".encode(), ask.n_vocab),
        more.Override(),
    )
    return C.create_string_buffer(b"".join(map(bytes, entries)), len(entries) * C.sizeof(more.Override))
