"""A session from its first call to its last: llama_decode and everything around it, as decisions in a log."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InputError
from ..gguf.header import Header
from .batch import Batch
from .context import Context
from .events import Refused, StepBegin, StepEnd
from .graphs import GraphSource
from .log import LifeLog
from .memory.make import make_memory
from .outputs import Outputs
from .positions import batch_of, check_batch
from .process_end import ProcessEnd
from .script import Script, Step
from .script_options import script_words
from .setup import make_setup
from .ubatch import Ubatch

BAD_BATCH, NO_SLOT = -1, 1
"""What llama_decode returns for a batch that is refused, and for one that has no place in the memory."""

Progress = Callable[[int, int], None] | None


def play(script: Script, header: Header, source: GraphSource | None = None, progress: Progress = None) -> LifeLog:
    """Play a session on a model.

    Where llama.cpp or ggml would end the process, the log ends with its text; nothing is raised.

    Args:
        script: checked.
        header: of the model.
        source: where graphs come from; what `make_setup` finds when nothing is said.
        progress: told (steps done, steps in all) before each call; it may raise to stop.

    Raises:
        InputError: llama.cpp would refuse the options, or there is no graph for something that is asked.
    """
    setup, own = make_setup(script, header)
    log = LifeLog(script, setup)
    with script_words():
        _play(log, own if source is None else source, progress)
    return log


def _play(log: LifeLog, source: GraphSource, progress: Progress) -> None:
    """Every call of the script, until the process would end."""
    script = log.script
    try:
        player = _Player(log, source)
        total = sum(step.repeat for step in script.steps)
        done = 0
        for number, step in enumerate(script.steps):
            for turn in range(step.repeat):
                if progress is not None:
                    progress(done, total)
                log.events.append(StepBegin(number, turn))
                log.events.append(StepEnd(player.step(step)))
                done += 1
    except ProcessEnd as end:
        log.abort = str(end)


class _Player:
    """Takes the calls."""

    def __init__(self, log: LifeLog, source: GraphSource) -> None:
        self.log = log
        options = log.setup.options
        self.memory = make_memory(log.setup.header, options, n_rs_seq=log.setup.n_rs_seq)
        self.outputs = Outputs(log.setup)
        self.context = Context(log, source, self.memory)

    def step(self, step: Step) -> int | bool | None:
        """One call; what it returns."""
        context, memory = self.context, self.memory
        kind = step.kind
        if kind == "decode":
            return self.decode(step)
        if kind == "seq_rm":
            assert step.seq_rm is not None
            return memory.seq_rm(*step.seq_rm)
        if kind == "seq_cp":
            assert step.seq_cp is not None
            memory.seq_cp(*step.seq_cp)
        elif kind == "seq_add":
            assert step.seq_add is not None
            memory.seq_add(*step.seq_add)
        elif kind == "clear":
            memory.clear()
        elif kind == "synchronize":
            context.synchronize("the script asks for it")
        elif kind == "clear_cvec":
            context.need_reserve = "the control vector was set"
        elif kind == "set_sampler":
            assert step.set_sampler is not None
            return context.set_sampler(step.set_sampler, step.remove)
        else:
            self._switch(step, kind)
        return None

    def _switch(self, step: Step, kind: str) -> None:
        """The calls that only set a flag."""
        context = self.context
        if kind == "set_embeddings":
            context.embeddings = bool(step.set_embeddings)
        elif kind == "set_causal_attn":
            context.causal = bool(step.set_causal_attn)
        elif kind == "set_warmup":
            context.warmup = bool(step.set_warmup)
        elif kind == "set_abort":
            context.aborting = bool(step.set_abort)
        else:
            raise InputError(f"the step {kind!r} is not known")

    def decode(self, step: Step) -> int:
        """llama_context::decode.

        Raises:
            ProcessEnd: an assertion fails.
        """
        context, memory, log = self.context, self.memory, self.log
        options = log.setup.options
        batch = batch_of(step, memory, context.embeddings)
        reason = self._too_many_samples(batch) or check_batch(batch, memory, options.n_seq_max)
        if reason:
            log.events.append(Refused(reason))
            return BAD_BATCH
        n_tokens = len(batch.tokens)
        if n_tokens > options.n_batch:
            raise ProcessEnd("GGML_ASSERT(n_tokens_all <= cparams.n_batch) failed")
        if not context.causal and options.n_ubatch < n_tokens:
            raise ProcessEnd("non-causal attention requires n_ubatch >= n_tokens")
        if self.outputs.pooled:
            context.synchronize("the pooled embeddings of the batch before are dropped")
        self.outputs.pooled = False
        context.sched_reserve()
        context.memory_update()
        plan = memory.init_batch(batch, options.n_ubatch, context.embeddings)
        if isinstance(plan, str):
            log.events.append(Refused(plan))
            return NO_SLOT
        n_outputs = sum(ubatch.n_outputs for ubatch in plan.ubatches)
        if self.outputs.grow(n_outputs, context.embeddings, bool(context.samplers)):
            context.synchronize("the buffer of outputs grows")
        for ubatch, slot in zip(plan.ubatches, plan.slots, strict=True):
            status = context.process_ubatch(ubatch, slot)
            if status:
                self._take_back(ubatch)
                return status
            self.outputs.computed(ubatch, context.embeddings)
        return 0

    def _too_many_samples(self, batch: Batch) -> str:
        """A backend sampler takes one output of its sequence in a batch."""
        counts: dict[int, int] = {}
        for token in batch.tokens if self.context.samplers else ():
            for seq in token.seq if token.out else ():
                counts[seq] = counts.get(seq, 0) + 1
                if counts[seq] > 1 and seq in self.context.samplers:
                    return (
                        f"sequence {seq} has a backend sampler and more than one output in the batch: backend "
                        "sampling supports one output per sequence"
                    )
        return ""

    def _take_back(self, ubatch: Ubatch) -> None:
        """Remove the positions of a micro-batch that was not computed."""
        first: dict[int, int] = {}
        for ids, pos in zip(ubatch.seq, ubatch.pos, strict=True):
            first[ids[0]] = min(pos, first.get(ids[0], pos))
        for seq in sorted(first):
            self.memory.seq_rm(seq, first[seq], -1)
