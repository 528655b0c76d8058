"""Write docs/questions.md: questions of users, answered by the commands on made-up models, with their real output.

Run it at the root of the checkout with the extra `native` installed. tests/test_docs_questions.py runs it again and
compares.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from galloscope.app.cli import main
from galloscope.core.dtypes import DTYPES
from galloscope.core.models.made_up import MadeUp, made_up

OUT = Path(__file__).resolve().parent.parent / "docs" / "questions.md"
MOST_LINES = 40
Q4 = DTYPES["q4_K"]
TIED = frozenset({"ffn_gate_exps.weight"})

MODELS = {
    "gemma3-4b.gguf": MadeUp(
        arch="gemma3", dtype=Q4, n_layer=34, n_embd=2560, n_ff=10240, n_head=8, n_head_kv=4, head_size=256,
        n_vocab=262208, n_ctx_train=131072, extra={"attention.sliding_window": 1024}, optional=TIED,
    ),
    "llama-8b.gguf": MadeUp(
        dtype=Q4, n_layer=32, n_embd=4096, n_ff=14336, n_head=32, n_head_kv=8, n_vocab=128256, n_ctx_train=131072,
    ),
    "qwen3-30b-a3b.gguf": MadeUp(
        arch="qwen3moe", dtype=Q4, n_layer=48, n_embd=2048, n_ff=6144, n_head=32, n_head_kv=4, head_size=128,
        n_vocab=151936, n_ctx_train=40960, n_expert=128, n_expert_used=8, extra={"expert_feed_forward_length": 768},
    ),
}  # fmt: skip
"""Headers with the published sizes of these models."""


class Question(NamedTuple):
    """One question: its number in the list of users' questions, what is asked, what to know, commands, the answer."""

    number: int
    asked: str
    before: str
    commands: tuple[str, ...]
    after: str


QUESTIONS = (
    Question(
        1,
        "Why does Gemma 3 with a quantised KV cache crawl?",
        "A CUDA build from before autumn 2026 has flash attention kernels for few cache types; `fa_convert=0` makes "
        "the simulated device such a build. Gemma 3 has heads of 256 elements.",
        (
            "galloscope supports gemma3-4b.gguf --device cuda:12GiB:fa_convert=0 -fa on -ctk q5_1 -ctv q5_1",
            "galloscope why gemma3-4b.gguf node_39 --device cuda:12GiB:fa_convert=0 -fa on -ctk q5_1 -ctv q5_1",
        ),
        "Every layer's attention runs on the CPU, and its cache travels there: the rule and its values are named.",
    ),
    Question(
        2,
        "Why so many splits with a q5_0 cache, and 2 with q8_0?",
        "The same device, Llama 3.1 8B; each `--change` is a row beside the first.",
        (
            "galloscope whatif llama-8b.gguf --device cuda:24GiB:fa_convert=0 -fa on -ctk q5_0 -ctv q5_0 "
            '--change "-ctk q8_0 -ctv q8_0" --change "-fa auto -ctv f16" --change "--device cuda:24GiB"',
        ),
        "q5_0 is not in the kernel table of that build, so each layer leaves the GPU and comes back. A build that "
        "converts the cache (the default profile) has no such splits.",
    ),
    Question(
        3,
        "Why did flash attention drop to the CPU without a message?",
        "`stats` opens with what fell back, where and why, and with the flags that would bring it back. They are found "
        "by asking the same rule about other caches.",
        ("galloscope stats llama-8b.gguf --device cuda:24GiB:fa_convert=0 -fa on -ctk q5_1 -ctv q5_1",),
        "",
    ),
    Question(
        20,
        "Will a weight on the CPU be copied to the GPU for a big batch?",
        "With `-ngl 20` thirteen layers stay on the CPU. Prompt batches of 32 tokens and more are computed on the GPU "
        "all the same (op offload), and the weights are copied there for each micro-batch.",
        (
            "galloscope whatif llama-8b.gguf --device cuda:8GiB -ngl 20 "
            '--change "--n-tokens 31" --change "--n-tokens 32" --change "-ub 2048" --change "--no-op-offload"',
        ),
        "The column `copied` is what goes into splits for each micro-batch. A larger `-ub` copies the same weights for "
        "more tokens; below 32 tokens, and with `--no-op-offload`, only activations move.",
    ),
    Question(
        21,
        "Why so many splits for the prompt and far fewer for one token?",
        "The experts of Qwen3 30B stay on the CPU. Both graphs at once:",
        (
            "galloscope whatif qwen3-30b-a3b.gguf --device cuda:8GiB --cpu-moe --mode both "
            '--change "--no-op-offload" --change "--n-cpu-moe 12"',
        ),
        "For the prompt, op offload lets each expert weight travel on its own, a split for each; for one token the "
        "experts are computed where they lie, two splits a layer.",
    ),
    Question(
        22,
        "Which tensors did my `-ot` regex catch?",
        "",
        (
            "galloscope weights qwen3-30b-a3b.gguf --device cuda:24GiB "
            r"-ot 'blk\.(3[0-9]|4[0-9])\.ffn_.*_exps=CPU,attn_q=CPU,ffn_down_exps\.bias=CPU'",
        ),
        "In the page the parameters panel says the same while you type.",
    ),
)


def write_models(folder: Path) -> None:
    """The headers as files; what exists is not replaced."""
    for name, model in MODELS.items():
        with open(folder / name, "xb") as file:
            file.write(made_up(model))


@contextlib.contextmanager
def models_folder() -> Iterator[Path]:
    """A temporary folder with the made-up models, as the current one."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        write_models(Path(folder))
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(here)


def answer(command: str) -> str:
    """What a command prints."""
    words = shlex.split(command)
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    with contextlib.redirect_stdout(out):
        code = main(words[1:])
    out.flush()
    text = raw.getvalue().decode()
    if code:
        raise SystemExit(f"{command}: exit code {code}")
    lines = [line.rstrip() for line in text.rstrip().split("\n")]
    more = len(lines) - MOST_LINES
    return "\n".join(lines[:MOST_LINES] + ([f"... and {more} more lines"] if more > 0 else []))


def text() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    with models_folder():
        for question in QUESTIONS:
            parts.append(f"## {question.asked}\n")
            if question.before:
                parts.append(question.before + "\n")
            for command in question.commands:
                parts.append(f"```\n$ {command}\n{answer(command)}\n```\n")
            if question.after:
                parts.append(question.after + "\n")
    return "\n".join(parts)


INTRODUCTION = """# Questions and their answers

Real questions of llama.cpp's users, each answered by a command. The models are made-up headers with the published sizes
of the models they are named after, the GPUs are simulated devices (`galloscope devices cuda` says what is assumed), the
graphs are those of llama.cpp b11549. `scripts/questions.py` wrote this page, and a test runs the commands again and
compares; `python scripts/questions.py FOLDER` writes the models into a folder, to try the commands. Questions about
reserved memory, graph re-use and pipeline copies have their answers in [the life of a decode](decode.md).
"""

if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_models(Path(sys.argv[1]))
    else:
        OUT.write_text(text(), encoding="utf-8")
