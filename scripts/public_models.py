"""Write docs/public-models.md: predicted buffers and splits of well-known models beside the arithmetic of public logs.

The headers are made up from the models' published configurations; no weights exist. Run it at the root of the checkout
with the extra `native` installed: two architectures have no builder.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from galloscope.core.devices.spec import parse_device
from galloscope.core.dtypes import DTYPES
from galloscope.core.gguf.facts import facts
from galloscope.core.gguf.read import parse_header
from galloscope.core.gguf.write import Given, Row, header_bytes
from galloscope.core.llama.brief import Brief, brief
from galloscope.core.llama.expectation import Build, Sizes, cpu_compute, device_compute, host_compute, split_count
from galloscope.core.llama.open import Origin, open_model
from galloscope.core.llama.options import GraphMode, Options
from galloscope.core.models.made_up import MadeUp, made_up, made_up_metadata

OUT = Path(__file__).resolve().parent.parent / "docs" / "public-models.md"
N_CTX, N_UBATCH = 4096, 512
MIB = 1 << 20
GPU = "cuda:192GiB"
TIED = frozenset({"ffn_gate_exps.weight"})
Q4, Q8, MXFP4, F32 = (DTYPES[name] for name in ("q4_K", "q8_0", "mxfp4", "f32"))


def _llama(layers: int, embd: int, ff: int, heads: int, kv: int, vocab: int, **more: Any) -> bytes:
    sizes = {"n_layer": layers, "n_embd": embd, "n_ff": ff, "n_head": heads, "n_head_kv": kv, "n_vocab": vocab}
    return made_up(MadeUp(**{"arch": "llama", "dtype": Q4, "n_ctx_train": 131072, **sizes, **more}))


def _experts(count: int, used: int, size: int | None = None) -> dict[str, Any]:
    extra = {} if size is None else {"expert_feed_forward_length": size}
    return {"n_expert": count, "n_expert_used": used, "extra": extra}


def _gpt_oss() -> bytes:
    layers, embd, ff, experts, heads, kv, head, vocab = 24, 2880, 2880, 32, 64, 8, 64, 201088
    extra: dict[str, Given] = {
        "attention.sliding_window": 128,
        "expert_feed_forward_length": ff,
        "rope.freq_base": 150000.0,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 32.0,
        "rope.scaling.original_context_length": 4096,
    }
    model = MadeUp(
        arch="gpt-oss", n_layer=layers, n_embd=embd, n_ff=ff, n_head=heads, n_head_kv=kv, head_size=head,
        n_vocab=vocab, n_ctx_train=131072, n_expert=experts, n_expert_used=4, extra=extra,
    )  # fmt: skip
    rows: list[Row] = [("token_embd.weight", Q8, (embd, vocab)), ("output_norm.weight", F32, (embd,))]
    rows.append(("output.weight", Q8, (embd, vocab)))
    for il in range(layers):
        p = f"blk.{il}."
        for part, width in (("q", heads * head), ("k", kv * head), ("v", kv * head)):
            rows += [(f"{p}attn_{part}.weight", Q8, (embd, width)), (f"{p}attn_{part}.bias", F32, (width,))]
        rows += [(f"{p}attn_output.weight", Q8, (heads * head, embd)), (f"{p}attn_output.bias", F32, (embd,))]
        rows += [(f"{p}{name}.weight", F32, (embd,)) for name in ("attn_norm", "post_attention_norm")]
        rows.append((f"{p}attn_sinks.weight", F32, (heads,)))
        rows += [(f"{p}ffn_gate_inp.weight", F32, (embd, experts)), (f"{p}ffn_gate_inp.bias", F32, (experts,))]
        for part, (n_in, n_out) in {"gate": (embd, ff), "up": (embd, ff), "down": (ff, embd)}.items():
            rows.append((f"{p}ffn_{part}_exps.weight", MXFP4, (n_in, n_out, experts)))
            rows.append((f"{p}ffn_{part}_exps.bias", F32, (n_out, experts)))
    return header_bytes(made_up_metadata(model), rows)


def _glm4() -> bytes:
    layers, embd, ff, heads, kv, head, vocab = 61, 6144, 23040, 48, 2, 128, 151552
    model = MadeUp(
        arch="glm4", n_layer=layers, n_embd=embd, n_ff=ff, n_head=heads, n_head_kv=kv, n_vocab=vocab,
        n_ctx_train=32768, extra={"rope.dimension_count": 64},
    )  # fmt: skip
    rows: list[Row] = [("token_embd.weight", Q4, (embd, vocab)), ("output_norm.weight", F32, (embd,))]
    rows.append(("output.weight", Q4, (embd, vocab)))
    for il in range(layers):
        p = f"blk.{il}."
        norms = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
        rows += [(f"{p}{name}.weight", F32, (embd,)) for name in norms]
        parts = {"q": heads, "k": kv, "v": kv}
        rows += [(f"{p}attn_{part}.weight", Q4, (embd, count * head)) for part, count in parts.items()]
        rows += [(f"{p}attn_output.weight", Q4, (heads * head, embd)), (f"{p}ffn_up.weight", Q4, (embd, 2 * ff))]
        rows.append((f"{p}ffn_down.weight", Q4, (ff, embd)))
    return header_bytes(made_up_metadata(model), rows)


def models() -> Iterator[tuple[str, bytes]]:
    """Name and header of each model."""
    yield "Llama-3.2-1B", _llama(16, 2048, 8192, 32, 8, 128256, optional=TIED | {"rope_freqs.weight"})
    yield "Llama-3.1-8B", _llama(32, 4096, 14336, 32, 8, 128256, optional=TIED | {"output.weight", "rope_freqs.weight"})
    yield "Llama-3.3-70B", _llama(80, 8192, 28672, 64, 8, 128256)
    yield "Mistral-7B-v0.3", _llama(32, 4096, 14336, 32, 8, 32768)
    yield "Mixtral-8x7B", _llama(32, 4096, 14336, 32, 8, 32000, **_experts(8, 2))
    yield "Qwen2.5-7B", _llama(28, 3584, 18944, 28, 4, 152064, arch="qwen2")
    yield "Qwen3-4B", _llama(36, 2560, 9728, 32, 8, 151936, arch="qwen3", head_size=128, optional=TIED)
    yield "Qwen3-8B", _llama(36, 4096, 12288, 32, 8, 151936, arch="qwen3", head_size=128)
    yield (
        "Qwen3-30B-A3B",
        _llama(48, 2048, 6144, 32, 4, 151936, arch="qwen3moe", head_size=128, **_experts(128, 8, 768)),
    )
    moe = {"arch": "qwen3moe", "head_size": 128}
    yield "Qwen3-235B-A22B", _llama(94, 4096, 12288, 64, 4, 151936, **moe, **_experts(128, 8, 1536))
    gemma = {"arch": "gemma3", "optional": TIED, "extra": {"attention.sliding_window": 1024}}
    yield "Gemma-3-4B", _llama(34, 2560, 10240, 8, 4, 262208, head_size=256, **gemma)
    yield "Gemma-3-27B", _llama(62, 5376, 21504, 32, 16, 262208, head_size=128, **gemma)
    yield "Phi-3-mini-4k", _llama(32, 3072, 8192, 32, 32, 32064, arch="phi3", n_ctx_train=4096)
    yield "gpt-oss-20b", _gpt_oss()
    yield "GLM-4-32B", _glm4()


LOGGED = {
    "Llama-3.2-1B": "254.50 full offload",
    "Qwen3-4B": "301.75 full offload",
    "Qwen3-30B-A3B": "300.75 on the CPU",
    "GLM-4-32B": "308.00 full offload",
}
"""Compute buffers (MiB) in public logs."""


def numbers(header: bytes, name: str, *devices: str, **more: Any) -> Brief:
    """The predicted numbers of a model on some devices."""
    options = Options(devices=tuple(map(parse_device, devices)), n_ctx=N_CTX, n_ubatch=N_UBATCH, **more)
    return brief(open_model(header, name, options, (GraphMode.PREFILL, GraphMode.DECODE), Origin.AUTO))


def row(name: str, header: bytes) -> tuple[str, ...]:
    """One line of the table."""
    said = facts(parse_header(header, name))
    gpu, cpu = numbers(header, name, GPU), numbers(header, name)
    device, host = gpu.totals[0], next(one for one in gpu.totals if one.kind == "host")
    alone = next(one for one in cpu.totals if one.kind == "host")
    cells = N_CTX + (_window_cells(said.sliding_window) if said.sliding_window and said.architecture != "phi3" else 0)
    sizes = Sizes(said.vocabulary or 0, said.embedding or 0, N_UBATCH, N_UBATCH, cells)
    return (
        name,
        f"{device_compute(sizes, Build.OLDER).value / MIB:,.2f}",
        *_pair(device.compute, device_compute(sizes, Build.B11549).value),
        *_pair(host.compute, host_compute(sizes, Build.B11549).value),
        *_pair(alone.compute, cpu_compute(sizes, Build.B11549).value),
        f"{gpu.graphs[0].splits}, {gpu.graphs[1].splits} ({split_count(1).value})",
        f"{cpu.graphs[0].splits}, {cpu.graphs[1].splits} ({split_count(0).value})",
        LOGGED.get(name, ""),
    )


def _window_cells(window: int) -> int:
    """Cells of a window cache for one sequence (llama_kv_cache_iswa): window and micro-batch, rounded up to 256."""
    return -(-min(N_CTX, window + N_UBATCH) // 256) * 256


def _pair(size: int, formula: int) -> tuple[str, str]:
    """The prediction, and how far it is from the formula (MiB)."""
    return f"{size / MIB:,.2f}", f"{(size - formula) / MIB:+,.2f}"


def text() -> str:
    """The whole page."""
    head = (
        "model",
        "older builds",
        "device",
        "±",
        "host",
        "±",
        "CPU alone",
        "±",
        "splits GPU",
        "splits CPU",
        "public log",
    )
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, header in models():
        lines.append("| " + " | ".join(row(name, header)) + " |")
        print(lines[-1], file=sys.stderr)
    moe = numbers(dict(models())["gpt-oss-20b"], "gpt-oss-20b", GPU, n_cpu_moe=12)
    return INTRODUCTION + "\n".join(lines) + NOTES.format(moe=moe.graphs[1].splits, moe_prefill=moe.graphs[0].splits)


INTRODUCTION = """# Well-known models

