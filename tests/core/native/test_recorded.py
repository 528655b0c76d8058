"""The converter against graphs that were captured and converted independently, with weights and an earlier recorder."""

import re
from pathlib import Path
from typing import Any

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.files.graph_json import read_graph
from galloscope.core.graph import Problem
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options
from galloscope.tests.core.native.support import BOTH, CUDA, needs_wheel, taken

pytestmark = needs_wheel

RECORDED = Path(__file__).resolve().parents[2] / "golden" / "llama"
LONGEST = 40
"""Names were cut to so many characters there."""
RICH = ("llama_4l", "llama", "gemma3", "mamba", "qwen3next", "qwen3moe", "qwen3")
LEFT_OUT = ("mmap", "nosoftmax", "nohost", "270m", "g2chunk")
"""Configurations that no option asks for, whose devices are not those of a profile, or whose model is not here."""


def recorded() -> list[str]:
    """The graphs of some models, without the end of the file's name; one of the two kinds of attention."""
    stems = [path.name.removesuffix(".graph.json.gz") for path in sorted(RECORDED.glob("*-reserve.graph.json.gz"))]
    here = [s for s in stems if s.split("-")[0] in RICH and not any(word in s for word in LEFT_OUT)]
    return [s for s in here if "-fa1-" in s or s.replace("-fa0-", "-fa1-") not in here]


def options_of(stem: str, about: str) -> Options:
    """The options that the recorder was given, from its description."""

    def number(pattern: str, otherwise: int) -> int:
        found = re.search(pattern, about)
        return int(found[1]) if found else otherwise

    gpu = DeviceSpec("cuda", None, {"max_size": 40960}) if "chunk" in stem else CUDA
    gpus = number(r"(\d) GPU", 0)
    sequences = number(r"of (\d+) sequence", 1)
    kind = DTYPES["q8_0" if "kvq8" in stem else "f16"]
    return Options(
        devices=(gpu,) * gpus,
        n_ctx=number(r"n_ctx (\d+)", 256),
        n_ubatch=32,
        n_seq_max=sequences,
        flash_attn=FlashAttn.ON if "flash attention on" in about else FlashAttn.OFF,
        n_gpu_layers=number(r"n_gpu_layers (\d+)", 0),
        offload_kqv="KV cache on the CPU" not in about,
        op_offload="no op offload" not in about,
        kv_unified="uni" in stem,
        repack="repack" in stem,
        n_outputs=1 if "out1" in stem else None,
        type_k=kind,
        type_v=kind,
    )


def cut(name: str) -> str:
    """A name as the recorder cut it."""
    base, _, number = name.partition("~")
    room = LONGEST - (len(number) + 1 if number else 0)
    return (base if len(base) <= room else base[: room - 2] + "..") + (f"~{number}" if number else "")


def as_given(problem: Problem) -> dict[str, Any]:
    """Everything that llama.cpp gave to ggml, by name."""
    graph = problem.requests[0].graph
    names = [cut(tensor.name) for tensor in graph.tensors]
    tensors = [
        (
            names[i], t.op, t.dtype.name, t.ne, t.nb, [names[s] if s >= 0 else None for s in t.src],
            names[t.view_src] if t.view_src >= 0 else None, t.view_offs, t.flags, t.op_params, t.is_weight,
            problem.bufts[t.buft].name.replace("GPU", "CUDA") if t.buft >= 0 else None,
        )
        for i, t in enumerate(graph.tensors)
    ]  # fmt: skip
    pins = [(names[i], t.pin) for i, t in enumerate(graph.tensors) if t.pin >= 0] if len(problem.backends) > 1 else []
    roots = [(names[root.tensor], root.compute) for root in graph.roots]
    places = [(b.name, problem.bufts[b.buft].name) for b in problem.backends]
    backends = [(name.replace("GPU", "CUDA"), buft.replace("GPU", "CUDA")) for name, buft in places]
    return {"tensors": tensors, "pins": pins, "roots": roots, "backends": backends}


@pytest.mark.parametrize("stem", recorded())
def test_the_graph_is_the_recorded_one(stem: str) -> None:
    before = read_graph(RECORDED / f"{stem}.graph.json.gz")
    options = options_of(stem, before.about)
    now = taken(stem.split("-")[0], options, BOTH)
    at = BOTH.index(GraphMode.DECODE if "-decode-" in stem else GraphMode.PREFILL)
    ours, theirs = as_given(now.graphs[at].problem), as_given(before)
    for key, value in theirs.items():
        assert ours[key] == value, key
