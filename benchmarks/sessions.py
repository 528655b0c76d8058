"""How long the life of a decode takes to play, beside the real llama.cpp in the same run.

    python benchmarks/sessions.py [FILE.gguf] [--ubatches N ...] [--repeats N] [--json]

The peer plays the same script in a child process, without weights and without computing anything; it needs the extra
`native`. Its time includes the start of the process and the load of the model, galloscope's the reading of the header.
Cost should grow linearly: the last column is galloscope's time per micro-batch beyond the first row.

Two scripts are played: `chat`, where most graphs are used again, and `switching`, where prompt and decode re-plan
against each other, with half of the layers on a made-up GPU. Without a FILE a small made-up model serves.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from galloscope.core.decode.life import fold
from galloscope.core.decode.read import parse_script
from galloscope.core.decode.script import Script
from galloscope.core.decode.session import play
from galloscope.core.gguf.header import Header
from galloscope.core.gguf.read import read_header
from galloscope.core.native.capture import available
from galloscope.core.native.play import play as play_native

SMALL = Path(__file__).resolve().parent.parent / "tests" / "golden" / "models" / "llama_4l.gguf"
CONTEXT = 8192


def script(kind: str, n_ubatches: int, n_layer: int) -> Script:
    """A script of about that many micro-batches."""
    one = {"decode": [{"n": 1}]}
    turn: list[Any] = [{"decode": [{"n": 200}]}, {**one, "repeat": 96}, {"clear": True}]
    if kind == "switching":
        turn = [{"decode": [{"n": 64}]}, {**one, "repeat": 2}, {"clear": True}]
    size = sum(step.get("repeat", 1) for step in turn) - 1
    given: dict[str, Any] = {
        "model": "model.gguf",
        "context": {"n_ctx": CONTEXT, "n_batch": 512, "n_ubatch": 512},
        "steps": turn * max(1, n_ubatches // size),
    }
    if kind == "switching":
        given |= {"devices": [{"name": "GPU0"}], "model_params": {"n_gpu_layers": n_layer // 2}}
    return parse_script(json.dumps(given).encode(), kind)


def best(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of some turns: other processes only ever add to it."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(path: Path, header: Header, kind: str, n_ubatches: int, repeats: int, peer: bool) -> dict[str, Any]:
    """One row."""
    n_layer = header.get("block_count")
    made = script(kind, n_ubatches, n_layer if isinstance(n_layer, int) else 2)
    log = play(made, header)
    life = fold(log)
    row: dict[str, Any] = {
        "script": kind,
        "ubatches": len(life.ubatches),
        "reused": life.ubatches[-1].n_reused,
        "runs": len(log.runs),
        "seconds": best(lambda: play(made, read_header(path)), repeats),
        "fold_seconds": best(lambda: fold(log), repeats),
    }
    if peer:
        row["llama_cpp_seconds"] = best(lambda: play_native(path, made), repeats)
        row["ratio"] = row["seconds"] / row["llama_cpp_seconds"]
    return row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=SMALL)
    parser.add_argument("--ubatches", type=int, nargs="+", default=[500, 2000, 5000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    header, missing = read_header(args.file), available()
    rows = [
        measure(args.file, header, kind, count, args.repeats, not missing)
        for kind in ("chat", "switching")
        for count in args.ubatches
    ]
    if args.json:
        print(json.dumps(rows))
        return
    if missing:
        print(f"no peer: {missing}")
    names = ("ubatches", 9), ("re-used", 9), ("runs", 6), ("play s", 9), ("fold s", 9), ("llama.cpp s", 13)
    heads = "".join(f"{name:>{width}}" for name, width in (*names, ("ratio", 7), ("us each", 9)))
    print(f"{'script':10}{heads}")
    first: dict[str, dict[str, Any]] = {}
    for row in rows:
        start = first.setdefault(row["script"], row)
        more = row["ubatches"] - start["ubatches"]
        each = f"{1e6 * (row['seconds'] - start['seconds']) / more:.0f}" if more > 0 else ""
        peer = f"{row['llama_cpp_seconds']:13.2f}{row['ratio']:7.2f}" if "ratio" in row else f"{'-':>13}{'-':>7}"
        print(
            f"{row['script']:10}{row['ubatches']:9,}{row['reused']:9,}{row['runs']:6}{row['seconds']:9.2f}"
            f"{row['fold_seconds']:9.2f}{peer}{each:>9}"
        )


if __name__ == "__main__":
    main()
