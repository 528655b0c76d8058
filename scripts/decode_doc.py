"""Run the commands in docs/decode.md again, and write their real output and the pictures they make.

docs/decode.md is its own source: what stands under a `$ galloscope ...` in a block is replaced by what the command
prints today, scripts in YAML that begin with `# NAME.yaml` are the files that the commands read. Run it at the root of
the checkout with the extra `native` installed; tests/test_docs_decode.py runs it, too, and compares.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from galloscope.app.cli import main
from galloscope.core.dtypes import DTYPES
from galloscope.core.models.made_up import MadeUp, made_up

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "decode.md"
Q4 = DTYPES["q4_K"]

MODELS = {
    "llama-8b.gguf": MadeUp(
        dtype=Q4, n_layer=32, n_embd=4096, n_ff=14336, n_head=32, n_head_kv=8, n_vocab=128256, n_ctx_train=131072,
    ),
    "qwen3-30b-a3b.gguf": MadeUp(
        arch="qwen3moe", dtype=Q4, n_layer=48, n_embd=2048, n_ff=6144, n_head=32, n_head_kv=4, head_size=128,
        n_vocab=151936, n_ctx_train=40960, n_expert=128, n_expert_used=8, extra={"expert_feed_forward_length": 768},
    ),
    "vocab-248k.gguf": MadeUp(
        arch="qwen3", dtype=Q4, n_layer=8, n_embd=5120, n_ff=17408, n_head=40, n_head_kv=8, head_size=128,
        n_vocab=248320, n_ctx_train=262144,
    ),
    "small-mamba.gguf": MadeUp(arch="mamba"),
}  # fmt: skip
"""Headers: the first two with the published sizes of these models, the third with a large vocabulary."""

COPIED = (
    *(f"sample_sessions/{name}" for name in ("small-llama.gguf", "small-qwen2.gguf", "half-on-a-gpu.session.json")),
    *(f"sample_sessions/{name}.session.json" for name in ("four-slots", "embedding-requests", "two-gpus")),
    "sample_graphs/lesson-stale-plan.graph.json",
    *(f"tests/golden/hand/{name}.graph.json.gz" for name in ("a_realloc_leaf_not_checked", "s_pins_lost")),
)
"""Files of the checkout that the commands read."""

_SCRIPT = re.compile(r"```yaml\n# (\S+\.yaml)\n(.*?)```", re.DOTALL)
_BLOCK = re.compile(r"```\n\$ (galloscope .+)\n(?:.*\n)*?```")


def write_files(folder: Path, page: str) -> None:
    """Everything that the commands read; what exists is not replaced."""
    for name, model in MODELS.items():
        with open(folder / name, "xb") as file:
            file.write(made_up(model))
    for name, text in _SCRIPT.findall(page):
        with open(folder / name, "x", encoding="utf-8") as file:
            file.write(text)
    for path in COPIED:
        shutil.copyfile(ROOT / path, folder / Path(path).name)


class Printer:
    """Runs commands, each once."""

    def __init__(self) -> None:
        """Nothing was run yet."""
        self._known: dict[str, list[str]] = {}

    def printed(self, command: str) -> str:
        """What a command prints, and what the filters behind it leave: `head -N`, `grep [-AN] TEXT`."""
        first, *filters = command.split(" | ")
        if first not in self._known:
            self._known[first] = _run(first)
        lines = self._known[first]
        for one in filters:
            lines = _filtered(lines, shlex.split(one))
        return "\n".join(lines)


def _run(command: str) -> list[str]:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    with contextlib.redirect_stdout(out):
        code = main(shlex.split(command)[1:])
    out.flush()
    lines = [line.rstrip() for line in raw.getvalue().decode().rstrip().split("\n")]
    if code not in ((0, 1) if lines[0].startswith("! ") else (0,)):
        raise SystemExit(f"{command}: exit code {code}")
    return lines


def _filtered(lines: list[str], words: list[str]) -> list[str]:
    match words:
        case ["head", count]:
            return lines[: int(count[1:])]
        case ["grep", text]:
            return [line for line in lines if text in line]
        case ["grep", after, text] if after.startswith("-A"):
            at = next((number for number, line in enumerate(lines) if text in line), len(lines))
            return lines[at : at + 1 + int(after[2:])]
    raise SystemExit(f"{' '.join(words)}: not understood")


def made(page: str) -> tuple[str, dict[str, bytes]]:
    """The page with today's output, and the pictures that its commands wrote, by name."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), page)
        os.chdir(folder)
        try:
            printer = Printer()
            text = _BLOCK.sub(lambda block: f"```\n$ {block[1]}\n{printer.printed(block[1])}\n```", page)
            return text, {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.svg"))}
        finally:
            os.chdir(here)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_files(Path(sys.argv[1]), OUT.read_text(encoding="utf-8"))
    else:
        text, pictures = made(OUT.read_text(encoding="utf-8"))
        OUT.write_text(text, encoding="utf-8")
        for name, data in pictures.items():
            (OUT.parent / name).write_bytes(data)
