"""The options of llama.cpp that decide about graphs and memory, under llama.cpp's own names and defaults."""

from __future__ import annotations

from enum import Enum, IntEnum

import msgspec

from ..dtypes import DTYPES, DType


class FlashAttn(str, Enum):
    """enum llama_flash_attn_type; AUTO lets llama.cpp look where the op would run."""

    ON = "on"
    OFF = "off"
    AUTO = "auto"


class SplitMode(str, Enum):
    """enum llama_split_mode, the two modes that need no special buffers."""

    NONE = "none"
    LAYER = "layer"


class GraphMode(str, Enum):
    """Which reserve graph: a whole micro-batch of prompt tokens, or one token per sequence."""

    PREFILL = "prefill"
    DECODE = "decode"


class Pooling(IntEnum):
    """enum llama_pooling_type: how the embeddings of a sequence become one; UNSPECIFIED leaves it to the model."""

    UNSPECIFIED = -1
    NONE = 0
    MEAN = 1
    CLS = 2
    LAST = 3
    RANK = 4


class DeviceSpec(msgspec.Struct, frozen=True):
    """One device as named on the command line: a profile and what is changed about it.

    Attributes:
        profile: key of `core.devices.DEVICES`.
        memory: bytes, None for the profile's own.
        limits: values of the profile that are overridden, by field name (`align`, `max_size`, ...).
    """

    profile: str
    memory: int | None = None
    limits: dict[str, int] = {}


class Override(msgspec.Struct, frozen=True):
    """One `-ot PATTERN=BUFFER TYPE`: tensors whose name contains a match of the regular expression go there."""

    pattern: str
    buft: str


class Options(msgspec.Struct, frozen=True):
    """Everything about a run of llama.cpp that changes its graphs or its memory; the defaults are llama.cpp's.

    Attributes:
        devices: in priority order; the CPU is always there and last, naming it changes its limits or memory.
        n_ctx: `-c`, cells of context over all sequences; None for 4096, or the model's own if that is smaller.
        n_batch: `-b`, tokens of a logical batch.
        n_ubatch: `-ub`, tokens of a physical batch.
        n_seq_max: `-np`, parallel sequences.
        flash_attn: `-fa`.
        type_k: `-ctk`, element type of the K cache.
        type_v: `-ctv`, element type of the V cache.
        n_gpu_layers: `-ngl`; None for all layers.
        split_mode: `-sm`.
        main_gpu: `-mg`, the device that gets everything with split mode none.
        tensor_split: `-ts`, proportions per GPU; empty for their free memory.
        overrides: `-ot`, in order; the first match counts.
        n_cpu_moe: `--n-cpu-moe`, experts of the first N layers stay on the CPU; asked after all `overrides`.
        offload_kqv: false with `-nkvo`: the KV cache and attention stay on the CPU.
        op_offload: false with `--no-op-offload`.
        no_host: `--no-host`, no pinned host buffers.
        swa_full: `--swa-full`, window layers keep the whole context.
        kv_unified: `-kvu`, one cache shared by all sequences.
        repack: `--repack`, weights on the CPU may be repacked into its own layouts.
        pooling: `--pooling`, part of the graph while embeddings are asked for, as only a session does.
        n_tokens: tokens of the prefill graph; None for a whole micro-batch.
        n_outputs: tokens whose logits are wanted; None for all, as llama.cpp reserves.
    """

    devices: tuple[DeviceSpec, ...] = ()
    n_ctx: int | None = None
    n_batch: int = 2048
    n_ubatch: int = 512
    n_seq_max: int = 1
    flash_attn: FlashAttn = FlashAttn.AUTO
    type_k: DType = DTYPES["f16"]
    type_v: DType = DTYPES["f16"]
    n_gpu_layers: int | None = None
    split_mode: SplitMode = SplitMode.LAYER
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()
    overrides: tuple[Override, ...] = ()
    n_cpu_moe: int = 0
    offload_kqv: bool = True
    op_offload: bool = True
    no_host: bool = False
    swa_full: bool = False
    kv_unified: bool = False
    repack: bool = False
    pooling: Pooling = Pooling.UNSPECIFIED
    n_tokens: int | None = None
    n_outputs: int | None = None
