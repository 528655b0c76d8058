"""Every option reaches llama.cpp, and comes back as llama.cpp settled it."""

from typing import Any

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.llama.options import DeviceSpec, FlashAttn, Options, Override, SplitMode
from galloscope.core.llama.taken import Taken
from galloscope.core.native.capture import capture
from galloscope.core.native.verify import differences
from galloscope.core.op import Op
from galloscope.core.session import trace
from galloscope.core.tensor import Tensor
from galloscope.tests.core.native.support import BOTH, CUDA, model, needs_wheel, small, taken

pytestmark = needs_wheel


def take(name: str = "llama_4l", **changed: Any) -> Taken:
    """A capture on which the engine agrees."""
    found = taken(name, small(**changed))
    for graph in found.graphs:
        assert graph.decided is not None
        assert differences(trace(graph.problem), graph.decided) == []
    return found


def tensor(found: Taken, name: str, graph: int = 0) -> Tensor:
    return next(one for one in found.graphs[graph].problem.requests[0].graph.tensors if one.name == name)


def placed(found: Taken, name: str) -> str:
    """Buffer type of a weight or cache in the prefill graph."""
    return found.graphs[0].problem.bufts[tensor(found, name).buft].name


def backend(found: Taken, node: str, graph: int = 0) -> str:
    decided, problem = found.graphs[graph].decided, found.graphs[graph].problem
    assert decided is not None
    return problem.backends[decided.backends[decided.nodes.index(node)]].name


def test_defaults_are_filled_in() -> None:
    found = taken("llama", Options())
    assert (found.options.n_ctx, found.options.n_batch, found.options.n_ubatch) == (4096, 2048, 512)
    assert (found.options.n_tokens, found.options.n_outputs, found.options.n_gpu_layers) == (512, 512, 0)
    assert found.options.flash_attn is FlashAttn.ON
    assert found.source == "llama.cpp b11549"


def test_a_model_with_a_short_context_is_not_stretched() -> None:
    assert taken("bert", Options()).options.n_ctx == 512


def test_context_and_batches() -> None:
    found = take(n_ctx=300, n_batch=64, n_ubatch=48)
    assert (found.options.n_ctx, found.options.n_batch, found.options.n_ubatch) == (512, 64, 48)
    assert tensor(found, "inp_tokens").ne[0] == 48
    assert tensor(found, "cache_k_l0").ne[1] == 512


def test_sequences_have_streams_of_their_own_or_share_one() -> None:
    apart, shared = take(n_seq_max=4), take(n_seq_max=4, kv_unified=True)
    assert tensor(apart, "cache_k_l0").ne[:3] == (32, 256, 4)
    assert tensor(shared, "cache_k_l0").ne[:3] == (32, 256, 1)
    assert tensor(apart, "inp_tokens", graph=1).ne[0] == 4


def test_tokens_are_rounded_up_to_whole_sequences() -> None:
    found = take(n_seq_max=3, n_tokens=7)
    assert found.options.n_tokens == 9
    assert tensor(found, "inp_tokens").ne[0] == 9


def test_outputs() -> None:
    found = take(n_outputs=1)
    assert tensor(found, "result_output").ne[1] == 1
    assert found.options.n_outputs == 1


@pytest.mark.parametrize(("flash", "n_flash"), [(FlashAttn.ON, 4), (FlashAttn.OFF, 0)])
def test_flash_attention_as_asked(flash: FlashAttn, n_flash: int) -> None:
    found = take(flash_attn=flash)
    ops = [one.op for one in found.graphs[0].problem.requests[0].graph.tensors]
    assert ops.count(Op.FLASH_ATTN_EXT) == n_flash
    assert found.options.flash_attn is flash


def test_automatic_flash_attention_looks_at_the_device() -> None:
    found = take(devices=(CUDA,))  # its kernels have no head of 16
    assert found.options.flash_attn is FlashAttn.OFF
    assert any("Flash Attention is assigned to device CPU" in note for note in found.notes)
    assert take().options.flash_attn is FlashAttn.ON


def test_cache_types() -> None:
    found = take("qwen3", type_k=DTYPES["q8_0"], type_v=DTYPES["q4_0"], flash_attn=FlashAttn.ON)
    assert (tensor(found, "cache_k_l0").dtype.name, tensor(found, "cache_v_l0").dtype.name) == ("q8_0", "q4_0")


def test_a_window_is_kept_whole_when_asked() -> None:
    assert tensor(take("gemma3", n_ctx=1024), "cache_k_l0").ne[1] < 1024
    assert tensor(take("gemma3", n_ctx=1024, swa_full=True), "cache_k_l0").ne[1] == 1024


def test_layers_on_the_gpu() -> None:
    found = take(devices=(CUDA,), n_gpu_layers=2)
    assert found.options.n_gpu_layers == 2
    assert [placed(found, f"blk.{i}.attn_q.weight") for i in range(4)] == ["CUDA_Host"] * 3 + ["CUDA0"]
    assert take(devices=(CUDA,)).options.n_gpu_layers == 5


