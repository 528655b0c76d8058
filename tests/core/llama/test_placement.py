"""Where weights go, and the sentence why."""

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Given, header_bytes
from galloscope.core.llama.options import DeviceSpec, Options, Override
from galloscope.core.llama.placement import Placed, Placement, place_weights
from galloscope.core.models.made_up import MadeUp, made_up_header

GPU = (DeviceSpec("cuda"),)
TIED = frozenset({"ffn_gate_exps.weight"})
MOE = MadeUp(arch="qwen3moe", n_layer=4, n_expert=8, n_expert_used=2, extra={"expert_feed_forward_length": 64})


def header(**given: object) -> Header:
    return made_up_header(MadeUp(n_layer=4, **given))  # type: ignore[arg-type]


def one(placement: Placement, name: str, layer: int | None = None) -> Placed:
    return next(p for p in placement.weights if p.tensor.name == name and layer in (None, p.layer))


def test_the_input_layer_stays_on_the_cpu() -> None:
    embedding = one(place_weights(header(), Options(devices=GPU)), "token_embd.weight")
    assert embedding.buft == "CUDA_Host"
    assert embedding.why == "input layer: always on the CPU"


def test_layers_follow_ngl() -> None:
    placement = place_weights(header(), Options(devices=GPU, n_gpu_layers=2))
    assert one(placement, "blk.2.attn_q.weight").buft == "CUDA_Host"
    assert one(placement, "blk.2.attn_q.weight").why == "layer 2 is on CPU: -ngl 2 leaves layers 0 to 2 to it"
    assert one(placement, "blk.3.attn_q.weight").buft == "CUDA0"
    assert one(placement, "output.weight").why == "the output is on CUDA0: -ngl 2 of 5: layers 3 to 3 and the output"


def test_without_pinned_memory() -> None:
    placement = place_weights(header(), Options(devices=GPU, n_gpu_layers=0, no_host=True))
    assert set(placement.by_name().values()) == {"CPU"}


def test_a_type_that_a_device_cannot_multiply_stays_on_the_cpu() -> None:
    placement = place_weights(header(n_embd=256, n_ff=256, dtype=DTYPES["tq1_0"]), Options(devices=GPU))
    placed = one(placement, "blk.0.ffn_up.weight")
    assert placed.buft == "CPU"
    assert placed.why.startswith(
        "layer 0 is on CUDA0: all 4 layers and the output are offloaded; CUDA0 cannot use it in"
    )
    assert placed.why.endswith("so it lies in CPU")
    assert one(placement, "blk.0.attn_norm.weight").buft == "CUDA0"


def test_an_override_moves_what_it_matches() -> None:
    moved = place_weights(made_up_header(MOE), Options(devices=GPU, overrides=(Override(r"\.ffn_.*_exps", "CPU"),)))
    assert one(moved, "blk.1.ffn_up_exps.weight").buft == "CUDA_Host", "the best place on the CPU's side"
    assert one(moved, "blk.1.ffn_up_exps.weight").why == r"-ot \.ffn_.*_exps=CPU"
    assert one(moved, "blk.1.attn_q.weight").buft == "CUDA0"
    assert moved.overridden


def test_the_first_override_counts_and_n_cpu_moe_comes_last() -> None:
    overrides = (Override("blk.0.ffn_up_exps", "CUDA0"), Override("exps", "CPU"))
    placement = place_weights(made_up_header(MOE), Options(devices=GPU, overrides=overrides[:1], n_cpu_moe=2))
    assert one(placement, "blk.0.ffn_up_exps.weight").buft == "CUDA0"
    assert one(placement, "blk.1.ffn_up_exps.weight").buft == "CUDA_Host"
    assert one(placement, "blk.2.ffn_up_exps.weight").buft == "CUDA0"
    both = place_weights(made_up_header(MOE), Options(devices=GPU, overrides=overrides))
    assert one(both, "blk.0.ffn_up_exps.weight").why == "-ot blk.0.ffn_up_exps=CUDA0"


def test_an_override_to_a_device_is_not_asked_about() -> None:
    tq1 = header(n_embd=256, n_ff=256, dtype=DTYPES["tq1_0"])
    placement = place_weights(tq1, Options(devices=GPU, overrides=(Override("ffn_up", "CUDA0"),)))
    assert one(placement, "blk.0.ffn_up.weight").buft == "CUDA0", "llama.cpp obeys, and the scheduler aborts later"


def test_an_override_to_what_is_not_there() -> None:
    with pytest.raises(InputError, match=r"unknown buffer type \(did you mean 'CUDA0'\?\); available: CUDA0, CPU"):
        place_weights(header(), Options(devices=GPU, overrides=(Override("x", "CUDA1"),)))


def test_tied_embeddings_lie_on_both_sides() -> None:
    placement = place_weights(header(optional=TIED), Options(devices=GPU))
    assert one(placement, "token_embd.weight", -1).buft == "CUDA_Host"
    assert one(placement, "token_embd.weight", 4).buft == "CUDA0"
    assert placement.by_name()["token_embd.weight"] == "CUDA0"
    assert placement.by_name()["token_embd.weight~2"] == "CUDA_Host"
    alone = place_weights(header(optional=TIED), Options())
    assert one(alone, "token_embd.weight", 4).size == 0
    assert one(alone, "token_embd.weight", 4).why.endswith("it lies there already")
    assert "token_embd.weight~2" not in alone.by_name()


def test_rope_factors_are_kept_once_per_place() -> None:
    rope = header(optional=frozenset({"output.weight", "rope_freqs.weight"}))
    placement = place_weights(rope, Options(devices=(DeviceSpec("cuda"), DeviceSpec("cuda")), n_gpu_layers=4))
    found = [(p.buft, p.size > 0) for p in placement.weights if p.tensor.name == "rope_freqs.weight"]
    assert found == [("CUDA_Host", True), ("CUDA0", True), ("CUDA0", False), ("CUDA1", True)]


def test_bytes_are_rounded_and_quantised_rows_padded() -> None:
    q8 = header(dtype=DTYPES["q8_0"])
    cuda = place_weights(q8, Options(devices=GPU))
    matrix = one(cuda, "blk.0.ffn_up.weight")
    assert matrix.size == matrix.tensor.nbytes + (512 - 64) // 32 * 34
    total = sum(-(-p.size // 128) * 128 for p in cuda.weights if p.buft == "CUDA0")
    assert cuda.bytes_by_place()["CUDA0"] == total
    cpu = place_weights(q8, Options()).bytes_by_place()
    assert cpu == {"CPU": sum(-(-t.nbytes // 32) * 32 for t in q8.tensors)}


def test_any_architecture_can_be_placed() -> None:
    rows = [("token_embd.weight", (64, 100)), ("blk.0.ssm_a", (16, 128)), ("blk.0.ssm_in.weight", (64, 256))]
    metadata: dict[str, Given] = {
        "general.architecture": "mamba",
        "mamba.block_count": 1,
        "mamba.ssm.state_size": 16,
        "mamba.ssm.inner_size": 128,
        "mamba.embedding_length": 64,
    }
    data = header_bytes(metadata, [(name, DTYPES["f32"], ne) for name, ne in rows])
    placement = place_weights(parse_header(data, "mamba"), Options(devices=GPU))
    assert one(placement, "blk.0.ssm_in.weight").buft == "CUDA0"
    assert one(placement, "blk.0.ssm_a").place is not None