What galloscope predicts for the published sizes of well-known models (headers made up from their configurations, Q4_K
unless they come otherwise) beside the arithmetic that public logs of llama.cpp confirm. Compute buffers in MiB, context
4096, micro-batch 512, flash attention automatic, graphs of llama.cpp b11549. "Device" and "host" are one simulated CUDA
device that has every layer and its host; "±" is prediction minus formula; splits are those of prefill, decode and, in
brackets, the formula. Written by `scripts/public_models.py`.

| | formula |
|---|---|
| device, older builds | `n_vocab*ub*4 + n_embd*ub*4` |
| device, b11549 | `n_vocab*ub*4 + 4*n_embd*ub*4 + masks` |
| host, b11549 | `masks + 4*n_embd*ub*4` (older builds: 2) |
| CPU alone, b11549 | `n_vocab*ub*4 + 5*n_embd*ub*4 + masks` |

`masks` is `cells*ub*2` with flash attention, for each cache that has one. The 0.02 MiB that nearly every row has more
are positions, row numbers and output numbers (32 bytes a token).

"""
NOTES = """

gpt-oss-20b with `--n-cpu-moe 12`: {moe} splits in decode by galloscope, 2*12 + 2 = 26 in public logs ({moe_prefill} in
prefill, where op offload moves the experts of the CPU to the GPU weight by weight).

## Why b11549 needs more than older builds

Its `build_inp_embd` has a branch for embeddings among tokens. The branch is in the graph also when nobody uses it: the
result of its SET_ROWS (`node_2`) has no reader and is therefore never freed. It was placed behind the copies of the
inputs, so the logits, the largest tensor and the last, cannot begin below it: the buffer of Llama-3.3-70B is 52 MiB
larger than it was. `galloscope why FILE node_2` and the strip chart show it, and the real llama.cpp plans the same
bytes (the badge "verified").

## Where a row is still off

Gated feed-forward layers (`n_ff*ub*4` each for gate, up and result) and experts can need more than the logits of a
small vocabulary: Mistral and Mixtral. `galloscope stats` names what is alive at the peak. Formulas taken from public
logs belong to the builds that printed them.
"""

if __name__ == "__main__":
    OUT.write_text(text(), encoding="utf-8")
