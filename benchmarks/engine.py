"""How long a full trace with events takes, beside the real ggml deciding about the same graph in the same run.

    python benchmarks/engine.py [FOLDER] [--repeats N] [--only NAME] [--json]

The claims: every step costs the same per node at 2k, 10k and 50k nodes, and llama_10k is loaded, decided, recorded and
printed in half a second beyond start-up. The peer is the library in the ``xllamacpp`` wheel: build the graph, split it,
reserve and allocate (``replan``), with devices whose callbacks are machine code. Real ggml keeps no record of what it
does, so the ratio is the price of the record and of Python. Each side runs in child processes, in turns.
"""

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from galloscope.benchmarks import ggml_abi

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden" / "large"
TINY = '{"tensors": [{"name": "x", "ne": [4]}, {"name": "y", "op": "SCALE", "src": ["x"]}], "outputs": ["y"]}'
STEPS = ("load", "decide", "print")
LINEAR = ("llama_2k", "llama_10k", "llama_50k")
Times = dict[str, list[float]]


@dataclass(slots=True)
class Case:
    """What was measured on one graph; times in milliseconds, one for each repeat."""

    name: str
    nodes: int = 0
    events: int = 0
    ours: Times = field(default_factory=dict)
    real: Times = field(default_factory=dict)
    real_called_python: bool = False
    command_ms: float = 0.0
    startup_ms: float = 0.0
    peak_rss_mib: float = 0.0
    reference: dict[str, dict[str, float]] = field(default_factory=dict)

    def total(self) -> float:
        """The fastest whole trace, in milliseconds."""
        return min(map(sum, zip(*(self.ours[step] for step in STEPS), strict=True)))

    def ratio(self) -> float | None:
        """How much longer than the fastest real replan."""
        return self.total() / min(self.real["replan"]) if self.real else None

    def ns_per_node(self) -> float:
        """Nanoseconds of the fastest whole trace for each node."""
        return self.total() * 1e6 / self.nodes


def measure_ours(path: Path, repeats: int) -> dict[str, Any]:
    """Load, decide with all events, and print the record to memory; in this process, with the switches of the CLI."""
    import msgspec

    from galloscope.core.files.graph_json import read_graph
    from galloscope.core.files.record import session_record
    from galloscope.core.session import trace

    times: Times = {step: [] for step in STEPS}

    def timed(step: str, function: Callable[..., Any], argument: Any) -> Any:
        start = perf_counter()
        result = function(argument)
        times[step].append((perf_counter() - start) * 1000)
        return result

    gc.disable()
    nodes = events = 0
    for _ in range(repeats):
        session = timed("decide", trace, timed("load", read_graph, path))
        printed = timed("print", lambda traced: msgspec.json.encode(session_record(traced)), session)
        nodes = len(msgspec.json.decode(printed)["graph"]["nodes"])
        events = sum(len(run.events) for run in session.runs)
        del session, printed
        gc.collect()
    return {"times": times, "nodes": nodes, "events": events}


def measure_real(path: Path, repeats: int) -> dict[str, Any]:
    """The same graph through real ggml, in this process."""
    from galloscope.benchmarks.ggml_timing import measure
    from galloscope.benchmarks.real_ggml import load

    times, called_python = measure(load(path), repeats)
    return {"times": times, "called_python": called_python}


def in_child(side: str, path: Path, repeats: int) -> dict[str, Any]:
    """Run one of the two functions above in a process of its own."""
    command = [sys.executable, __file__, "--child", side, "--repeats", str(repeats), str(path)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return answer


def run_command(path: Path) -> tuple[float, float]:
    """Milliseconds and peak MiB of ``galloscope trace FILE --json``, everything included."""
    command = [str(Path(sys.executable).with_name("galloscope")), "trace", str(path), "--json"]
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"engine: {' '.join(command)} ended with {child.returncode}")
    return (perf_counter() - start) * 1000, usage.ru_maxrss / 1024


