"""The real llama.cpp at work: what is seen is what it did, and what goes wrong is one sentence."""

import ctypes as C
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from galloscope.core.errors import InputError
from galloscope.core.gguf.read import parse_header, read_header
from galloscope.core.gguf.write import header_bytes, typed_metadata
from galloscope.core.llama.options import FlashAttn, Options
from galloscope.core.native import decode_layouts, library
from galloscope.core.native.observe import Observation, Watch, observe
from galloscope.core.op import Op
from galloscope.tests.core.native.support import CUDA, model, needs_wheel
from galloscope.tests.core.native.with_weights import PROMPTS, filled, options, with_weights

pytestmark = needs_wheel
OFF = options(FlashAttn.OFF)
VOCABULARY = 256


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_weights("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def watched(llama: Path) -> Observation:
    """A prompt and three greedy tokens, the second step looked at."""
    return observe(llama, OFF, [PROMPTS[0]], n_predict=3, watch=Watch(inputs=True, steps=[1]))


def logits(seen: Observation) -> list[bytes]:
    return [step.logits.tobytes() for step in seen.steps]


def test_steps_are_those_of_a_greedy_decode(watched: Observation) -> None:
    first, second, third = watched.steps
    assert (first.tokens, first.position) == (PROMPTS[0], 0)
    assert (second.tokens, second.position) == ((first.token,), 5)
    assert (third.tokens, third.position) == ((second.token,), 6)
    for step in watched.steps:
        assert step.logits.shape == (VOCABULARY,)
        assert np.isfinite(step.logits).all()
        assert step.logits.std() > 0
        assert step.token == step.logits.argmax()
        assert step.seconds > 0


def test_looking_changes_nothing(llama: Path, watched: Observation) -> None:
    assert logits(observe(llama, OFF, [PROMPTS[0]], n_predict=3)) == logits(watched)


def test_threads_change_nothing(llama: Path, watched: Observation) -> None:
    assert logits(observe(llama, OFF, [PROMPTS[0]], n_predict=3, n_threads=2)) == logits(watched)


def test_given_batches_are_decoded_as_predicted_ones_are(llama: Path, watched: Observation) -> None:
    batches = [step.tokens for step in watched.steps]
    seen = observe(llama, OFF, batches)
    assert logits(seen) == logits(watched)
    assert len(observe(llama, OFF, batches, n_predict=1).steps) == 3
    assert len(observe(llama, OFF, batches, n_predict=2).steps) == 4


def test_inputs_are_what_the_graph_reads(watched: Observation) -> None:
    for step in watched.steps:
        leafs = {leaf.tensor.name: leaf for graph, leaf in step.inputs if graph == 0}
        assert leafs["inp_tokens"].data.view(np.int32).tolist() == list(step.tokens)
        positions = range(step.position, step.position + len(step.tokens))
        assert leafs["inp_pos"].data.view(np.int32).tolist() == list(positions)
        mask = leafs["attn_inp_kq_mask"]
        seen = mask.data.view(np.float32).reshape(mask.tensor.ne[1], mask.tensor.ne[0])[: len(step.tokens)] == 0
        assert seen.sum(axis=1).tolist() == [position + 1 for position in positions]


def test_nodes_are_seen_with_their_sources_before_and_their_result_after(watched: Observation) -> None:
    assert [len(step.nodes) > 0 for step in watched.steps] == [False, True, False]
    nodes = watched.steps[1].nodes
    assert [node.index for node in nodes] == sorted({node.index for node in nodes})
    assert {node.graph for node in nodes} == {0}
    assert not {Op.VIEW, Op.RESHAPE, Op.PERMUTE, Op.NONE} & {node.result.tensor.op for node in nodes}
    for node in nodes:
        result, sources = node.result.tensor, [one for one in node.sources if one is not None]
        assert node.result.data.size == result.nbytes
        assert all(one.data.size == one.tensor.nbytes for one in sources)
        assert [slot for slot in result.src if slot >= 0] == [i for i, one in enumerate(node.sources) if one]
        if result.op is Op.ADD:  # written over a source more often than not
            a, b = (one.data.view(np.float32) for one in sources)
            assert np.array_equal(node.result.data.view(np.float32), a + b)
    last = nodes[-1].result
    assert last.tensor.name == "result_output"
    assert last.data.tobytes() == watched.steps[1].logits.tobytes()


def test_weights_are_those_of_the_file(llama: Path, watched: Observation) -> None:
    data = llama.read_bytes()
    header = read_header(llama)
    infos = {info.name: info for info in header.tensors}
    weights = [
        one for node in watched.steps[1].nodes for one in node.sources if one is not None and one.tensor.is_weight
    ]
    assert {one.tensor.name for one in weights} <= infos.keys()
    assert len(weights) > 10
    for one in weights:
        start = header.data_offset + infos[one.tensor.name].offset
        assert one.data.tobytes() == data[start : start + one.tensor.nbytes]


def test_only_wanted_nodes_are_kept(llama: Path) -> None:
    seen = observe(llama, OFF, [PROMPTS[0]], watch=Watch(steps=[0], ops=[Op.SOFT_MAX, Op.RMS_NORM]))
    assert {node.result.tensor.op for node in seen.steps[0].nodes} == {Op.SOFT_MAX, Op.RMS_NORM}
    seen = observe(llama, OFF, [PROMPTS[0]], watch=Watch(steps=[0], names=["l_out-1"]))
    assert [node.result.tensor.name for node in seen.steps[0].nodes] == ["l_out-1"]
    assert seen.steps[0].inputs == ()


def test_a_batch_of_several_micro_batches_has_several_graphs(llama: Path) -> None:
    tokens = [number % VOCABULARY for number in range(70)]
    seen = observe(llama, OFF, [tokens], watch=Watch(inputs=True, steps=[0], ops=[Op.GET_ROWS]))
    given = [leaf.data.view(np.int32).tolist() for _, leaf in seen.steps[0].inputs if leaf.tensor.name == "inp_tokens"]
    assert given == [tokens[:32], tokens[32:64], tokens[64:]]
    assert sorted({graph for graph, _ in seen.steps[0].inputs}) == [0, 1, 2]
    assert sorted({node.graph for node in seen.steps[0].nodes}) == [0, 1, 2]


def test_options_come_back_settled(llama: Path) -> None:
    seen = observe(llama, Options(n_ctx=100), [[1]])
    assert (seen.options.n_ctx, seen.options.flash_attn) == (256, FlashAttn.ON)


def test_progress_tells_each_step(llama: Path) -> None:
    heard: list[str] = []
    observe(llama, OFF, [[1], [2]], progress=heard.append)
    assert heard == ["llama.cpp loads the model", "llama.cpp decodes step 1 of 2", "llama.cpp decodes step 2 of 2"]


# what goes wrong


@pytest.mark.parametrize(
    ("changes", "batches", "more", "said"),
    [
        ({}, [], {}, "no tokens to decode"),
        ({}, [[1], []], {}, "each batch needs at least one"),
        ({}, [[1, -1]], {}, "token -1 is in no vocabulary"),
        ({}, [[1, 256]], {}, r"^llama\.gguf: token 256 is not in the vocabulary of 256 tokens \(0 to 255\)$"),
        ({"n_batch": 4}, [[1] * 5], {}, "-b 4: a batch has 5 tokens"),
        ({}, [[1] * 250], {"n_predict": 8}, "-c 256: 257 tokens do not fit into the context"),
        ({}, [[1]], {"n_predict": -1}, "-1 tokens cannot be predicted"),
        ({}, [[1]], {"n_threads": 0}, "0 threads: a number from 1 to 512"),
        ({"devices": (CUDA,)}, [[1]], {}, "on the CPU without repacking"),
        ({"repack": True}, [[1]], {}, "on the CPU without repacking"),
        ({"n_ubatch": 0}, [[1]], {}, "-ub 0"),
    ],
)
def test_what_cannot_be_decoded_is_said(
    llama: Path, changes: dict[str, Any], batches: list[list[int]], more: dict[str, int], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        observe(llama, msgspec.structs.replace(OFF, **changes), batches, **more)  # type: ignore[arg-type]


def test_a_model_without_weights_is_refused() -> None:
    with pytest.raises(InputError, match="the file ends with its header"):
        observe(model("llama"), OFF, [[1]])


def test_a_model_that_llama_cpp_refuses_is_told_in_its_words(llama: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(llama.read_bytes().replace(b"output_norm.weight", b"output_worm.weight"))
    with pytest.raises(InputError, match=r"broken\.gguf: llama\.cpp cannot load the model: .*output_norm"):
        observe(broken, OFF, [[1]])


def test_cancel_and_the_time_limit_end_the_child(llama: Path) -> None:
    with pytest.raises(InputError, match=r"^cancelled$"):
        observe(llama, OFF, [[1]], cancelled=lambda: True)
    with pytest.raises(InputError, match=r"did not answer within 0\.001 seconds"):
        observe(llama, OFF, [[1]], time_limit=0.001)


def test_no_wheel_is_said(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise library.WrongBuild("it is not here")

    monkeypatch.setattr("galloscope.core.native.observe.library_path", missing)
    with pytest.raises(InputError, match=r"^the real llama\.cpp cannot be asked: it is not here$"):
        observe(llama, OFF, [[1]])


@pytest.mark.parametrize(("struct", "size"), decode_layouts.SIZES.items())
def test_structs_have_their_sizes(struct: Any, size: int) -> None:
    assert C.sizeof(struct) == size


def test_the_vocabulary_is_left_out(tmp_path: Path, llama: Path, watched: Observation) -> None:
    """Only its size counts: tokens without scores and types, which llama.cpp would refuse to read, are not read."""
    header = read_header(llama)
    metadata = typed_metadata(header)
    del metadata["llama.vocab_size"]
    metadata["tokenizer.ggml.model"] = "llama"
    metadata["tokenizer.ggml.tokens"] = [f"token {number}" for number in range(VOCABULARY)]
    rows = [(tensor.name, tensor.dtype, tensor.ne[: tensor.n_dims]) for tensor in header.tensors]
    path = tmp_path / "spoken.gguf"
    path.write_bytes(filled(parse_header(header_bytes(metadata, rows), "spoken")))
    assert logits(observe(path, OFF, [PROMPTS[0]], n_predict=3)) == logits(watched)
