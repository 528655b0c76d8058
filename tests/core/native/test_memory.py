"""Bytes per buffer type: by arithmetic, and against a load of the same model with real memory."""

import re
import subprocess
import sys

import msgspec
import pytest

from galloscope.core.gguf.read import read_header
from galloscope.core.llama.options import FlashAttn
from galloscope.core.llama.taken import BuftMemory, Taken
from galloscope.tests.core.native.support import CUDA, model, needs_wheel, small, taken

pytestmark = needs_wheel


def padded(size: int, align: int) -> int:
    return -(-size // align) * align


def row(found: Taken, buft: str) -> BuftMemory:
    return next(one for one in found.memory if one.buft == buft)


def test_a_cpu_alone() -> None:
    found = taken("llama", small())
    weights = sum(padded(tensor.nbytes, 32) for tensor in read_header(model("llama")).tensors)
    cache = 2 * 2 * 32 * 256 * 2  # layers, K and V, values per token, cells, f16
    assert found.memory == (BuftMemory("CPU", "CPU", True, weights, cache, 0, 4 * 256),)


def test_every_weight_is_counted_once_where_it_lies() -> None:
    found = taken("llama", small(devices=(CUDA,), n_gpu_layers=1))
    sizes = {tensor.name: tensor.nbytes for tensor in read_header(model("llama")).tensors}
    assert set(found.weights) == set(sizes)
    for buft, align in (("CUDA0", 128), ("CUDA_Host", 32)):
        total = sum(padded(sizes[name], align) for name, place in found.weights.items() if place == buft)
        assert row(found, buft).weights == total
    assert (row(found, "CUDA_Host").device, row(found, "CUDA_Host").host) == ("CPU", True)
    assert row(found, "CUDA_Host").output == 4 * 256


def test_quantised_rows_are_padded_on_cuda() -> None:
    plain, cuda = taken("llama_q8", small()), taken("llama_q8", small(devices=(CUDA,)))
    assert row(cuda, "CUDA0").weights > row(plain, "CPU").weights - row(cuda, "CUDA_Host").weights


def test_recurrent_states_are_no_cache() -> None:
    found = row(taken("mamba", small(n_seq_max=2)), "CPU")
    convolution, state = 3 * 128, 16 * 128  # of d_inner 128, conv kernel 4, d_state 16
    assert (found.kv, found.recurrent) == (0, 2 * 2 * 4 * (convolution + state))


def test_a_hybrid_model_has_both() -> None:
    found = row(taken("qwen3next", small()), "CPU")
    assert (found.kv, found.recurrent) == (2 * 64 * 256 * 2, 4 * (3 * 128 + 4 * 16 * 16))


def test_outputs_are_logits_per_sequence() -> None:
    assert row(taken("llama", small(n_seq_max=3)), "CPU").output == 3 * 4 * 256


REAL = """
import ctypes as C, json, sys
from galloscope.core.gguf.read import read_header
from galloscope.core.native import layouts as abi, library, memory
from galloscope.core.native.slim import model_in_memory

lib = library.load(library.find())
lines = []
callback = abi.LOG_CALLBACK(lambda level, text, _: lines.append(text.decode()))
lib.llama_log_set(callback, None)
with model_in_memory(read_header(sys.argv[1])) as file:
    params = lib.llama_model_default_params()
    params.n_gpu_layers, params.load_mode, params.use_extra_bufts = 0, 0, False
    model = lib.llama_model_load_from_file(b"/proc/self/fd/%d" % file, params)
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch, params.flash_attn_type = 256, 256, 32, 1
    context = lib.llama_init_from_model(model, params)
total = memory.read_map(lib, abi.MEMORY_BREAKDOWN, context, 3)
print(json.dumps(list(total.values())), "".join(lines))
"""


@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen3next", "mamba", "qwen3moe"])
def test_llama_cpp_allocates_what_was_foretold(name: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", REAL, str(model(name))], capture_output=True, text=True, check=True, timeout=300
    )
    first, _, log = child.stdout.partition("]]")
    ((weights, context, compute),) = msgspec.json.decode(first + "]]")
    found = taken(name, small(flash_attn=FlashAttn.ON, n_gpu_layers=0))
    (memory,) = found.memory
    assert (memory.weights, memory.kv + memory.recurrent) == (weights, context)
    decided = found.graphs[0].decided
    assert decided is not None
    assert sum(decided.chunks[0]) == compute
    assert f"output buffer size = {memory.output / (1 << 20):8.2f} MiB" in log
    assert re.search(r"model buffer size = +[\d.]+ MiB", log)
