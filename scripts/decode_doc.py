"""Run the commands in docs/decode.md again, and write their real output and the pictures they make.

docs/decode.md is its own source: what stands under a `$ galloscope ...` in a block is replaced by what the command
prints today, scripts in YAML that begin with `# NAME.yaml` are the files that the commands read. Run it at the root of
the checkout with the extra `native` installed; tests/test_docs_decode.py runs it, too, and compares. With a FOLDER the
files that the commands read are written there, to try them, and the page stays as it is.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from galloscope.app.cli import main
    from galloscope.core.dtypes import DTYPES
    from galloscope.core.errors import InputError
    from galloscope.core.models.made_up import MadeUp, made_up
except ModuleNotFoundError as missing:
    raise SystemExit(
        f"this python has no module {missing.name}: galloscope is installed in .venv (make view), so run "
        ".venv/bin/python scripts/decode_doc.py"
    ) from None

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


def write_files(folder: Path, page: str) -> tuple[int, int]:
    """Everything that the commands read, in a folder that is made where there is none.

    Returns:
        Files that were written, and files that were there already, which stay as they are.

    Raises:
        InputError: the folder or a file cannot be written.
    """
    files = {name: made_up(model) for name, model in MODELS.items()}
    files |= {name: text.encode() for name, text in _SCRIPT.findall(page)}
    files |= {Path(path).name: (ROOT / path).read_bytes() for path in COPIED}
    written = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            with contextlib.suppress(FileExistsError), open(folder / name, "xb") as file:
                file.write(data)
                written += 1
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another folder") from None
    return written, len(files) - written


class Printer:
    """Runs commands, each once; a shell runs the filters behind them, as the reader's would."""

    def __init__(self) -> None:
        """Nothing was run yet."""
        self._known: dict[str, str] = {}

    def printed(self, command: str) -> str:
        """What a command prints, and what the filters behind it leave, without spaces at the ends of lines."""
        first, _, filters = command.partition(" | ")
        if first not in self._known:
            self._known[first] = _run(first)
        text = self._known[first]
        if filters:
            text = _filtered(text, filters)
        return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))


def _run(command: str) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    with contextlib.redirect_stdout(out):
        code = main(shlex.split(command)[1:])
    out.flush()
    text = raw.getvalue().decode()
    if code not in ((0, 1) if text.startswith("! ") else (0,)):
        raise SystemExit(f"{command}: exit code {code}")
    return text


def _filtered(text: str, filters: str) -> str:
    """What is left of a text behind `head -9` or `grep -A5 "^ubatch 139,"`, in a shell."""
    done = subprocess.run(["sh", "-c", filters], input=text.encode(), capture_output=True, check=False)
    if done.returncode or done.stderr:
        raise SystemExit(f"{filters}: exit code {done.returncode} {done.stderr.decode(errors='replace')}".rstrip())
    return done.stdout.decode()


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


def run(words: list[str]) -> int:
    """The command: FOLDER to write files there, nothing to write the page; its exit code."""
    page = OUT.read_text(encoding="utf-8")
    if len(words) > 1 or any(word.startswith("-") for word in words):
        print("usage: .venv/bin/python scripts/decode_doc.py [FOLDER]", file=sys.stderr)
        return 2
    if words:
        try:
            written, kept = write_files(Path(words[0]), page)
        except InputError as error:
            print(error, file=sys.stderr)
            return 2
        rest = f"; {kept} were there already and stay as they are" if kept else ""
        print(f"{words[0]}: {written} of {written + kept} files written{rest}")
        return 0
    text, pictures = made(page)
    OUT.write_text(text, encoding="utf-8")
    for name, data in pictures.items():
        (OUT.parent / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
