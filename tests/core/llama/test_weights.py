"""Which weights a model loads: layer and op by name."""

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Given, header_bytes
from galloscope.core.llama.weights import INPUT, loads
from galloscope.core.op import Op


def header(arch: str, *tensors: tuple[str, tuple[int, ...]], **keys: int) -> Header:
    metadata: dict[str, Given] = {"general.architecture": arch, f"{arch}.block_count": 4}
    metadata.update({f"{arch}.{key}": value for key, value in keys.items()})
    return parse_header(header_bytes(metadata, [(name, DTYPES["f32"], ne) for name, ne in tensors]), "test")


@pytest.mark.parametrize(
    ("name", "ne", "layer", "op"),
    [
        ("token_embd.weight", (64, 100), INPUT, Op.GET_ROWS),
        ("output_norm.weight", (64,), 4, Op.MUL),
        ("output.weight", (64, 100), 4, Op.MUL_MAT),
        ("output.bias", (100,), 4, Op.ADD),
        ("blk.2.attn_norm.weight", (64,), 2, Op.MUL),
        ("blk.2.attn_q.weight", (64, 64), 2, Op.MUL_MAT),
        ("blk.2.attn_q.bias", (64,), 2, Op.ADD),
        ("blk.3.ffn_up_exps.weight", (64, 32, 8), 3, Op.MUL_MAT_ID),
        ("blk.3.ffn_up_exps.bias", (32, 8), 3, Op.ADD_ID),
        ("blk.3.ffn_gate_inp.weight", (64, 8), 3, Op.MUL_MAT),
        ("blk.3.exp_probs_b.bias", (8,), 3, Op.ADD),
        ("blk.0.attn_sinks.weight", (4,), 0, Op.SCALE),
        ("blk.0.ssm_conv1d.weight", (4, 64), 0, Op.SSM_CONV),
        ("blk.0.ssm_a", (16, 64), 0, Op.SSM_SCAN),
        ("blk.0.ssm_a", (4,), 0, Op.MUL),
        ("blk.0.ssm_d", (64,), 0, Op.MUL),
        ("token_embd_norm.weight", (64,), 0, Op.MUL),
        ("per_layer_token_embd.weight", (64, 100), INPUT, Op.GET_ROWS),
        ("enc.blk.1.attn_q.weight", (64, 64), 1, Op.MUL_MAT),
        ("dec.blk.1.cross_attn_rel_b.weight", (64, 64), 1, Op.NONE),
    ],
)
def test_layer_and_op(name: str, ne: tuple[int, ...], layer: int, op: Op) -> None:
    (load,) = [one for one in loads(header("llama", (name, ne))) if not one.copy]
    assert (load.layer, load.op) == (layer, op)


def test_a_misnamed_output_norm_belongs_to_the_output() -> None:
    (load,) = loads(header("lfm2", ("token_embd_norm.weight", (64,))))
    assert load.layer == 4


def test_tied_embeddings_are_loaded_again_for_the_output() -> None:
    first, again = loads(header("llama", ("token_embd.weight", (64, 100))))
    assert (first.layer, first.op, first.copy) == (INPUT, Op.GET_ROWS, False)
    assert (again.layer, again.op, again.copy) == (4, Op.MUL_MAT, True)
    both = header("llama", ("token_embd.weight", (64, 100)), ("output.weight", (64, 100)))
    assert [one.copy for one in loads(both)] == [False, False]
    assert len(list(loads(header("bert", ("token_embd.weight", (64, 100)))))) == 1


def test_rope_factors_are_loaded_for_every_layer_of_the_trunk() -> None:
    found = list(loads(header("llama", ("rope_freqs.weight", (8,)), nextn_predict_layers=1)))
    assert [(one.layer, one.copy) for one in found] == [(0, False), (1, True), (2, True)]


def test_blocks_for_multi_token_prediction_are_left_out() -> None:
    found = loads(header("qwen3", ("blk.3.attn_q.weight", (64, 64)), nextn_predict_layers=1))
    assert [one.op for one in found] == [Op.NONE]


def test_a_block_that_the_model_does_not_have() -> None:
    with pytest.raises(InputError, match=r"block 7, but llama\.block_count says 4"):
        list(loads(header("llama", ("blk.7.attn_q.weight", (64, 64)))))


@pytest.mark.parametrize("count", [0, 513])
def test_impossible_numbers_of_layers(count: int) -> None:
    with pytest.raises(InputError, match="block_count"):
        list(loads(header("llama", block_count=count)))
