"""The child process of a played session: the real llama.cpp takes every call of a script. Started by `play`."""

from __future__ import annotations

import ctypes as C
import os
from pathlib import Path

import msgspec

from ..decode.batch import Batch
from ..decode.devices import alloc_limits, script_devices
from ..decode.positions import batch_of
from ..decode.script import ContextGiven, Step
from ..decode.script_options import script_options
from ..devices.known import DEVICES
from . import decode_layouts as decode
from . import layouts as abi
from . import play_layouts as more
from .asking import Asking
from .bufts import raw_backends, raw_buft
from .child import MEMORY_LIMIT
from .devices import Devices
from .library import declare, load
from .log import Log
from .memory import weights
from .model import FLASH_OFF, Model, context_params
from .parent import QUIET
from .play_messages import AskPlay, Played, PlayedStep
from .play_read import Reader
from .play_watch import PlayWatch
from .process import Fail, Say, bound_memory, serve
from .refused import Refused


def main(pipe: int, parent: int) -> None:
    """Answer the question on standard input on `pipe`; end with the process `parent`."""
    serve(pipe, parent, _answer)


def _answer(question: bytes, say: Say, fail: Fail) -> Played:
    bound_memory(MEMORY_LIMIT)
    ask = msgspec.msgpack.decode(question, type=AskPlay)
    script = ask.script
    os.environ.update({key: value for key, value in script.env.items() if key.startswith(QUIET)})
    library = load(Path(ask.library))
    declare(library, decode.PROTOTYPES)
    declare(library, more.PROTOTYPES)
    log, asking = Log(library), Asking(library, fail)
    given = script_devices(script.devices)
    devices = Devices(
        library,
        [one.profile for one in given],
        [one.name for one in given],
        DEVICES["cpu"],
        asking,
        limits=alloc_limits(script.devices, given),
    )
    reader = Reader(library, script.context.kv_unified)
    watch = PlayWatch(library, devices, asking, reader, fail, graphs=ask.graphs)
    say("llama.cpp loads the model without its weights")
    options = script_options(script, tuple(one.spec for one in given))
    model = Model(library, ask.model, options, devices, set(), log, no_alloc=False)
    say("llama.cpp makes the context")
    player = Player(library, model, script.context, watch)
    total = sum(step.repeat for step in script.steps)
    steps: list[PlayedStep] = []
    for number, step in enumerate(script.steps):
        for turn in range(step.repeat):
            say(f"llama.cpp takes call {len(steps) + 1} of {total}")
            steps.append(player.take(step, number, turn))
    return player.played(steps, asking, log)


