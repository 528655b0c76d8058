"""Write the tables of docs/planners.md: all planners, and how far ggml and the best one are from the bound on captures.

Run it at the root of the checkout. tests/test_docs_planners.py makes some rows again and compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from galloscope.app.samples import samples
from galloscope.core.files.graph_json import read_graph
from galloscope.core.planners.bound import peak_bytes
from galloscope.core.planners.from_graph import GraphInstance, instances
from galloscope.core.planners.ggml import over_lifetimes
from galloscope.core.planners.instance import Instance
from galloscope.core.planners.known import PLANNERS
from galloscope.core.planners.planner import Budget, Constraint
from galloscope.core.planners.solve import solve
from galloscope.core.replay import replay
from galloscope.core.session import trace

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "planners.md"
GOLDEN = ROOT / "tests" / "golden" / "llama"
KIB = 1024


class Row(NamedTuple):
    """One buffer of one graph; bytes.

    Attributes:
        graph: the file's name without its ending.
        device: the name that `stats` gives it.
        in_place: in-place chains are one buffer.
        bound: the most bytes alive at a step.
        ggml: the engine's own placement.
        in_time: ggml's free blocks, every buffer given back after its last use.
        best: the smallest plan of any planner.
        proved: no smaller one exists.
    """

    graph: str
    device: str
    in_place: bool
    bound: int
    ggml: int
    in_time: int
    best: int
    proved: bool


def budget() -> Budget:
    """Searches end at a number of nodes, not at a time, so that every machine writes the same table."""
    return Budget(time_limit=None, node_limit=20_000)


def rows_of(path: Path, graph: str) -> Iterator[Row]:
    """The rows of one capture: its first run, each device that holds anything, with and without in-place re-use."""
    state = replay(trace(read_graph(path)).runs[0])
    for in_place in (True, False):
        for one in instances(state, in_place):
            if len(one.instance):
                yield _row(one, graph)


def _row(one: GraphInstance, graph: str) -> Row:
    instance = one.instance
    own = solve(instance, "ggml")
    if own.peak is None:
        raise SystemExit(f"{graph}, {instance.name}: {own.refused or own.note}")
    in_time = peak_bytes(instance, over_lifetimes(instance, Budget()))
    best, proved = smallest(instance)
    return Row(graph, instance.name, one.in_place, own.bound, own.peak, in_time, best, proved)


def smallest(instance: Instance) -> tuple[int, bool]:
    """The smallest peak of all planners, asked in turn until one is proved optimal; ggml counts as one of them."""
    best = int(instance.size.sum())
    for name in PLANNERS:
        outcome = solve(instance, name, budget=budget())
        if outcome.peak is not None:
            best = min(best, outcome.peak)
        if outcome.optimal:
            return best, True
    return best, False


def sample_rows() -> list[Row]:
    """The captures that come with galloscope."""
    return [row for one in samples() if one.kind == "capture" for row in rows_of(one.path, one.name)]


@cache
def golden_paths() -> dict[str, Path]:
    """The captures of the tests by name."""
    return {path.name.split(".graph.json")[0]: path for path in sorted(GOLDEN.glob("*.graph.json*"))}


def sample_table(rows: Iterable[Row]) -> str:
    """One line for each buffer of each sample."""
    lines = [
        "| capture | device | in place | bound | ggml | freed in time | best | to gain |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        lines.append(
            f"| {row.graph} | {row.device} | {'yes' if row.in_place else 'no'} | {size(row.bound)} "
            f"| {ratio(row.ggml, row.bound)} | {ratio(row.in_time, row.bound)} "
            f"| {ratio(row.best, row.bound)}{'' if row.proved else '?'} | {size(row.ggml - row.best)} |"
        )
    return "\n".join(lines)


def group_of(row: Row) -> tuple[str, str, str, bool]:
    """Model, mode, device and in-place of a capture of the tests, whose names are MODEL[-SETTING ...]-MODE-..."""
    words = row.graph.split("-")
    mode = next(word for word in words if word in ("prefill", "decode"))
    model = "-".join(words[:2]) if words[1].startswith("270m") else words[0]
    return model, mode, row.device, row.in_place


def golden_table(rows: Iterable[Row]) -> str:
    """One line for each model, mode and device."""
    groups: dict[tuple[str, str, str, bool], list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    lines = [
        "| model | mode | device | in place | captures | ggml: median | worst | freed in time: worst | best: worst |",
        "|---|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for (model, mode, device, in_place), some in sorted(groups.items(), key=lambda one: (*one[0][:3], not one[0][3])):
        own = [row.ggml / row.bound for row in some]
        lines.append(
            f"| {model} | {mode} | {device} | {'yes' if in_place else 'no'} | {len(some)} | {median(own):.3f} "
            f"| {max(own):.3f} | {max(row.in_time / row.bound for row in some):.3f} "
            f"| {max(row.best / row.bound for row in some):.3f} |"
        )
    return "\n".join(lines)


def planner_table() -> str:
    """All planners."""
    lines = ["| name | how it decides | source | honours |", "|---|---|---|---|"]
    for name, one in PLANNERS.items():
        honours = ", ".join(kind.value for kind in Constraint if kind in one.honours) or "nothing but lifetimes"
        lines.append(f"| `{name}` | {one.summary} | {one.source} | {honours} |")
    return "\n".join(lines)


def ratio(peak: int, bound: int) -> str:
    """Peak to bound, three digits; 1 when they are equal."""
    return "1" if peak == bound else f"{peak / bound:.3f}"


def size(count: int) -> str:
    """Bytes for a table."""
    if not count:
        return "0"
    return f"{count / KIB:,.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):,.1f} MiB"


def replaced(page: str, name: str, table: str) -> str:
    """The page with another table between the two comments of that name."""
    start, end = f"<!-- {name}: scripts/planner_table.py -->\n", f"<!-- end of {name} -->"
    before, rest = page.split(start)
    return before + start + table + "\n" + end + rest.split(end)[1]


def main() -> None:
    """Write all tables."""
    page = OUT.read_text(encoding="utf-8")
    golden = []
    for number, (name, path) in enumerate(golden_paths().items()):
        print(f"\r{number + 1}/{len(golden_paths())} {name:60}", end="", file=sys.stderr)
        golden += list(rows_of(path, name))
    print(file=sys.stderr)
    for name, table in (
        ("planners", planner_table()),
        ("samples", sample_table(sample_rows())),
        ("golden", golden_table(golden)),
    ):
        page = replaced(page, name, table)
    OUT.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
