"""The recorded sessions as the builders see them: the shape of each micro-batch that was built, and its graph."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from galloscope.core.gguf.read import read_header
from galloscope.core.llama.assemble import GraphMaker, graph_maker
from galloscope.core.llama.options import DeviceSpec, FlashAttn, Options, Pooling
from galloscope.core.models.shape import GraphShape
from galloscope.tests.corpora import GOLDEN

FOLDER = GOLDEN / "sessions"
NAMES = sorted(path.name.split(".")[0] for path in FOLDER.glob("*.expect.json.gz"))
SCHEDULERS = 2
"""GGML_TENSOR_FLAG_OUTPUT, which a scheduler with copies gives to the inputs, too."""

Rows = list[list[Any]]


class BuiltOnce(NamedTuple):
    """A micro-batch whose graph was built, with llama.cpp's nodes, leafs and input classes."""

    shape: GraphShape
    nodes: Rows
    leafs: Rows
    classes: tuple[str, ...]


@cache
def script_of(name: str) -> dict[str, Any]:
    script: dict[str, Any] = json.loads((FOLDER / f"{name}.session.json").read_bytes())
    return script


@cache
def expected_of(name: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.expect.json.gz").read_bytes()))
    return expected


def maker_of(name: str) -> GraphMaker:
    """With plain GPUs: where a weight is loaded twice depends on there being any."""
    script = script_of(name)
    given = {"n_ctx": 512, "n_ubatch": 32, "swa_full": True, "flash_attn": "off", **script["context"]}
    options = Options(
        devices=(DeviceSpec("cuda"),) * len(script.get("devices", ())),
        n_gpu_layers=script.get("model_params", {}).get("n_gpu_layers"),
        n_ctx=given["n_ctx"],
        n_batch=given.get("n_batch", given["n_ubatch"]),
        n_ubatch=given["n_ubatch"],
        n_seq_max=given.get("n_seq_max", 1),
        kv_unified=given.get("kv_unified", False),
        flash_attn=FlashAttn(given["flash_attn"]),
        swa_full=given["swa_full"],
        pooling=Pooling(given.get("pooling_type", -1)),
    )
    return graph_maker(read_header(GOLDEN / "models" / script["model"]), options)


def built_once(name: str) -> Iterator[BuiltOnce]:
    """Every micro-batch of a session that was not run with the graph of the one before."""
    script, expected = script_of(name), expected_of(name)
    state: dict[str, Any] = {"embeddings": script["context"].get("embeddings", False), "causal": True, "warmup": False}
    keys = {"set_embeddings": "embeddings", "set_causal_attn": "causal", "set_warmup": "warmup"}
    samplers: set[int] = set()
    steps = [step for step in script["steps"] for _ in range(step.get("repeat", 1))]
    for step, seen in zip(steps, expected["steps"], strict=True):
        state.update((keys[key], value) for key, value in step.items() if key in keys)
        if "set_sampler" in step:
            samplers ^= {step["set_sampler"]}
        for one in seen.get("ubatches", ()):
            if not one["reused"]:
                shape = _shape(name, one, state, samplers)
                nodes, leafs = _without_scheduler(expected["graphs"][one["graph"]])
                yield BuiltOnce(shape, nodes, leafs, tuple(one["input_classes"]))


def _shape(name: str, one: dict[str, Any], state: dict[str, Any], samplers: set[int]) -> GraphShape:
    batch, memory = one["ubatch"], one["mem"]
    rows = [ids[0] for ids, wanted in zip(batch["seq"], batch["out"], strict=True) if wanted]
    masks = [entry[2:] for entry in one["inputs"] if entry[0] == "attn_inp_kq_mask"]
    # In the order of layers: the first layer of the one window model here has a window.
    cells = [mask[0] for mask in masks][::-1] if len(masks) > 1 else [*(mask[0] for mask in masks), 0]
    streams = masks[0][3] if masks else 1
    return GraphShape(
        n_tokens=batch["n_tokens"],
        n_seqs=batch["n_seqs"],
        n_seq_tokens=batch["n_seq_tokens"],
        n_seqs_unq=batch["n_seqs_unq"],
        equal_seqs=bool(batch["equal_seqs"]),
        n_outputs=len(rows),
        token=batch["token"],
        embd=batch["embd"],
        n_kv=cells[0],
        n_kv_swa=cells[1] if masks else 0,
        first_stream=batch["seq_id_unq"][0] if masks and not script_of(name)["context"].get("kv_unified") else 0,
        n_stream=streams,
        n_rs=memory.get("n_rs", [0])[0],
        rs_head=memory.get("head", [0])[0],
        rs_z=memory.get("rs_z", [-1])[0],
        samplers=tuple((seq, rows.index(seq) if seq in rows else -1) for seq in sorted(samplers)),
        **state,
    )


def _without_scheduler(graph: dict[str, Rows]) -> tuple[Rows, Rows]:
    """A split graph without what the scheduler added: copies and nodes that only order them, leafs in front."""
    nodes = [row for row in graph["nodes"] if row[0] != "NONE"]
    leafs = [[*row[:4], row[4] & ~SCHEDULERS] for row in graph["leafs"] if "#" not in row[1]]
    first = next(place for place, row in enumerate(leafs) if row[4] == 0)
    read = {row[1] for row in leafs[first:]}
    copied = [row for row in leafs[:first] if row[1] in read]
    return nodes, leafs[len(copied) :]