def measure(path: Path, repeats: int, real: bool, tiny: Path) -> Case:
    """Everything about one graph; the sides take turns, so that both see the same busy machine."""
    case = Case(path.name.partition(".graph.json")[0])
    for _ in range(2):
        part = in_child("ours", path, -(-repeats // 2))
        case.nodes, case.events = part["nodes"], part["events"]
        for step, times in part["times"].items():
            case.ours.setdefault(step, []).extend(times)
        if real:
            part = in_child("real", path, repeats)
            case.real_called_python = part["called_python"]
            for step, times in part["times"].items():
                case.real.setdefault(step, []).extend(times)
    commands = [run_command(path) for _ in range(3)]
    case.command_ms, case.peak_rss_mib = min(c[0] for c in commands), max(c[1] for c in commands)
    case.startup_ms = min(run_command(tiny)[0] for _ in range(3))
    return case


def references(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """ggml's own times as measured when the corpus was made, by case and step."""
    path = folder / "timing.jsonl"
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return {line["graph"]: line["ggml"]["ms"] for line in lines}


def table(case: Case) -> str:
    """One case for people to read."""
    lines = [f"{case.name}: {case.nodes:,} nodes, {case.events:,} events"]
    lines.append(f"  {'galloscope':45} {'min ms':>9} {'median':>9} {'ns/node':>9}")
    for step in STEPS:
        times = case.ours[step]
        least = min(times)
        lines.append(f"  {step:45} {least:9.1f} {statistics.median(times):9.1f} {least * 1e6 / case.nodes:9.0f}")
    lines.append(f"  {'whole trace':45} {case.total():9.1f} {'':9} {case.ns_per_node():9.0f}")
    beyond = case.command_ms - case.startup_ms
    lines.append(f"  {'the command, beyond start-up':45} {beyond:9.1f}   (start-up {case.startup_ms:.0f} ms)")
    lines.append(f"  {'the command, peak memory':45} {case.peak_rss_mib:9.0f} MiB")
    lines.append(f"  {'real ggml':45} {'min ms':>9} {'median':>9} {'ns/node':>9} {'timing.jsonl min':>17}")
    for step, times in case.real.items():
        known = case.reference.get(step, {}).get("min")
        row = f"  {step:45} {min(times):9.3f} {statistics.median(times):9.3f} {min(times) * 1e6 / case.nodes:9.0f}"
        lines.append(row + (f" {known:17.3f}" if known is not None else ""))
    ratio = case.ratio()
    if ratio is None:
        lines.append("  not measured: the xllamacpp wheel is not here")
    else:
        lines.append(f"  {'whole trace / real replan':45} {ratio:9.1f} x")
    if case.real_called_python:
        lines.append("  real ggml had to call Python for this file's device rules: its times say nothing")
    return "\n".join(lines)


def growth(cases: Sequence[Case]) -> str:
    """Cost per node from the smallest to the largest llama graph: 1.0 is linear."""
    found = {case.name: case for case in cases}
    series = [found[name] for name in LINEAR if name in found]
    if len(series) < 2:
        return ""
    ours = " -> ".join(f"{case.ns_per_node():,.0f}" for case in series)
    text = f"growth, ns per node: galloscope {ours} ({series[-1].ns_per_node() / series[0].ns_per_node():.2f} x)"
    if all(case.real for case in series):
        costs = [min(case.real["replan"]) * 1e6 / case.nodes for case in series]
        text += f"; real ggml {' -> '.join(f'{cost:,.0f}' for cost in costs)} ({costs[-1] / costs[0]:.2f} x)"
    return text


def as_json(case: Case) -> dict[str, Any]:
    """One case for programs: everything measured and what follows from it."""
    return {**asdict(case), "total_ms": case.total(), "ratio": case.ratio(), "ns_per_node": case.ns_per_node()}


def main() -> int:
    """Measure the large cases of a folder and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, default=GOLDEN, help="folder of *.graph.json[.gz]")
    parser.add_argument("--repeats", type=int, default=10, help="repeats of each step (default 10)")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this case; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--child", choices=("ours", "real"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps((measure_ours if asked.child == "ours" else measure_real)(asked.path, asked.repeats)))
        return 0
    paths = sorted(asked.path.glob("*.graph.json*"), key=lambda path: path.stat().st_size)
    paths = [path for path in paths if not asked.only or path.name.partition(".graph.json")[0] in asked.only]
    if not paths:
        print(f"engine: no graphs in {asked.path}: name the folder of the large cases", file=sys.stderr)
        return 2
    real = ggml_abi.available()
    if not real and (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        print("engine: the real ggml is missing: pip install -e '.[test]' brings it here", file=sys.stderr)
        return 2
    known, cases = references(asked.path), []
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.graph.json"
        tiny.write_text(TINY, encoding="utf-8")
        for path in paths:
            case = measure(path, asked.repeats, real, tiny)
            case.reference = known.get(case.name, {})
            cases.append(case)
            if not asked.json:
                print(table(case), end="\n\n", flush=True)
    print(json.dumps({"cases": [as_json(case) for case in cases]}) if asked.json else growth(cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
