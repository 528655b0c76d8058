"""A model and a context in the child process: llama.cpp loads them without weights and builds its reserve graphs."""

from __future__ import annotations

import ctypes as C
from collections.abc import Sequence
from typing import Any

from ..llama.options import FlashAttn, GraphMode, Options, SplitMode
from ..llama.overrides import MAX_LAYERS
from . import layouts as abi
from .asking import Asking
from .devices import Devices
from .log import Log
from .memory import virtual
from .refused import Refused
from .split_hook import SplitHook

FLASH = {FlashAttn.AUTO: -1, FlashAttn.OFF: 0, FlashAttn.ON: 1}
"""enum llama_flash_attn_type."""
SPLIT = {SplitMode.NONE: 0, SplitMode.LAYER: 1}
"""enum llama_split_mode."""
LOAD_MODE_NONE = 0
"""Without weights nothing is mapped; as common/fit.cpp does it."""
MOE_OF_LAYERS = r"blk\.({})\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""llm_ffn_exps_block_regex of common/common.h, of many layers: llama.cpp compiles each pattern for each weight."""
FLASH_OFF = ("Flash Attention not supported", "flash_attn is not compatible", "flash_attn requires")


class Model:
    """One llama_model and its llama_context. They are never freed: the process ends instead."""

    def __init__(
        self,
        library: C.CDLL,
        path: str,
        options: Options,
        devices: Devices,
        accelerators: set[str],
        log: Log,
        *,
        no_alloc: bool = True,
    ) -> None:
        """Load the model.

        Args:
            library: checked and initialised.
            path: of the model.
            options: with `n_ctx` filled in.
            devices: all of them.
            accelerators: names of those that llama.cpp must not be given layers for.
            log: of llama.cpp.
            no_alloc: weights and caches get no addresses; a context can then reserve, but not decode.

        Raises:
            Refused: with llama.cpp's reason.
        """
        self.library, self.options, self.devices, self.log = library, options, devices, log
        self._keep: list[object] = []
        gpus = [p for p, name in zip(devices.pointers, devices.names, strict=True) if name not in accelerators]
        params = library.llama_model_default_params()
        params.devices = self._array(abi.PTR, [*gpus, None])
        params.tensor_buft_overrides = self._overrides()
        params.n_gpu_layers = -1 if options.n_gpu_layers is None else options.n_gpu_layers
        params.split_mode = SPLIT[options.split_mode]
        params.load_mode = LOAD_MODE_NONE
        params.main_gpu = options.main_gpu
        if options.tensor_split:
            params.tensor_split = self._array(C.c_float, (*options.tensor_split, *[0.0] * 16)[:16])
        params.use_extra_bufts, params.no_host, params.no_alloc = options.repack, options.no_host, no_alloc
        self.model = library.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            raise Refused(log.reason("llama.cpp cannot load the model"))

    def start(self) -> None:
        """Make the context, which settles flash attention and reserves once.

        Raises:
            Refused: with llama.cpp's reason.
        """
        library = self.library
        params = context_params(library, self.options)
        self.context = library.llama_init_from_model(self.model, params)
        if not self.context:
            raise Refused(self.log.reason("llama.cpp cannot make a context"))
        self.sched = abi.Sched.from_address(getattr(library, abi.GET_SCHED)(self.context))
        self.sched_address = C.addressof(self.sched)

    def _array(self, kind: Any, values: Sequence[object]) -> int:
        made = (kind * len(values))(*values)
        self._keep.append(made)
        return C.addressof(made)

    def _overrides(self) -> int | None:
        """`-ot` in order, then `--n-cpu-moe`, as common/arg.cpp puts them.

        Raises:
            Refused: a buffer type is no device's default one.
        """
        library, options = self.library, self.options
        cpu = library.ggml_backend_cpu_buffer_type()
        known = {"CPU": cpu}
        for pointer in self.devices.pointers:
            buft = library.ggml_backend_dev_buffer_type(pointer)
            known[library.ggml_backend_buft_name(buft).decode()] = buft
        entries = []
        for override in options.overrides:
            if override.buft not in known:
                raise Refused(f"-ot {override.pattern}={override.buft}: the buffer types are {', '.join(known)}")
            entries.append(abi.BuftOverride(override.pattern.encode(), known[override.buft]))
        if options.n_cpu_moe:
            layers = "|".join(map(str, range(min(options.n_cpu_moe, MAX_LAYERS))))
            entries.append(abi.BuftOverride(MOE_OF_LAYERS.format(layers).encode(), cpu))
        return self._array(abi.BuftOverride, [*entries, abi.BuftOverride()]) if entries else None

    # graphs

    def shape(self, mode: GraphMode) -> tuple[int, int, int]:
        """n_tokens, n_seqs and n_outputs of the graph that sched_reserve would make in this mode.

        Raises:
            Refused: more tokens or outputs are asked for than there are.
        """
        library, options = self.library, self.options
        n_seqs = int(library.llama_n_seq_max(self.context))
        if mode is GraphMode.DECODE:
            return n_seqs, n_seqs, n_seqs
        n_tokens = min(int(library.llama_n_ctx(self.context)), int(library.llama_n_ubatch(self.context)))
        if options.n_tokens is not None:
            if options.n_tokens > n_tokens:
                raise Refused(f"--n-tokens {options.n_tokens}: a micro-batch has at most {n_tokens} tokens here")
            n_tokens = options.n_tokens
        if options.n_outputs is not None and options.n_outputs > n_tokens:
            raise Refused(f"--n-outputs {options.n_outputs}: the graph has {n_tokens} tokens")
        n_outputs = n_tokens if options.n_outputs is None else options.n_outputs  # before the rounding, as there
        return -(-n_tokens // n_seqs) * n_seqs, n_seqs, n_outputs

    def reserve(self, shape: tuple[int, int, int], asking: Asking) -> tuple[abi.Graph, list[tuple[int, int]]]:
        """Build and split the graph of `llama_context::graph_reserve` and plan it; nothing is executed.

        Returns:
            The graph as built, and (address, backend) of each op that llama.cpp pinned.

        Raises:
            Refused: there is no such graph.
        """
        library = self.library
        memory, full = library.llama_get_memory(self.context), abi.PTR(0)
        if memory:
            # the result is a unique_ptr: its place is a hidden first argument
            init_full = C.CFUNCTYPE(abi.PTR, abi.PTR, abi.PTR)(virtual(memory, abi.INIT_FULL_SLOT))
            init_full(C.addressof(full), memory)
        with SplitHook(library, self.sched, asking) as hook:
            graph = getattr(library, abi.GRAPH_RESERVE)(self.context, *shape, full, True, None)
        if full.value:
            C.CFUNCTYPE(None, abi.PTR)(virtual(full.value, abi.DELETE_SLOT))(full.value)
        if not graph:
            raise Refused(self.log.reason("llama.cpp cannot build the graph"))
        if hook.pins is None:
            raise Refused("llama.cpp split the graph without asking a device")
        sched = self.sched
        sizes = (abi.SIZE * sched.n_backends)()
        library.ggml_gallocr_reserve_n_size(
            sched.galloc,
            self.sched_address + abi.Sched.graph.offset,
            sched.node_backend_ids,
            sched.leaf_backend_ids,
            C.addressof(sizes),
        )
        return abi.Graph.from_address(graph), hook.pins


def context_params(library: C.CDLL, options: Options) -> Any:
    """The `llama_context_params` of these options, for one thread."""
    params = library.llama_context_default_params()
    params.n_ctx = options.n_ctx or 0
    params.n_batch, params.n_ubatch, params.n_seq_max = options.n_batch, options.n_ubatch, options.n_seq_max
    if options.n_outputs is not None:
        params.n_outputs_max = max(options.n_outputs, options.n_seq_max)
    params.flash_attn_type = FLASH[options.flash_attn]
    params.type_k, params.type_v = options.type_k.id, options.type_v.id
    params.offload_kqv, params.op_offload = options.offload_kqv, options.op_offload
    params.swa_full, params.kv_unified = options.swa_full, options.kv_unified
    params.n_threads = params.n_threads_batch = 1
    return params
