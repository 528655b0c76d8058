"""What the planners reach and how long they take, on MiniMalloc's instances, on new ones and on large sets.

    python benchmarks/planners.py [--minimalloc FOLDER] [--executable PATH] [--only PART ...] [--seeds N] [--json]

minimalloc  every CSV of the folder (those of the MiniMalloc repository) within 1,048,576 bytes, by the complete search,
            with several seeds; with --executable the `minimalloc` program in turns on the same files, and the ratio
unseen      sets without waste cut with fresh seeds at every run, straight and interlocked: is a plan at the bound found
            within 5 s?
large       sets of 1,000 to 1,000,000 buffers: ratio, seconds and memory of the valley skyline; peer: greedy by size
Every plan goes through the independent checker. Times are those of planning, after inner loops are compiled.
"""

import argparse
import itertools
import json
import math
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from galloscope.benchmarks.buffer_sets import buffer_set
from galloscope.core.errors import InputError
from galloscope.core.files.buffers_csv import read_buffers
from galloscope.core.planners.bound import lower_bound
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.jit import COMPILED
from galloscope.core.planners.planner import Budget
from galloscope.core.planners.solve import Outcome, solve

CAPACITY = 1 << 20
CUT = ("zerowaste", "pinwheel")
UNSEEN = (100, 150, 250, 400)
LARGE_KINDS = ("training", "random", "zerowaste")
LARGE = (1_000, 10_000, 100_000, 1_000_000)
GREEDY_UP_TO = 100_000
SECONDS = 2.5
PARTS = ("minimalloc", "unseen", "large")


def planned(instance: Instance, planner: str, capacity: int | None, seconds: float, seed: int) -> Outcome:
    """One run; a plan that the checker refuses ends the benchmark."""
    outcome = solve(instance, planner, capacity, Budget(seconds, seed=seed))
    if outcome.verdict is not None and outcome.plan is None:
        raise SystemExit(f"planners: {instance.name}: {outcome.note}")
    return outcome


def minimalloc(folder: Path, executable: Path | None, seeds: int) -> dict[str, Any]:
    """Each instance with each seed; of the program the wall time of the process."""
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise SystemExit(f"planners: {folder} has no CSV files")
    rows = []
    for path in files:
        instance = read_buffers(path).instance
        runs, other = [], []
        for seed in range(seeds):
            outcome = planned(instance, "search", CAPACITY, 60.0, seed)
            runs.append({"seconds": outcome.seconds, "solved": outcome.solved, "nodes": outcome.nodes})
            if executable is not None:
                other.append(timed_program(executable, path))
        row: dict[str, Any] = {"name": path.name.split(".")[0], "buffers": len(instance), "runs": runs}
        row["seconds"] = median(run["seconds"] for run in runs)
        row["solved"] = all(run["solved"] for run in runs)
        if other:
            row["program_seconds"] = median(other)
        rows.append(row)
    totals = [sum(row["runs"][seed]["seconds"] for row in rows) for seed in range(seeds)]
    result = {"rows": rows, "totals": totals, "solved": all(row["solved"] for row in rows)}
    if executable is not None:
        result["program_total"] = sum(row["program_seconds"] for row in rows)
        result["ratio"] = result["program_total"] / median(totals)
    return result