def test_layers_are_spread_by_proportion_and_by_memory() -> None:
    weights = take(devices=(CUDA, CUDA), tensor_split=(4.0, 1.0)).weights
    assert [weights[f"blk.{i}.attn_q.weight"] for i in range(4)] == ["CUDA0"] * 4
    small_first = (DeviceSpec("cuda", 4 << 30), DeviceSpec("cuda", 16 << 30))
    weights = take(devices=small_first).weights
    assert [weights[f"blk.{i}.attn_q.weight"] for i in range(4)] == ["CUDA0"] + ["CUDA1"] * 3


def test_one_main_gpu() -> None:
    found = take(devices=(CUDA, CUDA), split_mode=SplitMode.NONE, main_gpu=1)
    assert [one.name for one in found.graphs[0].problem.backends] == ["CUDA1", "CPU"]


def test_patterns_move_weights() -> None:
    found = take(devices=(CUDA,), overrides=(Override(r"blk\.[01]\.ffn_up", "CPU"), Override("ffn_up", "CUDA0")))
    assert [placed(found, f"blk.{i}.ffn_up.weight") for i in range(4)] == ["CUDA_Host"] * 2 + ["CUDA0"] * 2


def test_experts_stay_on_the_cpu() -> None:
    found = take("qwen3moe", devices=(CUDA,), n_cpu_moe=1)
    assert [placed(found, f"blk.{i}.ffn_up_exps.weight") for i in range(2)] == ["CUDA_Host", "CUDA0"]


def test_the_cache_stays_on_the_cpu() -> None:
    assert placed(take(devices=(CUDA,)), "cache_k_l0") == "CUDA0"
    assert placed(take(devices=(CUDA,), offload_kqv=False), "cache_k_l0") == "CPU"


def test_ops_of_host_weights_move_only_when_allowed() -> None:
    large: dict[str, Any] = {"devices": (CUDA,), "n_gpu_layers": 1, "n_ubatch": 64}
    assert backend(take(**large), "Qcur-0") == "CUDA0"
    assert backend(take(**large, op_offload=False), "Qcur-0") == "CPU"


def test_host_buffers() -> None:
    assert placed(take(devices=(CUDA,), n_gpu_layers=1), "blk.0.attn_q.weight") == "CUDA_Host"
    assert placed(take(devices=(CUDA,), n_gpu_layers=1, no_host=True), "blk.0.attn_q.weight") == "CPU"


def test_mapped_weights_are_mentioned_where_pinned_ones_are_shown() -> None:
    pinned = take(devices=(CUDA,), n_gpu_layers=1)
    assert any("CUDA_Host, as with --load-mode none" in note for note in pinned.notes)
    assert not any("load-mode" in note for note in take(devices=(CUDA,), n_gpu_layers=1, no_host=True).notes)


def test_repacked_weights_are_in_a_buffer_of_their_own() -> None:
    plain, repacked = take("llama_q4_tied"), take("llama_q4_tied", repack=True)
    assert set(plain.weights.values()) == {"CPU"}
    assert "CPU_REPACK" in repacked.weights.values()


def test_limits_of_a_device_are_llama_cpps_limits() -> None:
    found = take(devices=(DeviceSpec("cuda", None, {"max_size": 40960}), DeviceSpec("cpu", None, {"align": 128})))
    decided = found.graphs[0].decided
    assert decided is not None
    assert len(decided.chunks[0]) > 1
    assert [
        buft.align for buft in take(devices=(DeviceSpec("cpu", None, {"align": 128}),)).graphs[0].problem.bufts
    ] == [128]


def test_tied_embeddings_lie_in_two_places() -> None:
    weights = take("llama_q4_tied", devices=(CUDA,)).weights
    assert (weights["token_embd.weight"], weights["token_embd.weight~2"]) == ("CUDA0", "CUDA_Host")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"n_seq_max": 257}, "-np 257: a number from 1 to 256"),
        ({"n_batch": 0}, "-b 0: a number from 1"),
        ({"devices": (CUDA,) * 16}, "16 devices: ggml allows 15"),
        ({"devices": (DeviceSpec("cpu"),) * 2}, "there is one CPU"),
        ({"devices": (DeviceSpec("cida"),)}, "did you mean 'cuda'"),
        ({"tensor_split": (1.0, 1.0)}, "-ts has 2 proportions, there are 0 GPUs"),
        ({"n_tokens": 33}, "a micro-batch has at most 32 tokens"),
        ({"n_outputs": 33}, "the graph has 32 tokens"),
        ({"overrides": (Override("ffn", "CUDA7"),)}, "-ot ffn=CUDA7: the buffer types are CPU"),
        ({"overrides": (Override("ffn(", "CPU"),)}, "Parenthesis is not closed"),
        ({"devices": (CUDA,), "split_mode": SplitMode.NONE, "main_gpu": 3}, "invalid value for main_gpu: 3"),
        ({"type_v": DTYPES["q8_0"], "flash_attn": FlashAttn.OFF}, "quantized V cache requires flash_attn"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_a_sentence(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        capture(model("llama"), small(**changed), BOTH)
    assert said in str(error.value)
    assert "/proc/self/fd" not in str(error.value)