class Player:
    """A context that takes calls. It is never freed: the process ends instead."""

    def __init__(self, library: C.CDLL, model: Model, given: ContextGiven, watch: PlayWatch) -> None:
        """Make the context.

        Raises:
            Refused: with llama.cpp's reason.
        """
        self.library, self.model, self.watch = library, model, watch
        params = context_params(library, model.options)
        params.n_outputs_max, params.n_rs_seq = given.n_outputs_max, given.n_rs_seq
        params.embeddings, params.pooling_type = given.embeddings, given.pooling_type
        context = library.llama_init_from_model(model.model, params)
        if not context:
            raise Refused(model.log.reason("llama.cpp cannot make a context"))
        self.context: int = context
        self._start = watch.step
        sched = self._sched()
        self._first_sizes = sched.hash_set.size, sched.context_buffer_size
        self._memory = library.llama_get_memory(context)
        self._samplers: dict[int, int] = {}
        self._n_embd: int = library.llama_model_n_embd_inp(model.model)

    def _sched(self) -> abi.Sched:
        return abi.Sched.from_address(getattr(self.library, abi.GET_SCHED)(self.context))

    def take(self, step: Step, number: int, turn: int) -> PlayedStep:
        """One call of the script."""
        made = self.watch.begin(number, turn)
        made.ret = self._call(step)
        made.n_reused = self.library.llama_perf_context(self.context).n_reused
        return made

    def _call(self, step: Step) -> int | None:
        library, context, memory = self.library, self.context, self._memory
        kind = step.kind
        value = getattr(step, kind)
        if kind == "decode":
            return self._decode(step)
        if kind == "set_sampler":
            return int(library.llama_set_sampler(context, value, None if step.remove else self._sampler()))
        if kind == "set_abort":
            self.watch.aborting = value
        elif kind == "clear_cvec":
            library.llama_set_adapter_cvec(context, None, 0, 0, 0, 0)
        elif kind == "synchronize":
            library.llama_synchronize(context)
        elif kind == "clear":
            library.llama_memory_clear(memory, True)
        elif kind.startswith("seq_"):
            result = getattr(library, f"llama_memory_{kind}")(memory, *value)
            return None if result is None else int(result)
        else:
            getattr(library, f"llama_{kind}")(context, value)
        return None

    def _sampler(self) -> int:
        """A chain with the simplest sampler that runs in the graph."""
        library = self.library
        chain: int = library.llama_sampler_chain_init(library.llama_sampler_chain_default_params())
        library.llama_sampler_chain_add(chain, library.llama_sampler_init_greedy())
        return chain

    # llama_decode

    def seq_pos_min(self, seq: int) -> int:
        """The smallest position of a sequence, -1 when it is empty."""
        return int(self.library.llama_memory_seq_pos_min(self._memory, seq)) if self._memory else -1

    def seq_pos_max(self, seq: int) -> int:
        """The largest position of a sequence, -1 when it is empty."""
        return int(self.library.llama_memory_seq_pos_max(self._memory, seq)) if self._memory else -1

    def _decode(self, step: Step) -> int:
        batch = batch_of(step, self, embeddings=False)
        default = step.logits == "default" and all(group.logits is None for group in step.decode or ())
        return self._llama_decode(batch, default)

    def _llama_decode(self, batch: Batch, default: bool) -> int:
        """llama_decode; with `default` the logits pointer is NULL."""
        tokens, n = batch.tokens, len(batch.tokens)
        kinds = abi.I32 * n
        pos, counts = kinds(*(token.pos for token in tokens)), kinds(*(len(token.seq) for token in tokens))
        ids = [(abi.I32 * len(token.seq))(*token.seq) for token in tokens]
        lists = (abi.PTR * (n + 1))(*map(C.addressof, ids))
        out = (C.c_int8 * n)(*(token.out for token in tokens))
        data = (C.c_float * (n * self._n_embd))() if batch.embd else kinds()
        at = C.addressof
        given = decode.Batch(
            n_tokens=n,
            token=None if batch.embd else at(data),
            embd=at(data) if batch.embd else None,
            pos=at(pos),
            n_seq_id=at(counts),
            seq_id=at(lists),
            logits=None if default else at(out),
        )
        return int(self.library.llama_decode(self.context, given))

    def played(self, steps: list[PlayedStep], asking: Asking, log: Log) -> Played:
        """The whole session."""
        library, watch, sched = self.library, self.watch, self._sched()
        hash_size, context_buffer = self._first_sizes
        return Played(
            start=self._start,
            steps=steps,
            facts=list(watch.facts),
            shapes=list(watch.graphs),
            graphs=[graph for graph, _ in watch.graphs.values()],
            classes=[classes for _, classes in watch.graphs.values()],
            n_ctx=library.llama_n_ctx(self.context),
            n_ctx_seq=library.llama_n_ctx_seq(self.context),
            n_batch=library.llama_n_batch(self.context),
            n_ubatch=library.llama_n_ubatch(self.context),
            flash_off=any(sign in line for _, line in log.lines for sign in FLASH_OFF),
            sched_hash_size=hash_size,
            sched_context_buffer=context_buffer,
            backends=raw_backends(library, sched, asking),
            bufts=[raw_buft(library, sched, asking, pointer) for pointer in asking.known()],
            weights=weights(library, self.model.model),
            op_offload=sched.op_offload,
            log=log.lines,
        )