def timed_program(executable: Path, path: Path) -> float:
    """Seconds that the `minimalloc` program takes for a file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(executable), f"--capacity={CAPACITY}", f"--input={path}", f"--output={folder}/plan.csv"]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"planners: {executable} failed on {path.name}: {done.stderr.strip()[:200]}")
    return seconds


def unseen(each: int) -> list[dict[str, Any]]:
    """Fresh sets without waste; the rectangle they were cut from is the capacity."""
    rows = []
    for kind, count in itertools.product(CUT, UNSEEN):
        seeds = [secrets.randbits(32) for _ in range(each)]
        outcomes = []
        for seed in seeds:
            instance = Instance.of(*buffer_set(kind, count, seed), name=f"{kind} {count} {seed}")
            outcomes.append(planned(instance, "search", lower_bound(instance), 5.0, 0))
        times = [one.seconds for one in outcomes]
        solved = sum(one.solved for one in outcomes)
        row = {"kind": kind, "buffers": count, "seeds": seeds, "solved": solved, "of": each}
        rows.append({**row, "median": median(times), "max": max(times)})
    return rows


def large(counts: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """Each set in a process of its own, so that its memory is its own."""
    for kind in LARGE_KINDS:
        for count in counts:
            seed = secrets.randbits(32)
            command = [sys.executable, __file__, "--one", kind, str(count), str(seed)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"planners: {kind} {count} {seed}: {done.stderr.strip().splitlines()[-1:]}")
            yield json.loads(done.stdout)


def one_large(kind: str, count: int, seed: int) -> dict[str, Any]:
    """The valley skyline within three seconds, and greedy by size on the same set.

    Growth is measured on a run that ends after its first order: seconds / (n log2 n), equal for all n where the cost is
    n log n.
    """
    instance = Instance.of(*buffer_set(kind, count, seed), name=f"{kind} {count} {seed}")
    one = planned(instance, "valley_skyline", None, SECONDS, 0)
    row = {"kind": kind, "buffers": len(instance), "seed": seed, "ratio": one.ratio, "seconds": one.seconds}
    first = solve(instance, "valley_skyline", None, Budget(None, node_limit=1))
    row["first_seconds"] = first.seconds
    row["first_ns"] = 1e9 * first.seconds / (len(instance) * math.log2(max(2, len(instance))))
    row["mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if count <= GREEDY_UP_TO:
        peer = planned(instance, "offsets_by_size", None, 60.0, 0)
        row["greedy_ratio"], row["greedy_seconds"] = peer.ratio, peer.seconds
    return row


def print_minimalloc(result: dict[str, Any]) -> None:
    """A line for each instance, then the totals."""
    print("MiniMalloc's instances within 1,048,576 bytes, complete search, milliseconds")
    for row in result["rows"]:
        times = [1000 * run["seconds"] for run in row["runs"]]
        text = f"  {row['name']:<4}{row['buffers']:5} buffers  median {median(times):8.1f}  worst {max(times):8.1f}"
        text += "" if row["solved"] else "  NOT SOLVED"
        print(text + (f"  minimalloc {1000 * row['program_seconds']:9.1f}" if "program_seconds" in row else ""))
    totals = result["totals"]
    print(f"  all: median {1000 * median(totals):.0f}, worst of {len(totals)} seeds {1000 * max(totals):.0f}")
    if "ratio" in result:
        print(f"  minimalloc: {1000 * result['program_total']:.0f}, {result['ratio']:.0f} times as long")


def print_unseen(rows: list[dict[str, Any]]) -> None:
    """A line for each size."""
    print("sets without waste from fresh seeds, complete search at the bound, 5 s each")
    for row in rows:
        times = f"median {1000 * row['median']:7.1f} ms  worst {1000 * row['max']:7.1f} ms"
        solved, seeds = f"{row['solved']} of {row['of']} solved", " ".join(map(str, row["seeds"]))
        print(f"  {row['kind']:<10}{row['buffers']:4} buffers  {solved}  {times}  seeds {seeds}")


def print_large(row: dict[str, Any]) -> None:
    """One line."""
    text = f"  {row['kind']:<10}{row['buffers']:9,}  ratio {row['ratio']:.5f}  {row['seconds']:6.2f} s"
    text += f"  one order {row['first_seconds']:5.2f} s = {row['first_ns']:4.0f} ns n log2 n  {row['mib']:5.0f} MiB"
    if "greedy_ratio" in row:
        text += f"  | greedy by size {row['greedy_ratio']:.4f}, {row['greedy_seconds']:.2f} s"
    print(f"{text}  seed {row['seed']}", flush=True)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minimalloc", type=Path, metavar="FOLDER", help="with MiniMalloc's benchmark CSV files")
    parser.add_argument(
        "--executable", type=Path, metavar="PATH", help="the minimalloc program, timed on the same files"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seeds", type=int, default=5, help="of the search on MiniMalloc's instances")
    parser.add_argument("--each", type=int, default=10, help="unseen sets of each size")
    parser.add_argument("--counts", type=int, nargs="+", default=LARGE, help="buffers of the large sets")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one_large(args.one[0], int(args.one[1]), int(args.one[2]))))
        return 0
    if not COMPILED:
        print("planners: numba is not installed: plain Python is measured", file=sys.stderr)
    result: dict[str, Any] = {"compiled": COMPILED}
    if "minimalloc" in args.only and args.minimalloc is not None:
        result["minimalloc"] = minimalloc(args.minimalloc, args.executable, max(1, args.seeds))
        if not args.json:
            print_minimalloc(result["minimalloc"])
    if "unseen" in args.only:
        result["unseen"] = unseen(max(1, args.each))
        if not args.json:
            print_unseen(result["unseen"])
    if "large" in args.only:
        if not args.json:
            print(f"large sets, valley skyline, {SECONDS:g} s but at least one order; then one order alone")
        result["large"] = []
        for row in large(tuple(args.counts)):
            result["large"].append(row)
            if not args.json:
                print_large(row)
    if args.json:
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as error:
        sys.exit(f"planners: {error}")
