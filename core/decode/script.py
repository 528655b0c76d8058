"""A session as a person writes it down: the context, the devices and the batches (`llama-session-1`).

Values only; `core/decode/read.py` reads and checks them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "llama-session-1"


class ContextGiven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """llama_context_params; what is left out has the default of the recordings.

    Attributes:
        n_ctx: cells of context of all sequences; 0 for the model's own.
        n_batch: tokens of a llama_decode at most; None for n_ubatch.
        n_ubatch: tokens of a micro-batch at most.
        n_seq_max: sequences.
        kv_unified: one KV stream for all sequences.
        flash_attn: off, on, or auto.
        swa_full: the cache of window layers is as large as the other.
        embeddings: results are embeddings; every token is an output.
        pooling_type: enum llama_pooling_type: -1 unspecified, 0 none, 1 mean, 2 cls, 3 last, 4 rank.
        n_outputs_max: outputs of a micro-batch at most; 0 for n_batch.
        offload_kqv: the KV cache lies on the devices of its layers.
        op_offload: ops with weights on the CPU may run on a device.
        n_rs_seq: states of a recurrent sequence that can be rolled back.
        type_k: element type of the K cache.
        type_v: element type of the V cache.
    """

    n_ctx: int = 512
    n_batch: int | None = None
    n_ubatch: int = 32
    n_seq_max: int = 1
    kv_unified: bool = False
    flash_attn: Literal["off", "on", "auto"] = "off"
    swa_full: bool = True
    embeddings: bool = False
    pooling_type: int = -1
    n_outputs_max: int = 0
    offload_kqv: bool = True
    op_offload: bool = True
    n_rs_seq: int = 0
    type_k: str = "f16"
    type_v: str = "f16"


class DeviceGiven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A device. Without `profile` it is the made-up GPU of the recordings, which runs every op.

    Attributes:
        name: as llama.cpp would call it: GPU0.
        profile: a kind of `galloscope devices`: cuda, vulkan, metal; "" for the made-up GPU.
        memory_mib: its memory.
        alignment: of its buffers, bytes; None for the profile's.
        async_events: it queues work and has events; None for the profile's.
        host_buffer: it has a pinned host buffer type; None for the profile's.
        max_size: bytes of its largest buffer; None for the profile's.
        alloc_limit: a buffer of more bytes cannot be made on it; None for no limit.
    """

    name: str
    profile: str = ""
    memory_mib: int = 24576
    alignment: int | None = None
    async_events: bool | None = None
    host_buffer: bool | None = None
    max_size: int | None = None
    alloc_limit: int | None = None


class ModelGiven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """llama_model_params.

    Attributes:
        n_gpu_layers: layers on devices; None for all.
        split_mode: none or layer.
        tensor_override: `regex -> BUFFER`, several with commas; -> CPU may be left out.
    """

    n_gpu_layers: int | None = None
    split_mode: Literal["none", "layer"] = "layer"
    tensor_override: str = ""


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens of one sequence (or of several at once) in a batch.

    Attributes:
        seq: its id, or several: each token belongs to all of them.
        n: tokens.
        pos: of the first; None to go on after the last one of the (first) sequence.
        logits: which of them are outputs; None for what the step says.
    """

    seq: int | tuple[int, ...] = 0
    n: int = 1
    pos: int | None = None
    logits: Literal["last", "all", "none", "first", "default"] | None = None

    @property
    def seqs(self) -> tuple[int, ...]:
        """The ids as given."""
        return self.seq if isinstance(self.seq, tuple) else (self.seq,)


Outputs = Literal["last", "all", "none", "first", "default"]
"""Last or first token of each group, all, none; `default`: the logits pointer is NULL (the last token of the batch)."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call; exactly one of the first fields is given.

    Attributes:
        decode: llama_decode of these groups.
        seq_rm: (sequence, from position, to position); -1 for open ends.
        seq_cp: (from, to, from position, to position).
        seq_add: (sequence, from, to, what is added to the positions).
        clear: llama_memory_clear.
        set_embeddings: llama_set_embeddings.
        set_causal_attn: llama_set_causal_attn.
        set_warmup: llama_set_warmup.
        synchronize: llama_synchronize.
        clear_cvec: llama_set_adapter_cvec with nothing.
        set_sampler: a backend sampler for this sequence.
        set_abort: the abort callback says yes from now on, or no.
        logits: of a decode.
        input: tokens or embeddings.
        interleave: tokens of the groups in turn.
        repeat: how often.
        remove: take the sampler away.
    """

    decode: tuple[Group, ...] | None = None
    seq_rm: tuple[int, int, int] | None = None
    seq_cp: tuple[int, int, int, int] | None = None
    seq_add: tuple[int, int, int, int] | None = None
    clear: bool | None = None
    set_embeddings: bool | None = None
    set_causal_attn: bool | None = None
    set_warmup: bool | None = None
    synchronize: bool | None = None
    clear_cvec: bool | None = None
    set_sampler: int | None = None
    set_abort: bool | None = None
    logits: Outputs = "last"
    input: Literal["token", "embd"] = "token"
    interleave: bool = False
    repeat: int = 1
    remove: bool = False

    @property
    def kind(self) -> str:
        """Which of the calls it is."""
        return next(name for name in CALLS if getattr(self, name) is not None)


CALLS = (
    "decode", "seq_rm", "seq_cp", "seq_add", "clear", "set_embeddings", "set_causal_attn", "set_warmup", "synchronize",
    "clear_cvec", "set_sampler", "set_abort",
)  # fmt: skip
"""The calls that a step can be."""


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole session.

    Attributes:
        schema: `llama-session-1`.
        name: of the session.
        about: what it shows, a sentence.
        model: file name of a GGUF, looked for beside the script or in the folder of models.
        context: see `ContextGiven`.
        devices: GPUs in llama.cpp's order; none for the CPU alone.
        model_params: see `ModelGiven`.
        env: environment variables of llama.cpp; LLAMA_GRAPH_REUSE_DISABLE is the one that counts.
        steps: in order.
    """

    schema: str = SCHEMA
    name: str = ""
    about: str = ""
    model: str = ""
    context: ContextGiven = ContextGiven()
    devices: tuple[DeviceGiven, ...] = ()
    model_params: ModelGiven = ModelGiven()
    env: dict[str, str] = {}
    steps: tuple[Step, ...] = ()
