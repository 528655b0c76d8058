"""The recorded cases in tests/golden: graphs and what real ggml decided about each."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("*/*.graph.json*"))
LARGE = sorted(path.name.split(".graph.json")[0] for path in GOLDEN.glob("large/*.graph.json*"))
SMALL = [name for name in CASES if name not in LARGE]
IGNORED = {"verified"}


def graph_path(name: str) -> Path:
    """The graph file of a case."""
    return next(GOLDEN.glob(f"*/{name}.graph.json*"))


@cache
def expected(name: str) -> dict[str, Any]:
    """Real ggml's decision record of a case."""
    path = next(GOLDEN.glob(f"*/{name}.expect.json*"))
    data = path.read_bytes()
    record: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return record


def difference(got: Any, want: Any, where: str = "") -> str | None:
    """The first place where `want` is not met; None when all of it is. Of `abort` only the presence counts."""
    if isinstance(want, dict):
        if "abort" in got and "abort" not in want:
            return f"{where}: unexpected abort {got['abort']!r}"
        for key in want.keys() - IGNORED:
            if key not in got:
                return f"{where}.{key}: missing"
            found = None if key == "abort" and got[key] else difference(got[key], want[key], f"{where}.{key}")
            if found:
                return found
        return None
    if isinstance(want, list):
        for i, (one, other) in enumerate(zip(got, want, strict=False)):
            found = difference(one, other, f"{where}[{i}]")
            if found:
                return found
        return None if len(got) == len(want) else f"{where}: {len(got)} entries, expected {len(want)}"
    return None if got == want and type(got) is type(want) else f"{where}: {got!r} != {want!r}"
