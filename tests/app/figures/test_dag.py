"""The `dag` part of a scene: every op has one place, equal layers share one drawing, notes say what is special."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from galloscope.app.figures.columns import values
from galloscope.app.figures.dag import FOLD_ABOVE, Dag, build_dag, dag_data
from galloscope.core.files.graph_json import parse_graph, read_graph
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State
from galloscope.tests import strategies

ROOT = Path(__file__).parents[3]
SAMPLES = sorted((ROOT / "sample_graphs").glob("*.graph.json.gz"))


def sample(name: str) -> State:
    return replay(trace(read_graph(ROOT / "sample_graphs" / f"{name}.graph.json.gz")).runs[0])


def layered(n_layers: int, **backend: Any) -> dict[str, Any]:
    """Layers of eight ops around a residual; every layer reads the same mask."""
    tensors: list[dict[str, Any]] = [
        {"name": "x", "ne": [64, 32], "flags": ["input"]},
        {"name": "mask", "ne": [64, 32], "flags": ["input"]},
    ]
    last = "x"
    for i in range(n_layers):
        tensors += [
            {"name": f"w-{i}", "ne": [64, 64], "weight_of": "GPU0"},
            {"name": f"norm-{i}", "op": "RMS_NORM", "src": [last]},
            {"name": f"up-{i}", "op": "MUL_MAT", "src": [f"w-{i}", f"norm-{i}"], "ne": [64, 32]},
            {"name": f"act-{i}", "op": "SOFT_MAX" if i == 3 else "SQR", "src": [f"up-{i}"]},
            {"name": f"view-{i}", "op": "RESHAPE", "src": [f"act-{i}"], "ne": [32, 64]},
            {"name": f"masked-{i}", "op": "ADD", "src": [f"act-{i}", "mask"]},
            {"name": f"l_out-{i}", "op": "ADD", "src": [f"masked-{i}", last]},
        ]
        last = f"l_out-{i}"
    return {
        "backends": [{"name": "GPU0", "align": 128, **backend}, {"name": "CPU"}],
        "tensors": tensors,
        "outputs": [f"{name}-{i}" for i in range(n_layers) for name in ("view", "l_out")],
    }


def state_of(document: dict[str, Any]) -> State:
    return replay(trace(parse_graph(json.dumps(document).encode())).runs[0])


def check(state: State, dag: Dag) -> None:
    """What holds for every graph."""
    assert [i for b in dag.blocks for i in range(b.start, b.end)] == list(range(len(dag.nodes)))
    assert [i for x in dag.layers for i in range(x.start, x.end)] == list(range(len(dag.nodes)))
    place = {t: i for i, t in enumerate(dag.nodes)}
    named = {b.start + node: set(ids) for b in dag.blocks for node, ids in b.tags}
    for block in dag.blocks:
        layer = dag.layers[block.layer]
        assert layer.start <= block.start < block.end <= layer.end
        kind, shape = dag.kinds[block.kind], dag.shapes[block.kind]
        lines = {(source, target) for source, target, _, _ in kind.lines}
        for local in range(block.end - block.start):
            i = block.start + local
            for source in state.tensors[dag.nodes[i]].src:
                if source < 0:
                    continue
                at = place.get(source, -1)
                drawn = (
                    (at - block.start, local) in lines
                    or (source in block.ports and (-1 - block.ports.index(source), local) in lines)
                    or source in named.get(i, set())
                )
                assert drawn or (at < 0 and not worth_a_name(state, source))
        for port in block.ports:  # a value that enters here leaves the block that makes it
            home = next(b for b in dag.blocks if b.start <= place[port] < b.end)
            assert place[port] - home.start in dag.shapes[home.kind].outs
        assert len(shape.outs) == len(kind.out_x)


def worth_a_name(state: State, leaf: int) -> bool:
    tensor = state.tensors[leaf]
    base = state.tensors[tensor.view_src] if tensor.view_src >= 0 else tensor
    return bool(tensor.buft < 0 and base.buft < 0)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name.split(".")[0])
def test_every_value_of_a_real_graph_is_drawn_or_named(path: Path) -> None:
    state = replay(trace(read_graph(path)).runs[0])
    check(state, build_dag(state))


@given(strategies.graphs())
def test_any_graph_has_a_drawing(document: dict[str, Any]) -> None:
    for one in trace(parse_graph(json.dumps(document).encode())).runs:
        state = replay(one)
        check(state, build_dag(state))
        assert json.dumps(dag_data(state)) == json.dumps(dag_data(state))


def test_equal_layers_are_equal_and_share_one_drawing() -> None:
    dag = build_dag(state_of(layered(12)))
    assert [x.title for x in dag.layers] == [f"layer {i}" for i in range(12)]
    inner = [k for k in range(1, 11) if k != 3]
    assert len({dag.same[k] for k in inner}) == 1
    assert len({b.kind for b in dag.blocks if b.layer in inner}) == 1
    assert dag.same[3] not in {dag.same[k] for k in inner}


def test_a_layer_that_differs_says_how() -> None:
    notes = build_dag(state_of(layered(12, ops_except=["SOFT_MAX"]))).notes
    assert notes[3] == "2 on CPU · 2 split boundaries · other ops: SOFT_MAX"
    assert notes[2] == ""
    assert build_dag(state_of(layered(12))).notes[3] == "other ops: SOFT_MAX"


def test_an_input_of_all_layers_is_named_not_drawn() -> None:
    state = state_of(layered(5))
    mask = next(t for t, x in enumerate(state.tensors) if x.name == "mask")
    dag = build_dag(state)
    assert sum(mask in ids for b in dag.blocks for _, ids in b.tags) == 5
    assert all(mask not in b.ports for b in dag.blocks)


def test_a_node_read_by_many_layers_is_named_not_drawn() -> None:
    document = layered(5)
    document["tensors"].insert(2, {"name": "scaled", "op": "SCALE", "src": ["mask"]})
    for tensor in document["tensors"]:
        tensor["src"] = ["scaled" if s == "mask" and tensor["name"] != "scaled" else s for s in tensor.get("src", [])]
    dag = build_dag(state := state_of(document))
    scaled = next(t for t, x in enumerate(state.tensors) if x.name == "scaled")
    assert all(scaled not in b.ports for b in dag.blocks)
    assert sum(scaled in ids for b in dag.blocks for _, ids in b.tags) >= 3


def test_layers_of_gemma_fold_as_a_reader_would_say_it() -> None:
    dag = build_dag(sample("gemma3-270m-g1ngl9-prefill-fa1-reserve"))
    titles = {x.title: k for k, x in enumerate(dag.layers)}
    assert [x.title for x in dag.layers][:2] == ["input", "layer 0"]
    assert dag.layers[-1].title == "output"
    assert len({dag.same[titles[f"layer {i}"]] for i in (1, 2, 3, 4, 6, 7, 8)}) == 1
    assert len({dag.same[titles[f"layer {i}"]] for i in (12, 13, 14, 15, 16)}) == 1
    assert dag.notes[titles["layer 1"]] == "6 on CPU · 15 split boundaries"
    assert len(dag.kinds) < 12


def test_the_data_speaks_in_tensor_ids() -> None:
    state = sample("llama_4l-g2full-prefill-fa1-reserve")
    data = dag_data(state)
    assert values(data["nodes"], "int32") == state.nodes
    assert values(data["copies"], "int32") == [x for c in state.copies for x in (c.tensor, c.src, c.backend, c.copy_no)]
    assert values(data["rewrites"], "int32") == [x for rewrite in state.rewrites for x in rewrite]
    at, src = values(data["src_at"], "int32"), values(data["src"], "int32")
    for t, tensor in enumerate(state.tensors[: state.n_graph]):
        assert src[at[t] : at[t + 1]] == [s for s in tensor.src if s >= 0]
    assert data["folded"] == (len(state.nodes) > FOLD_ABOVE)
    for layer in data["layers"]:
        blocks = data["blocks"][layer["block"] : layer["block"] + layer["blocks"]]
        assert (blocks[0]["start"], blocks[-1]["end"]) == (layer["start"], layer["end"])


def test_a_run_that_aborts_early_has_an_empty_picture() -> None:
    run = trace(parse_graph(json.dumps(layered(2)).encode())).runs[0]
    data = dag_data(replay(run, until=1))
    assert (data["blocks"], data["layers"]) == ([], [])


def test_three_thousand_nodes_take_a_blink() -> None:
    state = sample("llama70b_q4k-g2ngl60-prefill-fa1-reserve-noalloc")
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        build_dag(state)
        best = min(best, time.perf_counter() - start)
    assert best < 0.5  # 0.03 s alone; the bound only catches a lost cache on a busy machine
