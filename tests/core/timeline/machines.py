"""Small hand-made graphs with devices that queue."""

from typing import Any


def chain(devices: int, *, parallel: bool, width: int = 512, rows: int = 64, layers: int = 2) -> dict[str, Any]:
    """A product per layer, the layers shared out over GPUs as llama.cpp does, the input on the CPU."""
    names = [f"GPU{k}" for k in range(devices)]
    tensors: list[dict[str, Any]] = [{"name": "x", "ne": [width, rows], "flags": ["input"]}]
    last = "x"
    for k, name in enumerate(names):
        for layer in range(layers):
            weight = f"w{k}_{layer}"
            tensors.append({"name": weight, "ne": [width, width], "weight_of": name})
            tensors.append({"name": f"y{k}_{layer}", "op": "MUL_MAT", "src": [weight, last], "ne": [width, rows]})
            last = f"y{k}_{layer}"
    tensors[-1]["flags"] = ["output"]
    return {
        "backends": [{"name": name, "align": 128} for name in names] + [{"name": "CPU"}],
        "sched": {"parallel": parallel},
        "tensors": tensors,
        "outputs": [last],
    }


def cpu_only() -> dict[str, Any]:
    """One CPU."""
    return {
        "backends": [{"name": "CPU"}],
        "mode": "sched",
        "tensors": [
            {"name": "x", "ne": [64, 8], "flags": ["input"]},
            {"name": "w", "ne": [64, 64], "weight_of": "CPU"},
            {"name": "y", "op": "MUL_MAT", "src": ["w", "x"], "ne": [64, 8]},
            {"name": "v", "op": "VIEW", "src": ["y"], "ne": [64, 4]},
            {"name": "o", "op": "SCALE", "src": ["v"], "flags": ["output"]},
        ],
        "outputs": ["o"],
    }
