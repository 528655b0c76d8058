"""Every tensor has an entry in every palette, and text on a fill can be read."""

import json
from typing import Any

import pytest

from galloscope.app.figures import palette
from galloscope.app.figures.colors import MOST_LAYERS, by_cause, by_device, by_layer, colors
from galloscope.app.figures.columns import values
from galloscope.core.events import Cause
from galloscope.core.files.graph_json import parse_graph
from galloscope.core.op import Op
from galloscope.core.replay import replay
from galloscope.core.session import trace
from galloscope.core.state import State


def chain(names: list[str]) -> State:
    """A chain of SCALE nodes with these names on a GPU, after an input."""
    tensors: list[dict[str, Any]] = [{"name": "x", "ne": [64], "flags": ["input"]}]
    tensors += [
        {"name": name, "op": "SCALE", "src": [before]} for before, name in zip(["x", *names], names, strict=False)
    ]
    backends = [{"name": "CUDA0"}, {"name": "CPU", "ops": ["NONE"]}]
    document = {"backends": backends, "tensors": tensors, "outputs": [names[-1]]}
    return replay(trace(parse_graph(json.dumps(document).encode())).runs[0])


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_tensor_has_an_entry_in_every_palette() -> None:
    state = chain(["a-0", "b-0", "c-1"])
    for question in colors(state).values():
        of = values(question["of"], "uint8")
        assert len(of) == len(state.tensors)
        assert max(of) < len(question["palette"])


@pytest.mark.parametrize("n_layers", [1, MOST_LAYERS, MOST_LAYERS + 1, 400])
def test_many_layers_share_the_scale(n_layers: int) -> None:
    state = chain([f"a-{i}" for i in range(n_layers)])
    entries, of = by_layer(state)
    assert len(entries) <= MOST_LAYERS + 1
    layered = [entry for entry, tensor in zip(of, state.tensors, strict=True) if tensor.layer >= 0]
    assert sorted(set(layered)) == list(range(len(entries) - 1))
    assert entries[-1].label == "no layer"


def test_a_lone_layer_number_takes_one_entry() -> None:
    entries, _ = by_layer(chain(["a-0", "a-9999"]))
    assert [entry.label for entry in entries] == ["0", "9999", "no layer"]


def test_devices_keep_their_hue() -> None:
    fills = palette.device_hues([*["gpu"] * 10, "cpu"])
    assert fills[-1] == (palette.CPU_HUE, "none")
    assert [pattern for _, pattern in fills[:10]] == ["none"] * 8 + ["dots"] * 2
    assert fills[8][0] == fills[0][0]


def test_tensors_wear_the_colour_of_their_device() -> None:
    state = chain(["a"])
    entries, of = by_device(state)
    labels = {state.names[tensor]: entries[entry].label for tensor, entry in enumerate(of)}
    assert (labels["x"], labels["a"], labels["CUDA0#x#0"]) == ("CPU", "CUDA0", "CUDA0")


def test_every_cause_has_an_entry_of_its_pass() -> None:
    assert all(palette.cause_index(cause.value) != palette.NO_CAUSE for cause in Cause)
    assert palette.cause_index("") == palette.NO_CAUSE
    state = chain(["a"])
    entries, of = by_cause(state)
    assert entries[of[state.names.index("CUDA0#x#0")]].pattern == "hatch"


def test_families_name_real_ops() -> None:
    assert {op for op in palette.FAMILY_OF if op not in Op.__members__} == set()


def test_text_can_be_read_on_every_fill() -> None:
    hues = [
        palette.NEUTRAL,
        palette.CPU_HUE,
        *palette.DEVICE_HUES,
        *palette.size_scale(),
        *palette.layer_scale(MOST_LAYERS),
    ]
    for color in [color for hue in hues for color in (hue.light, hue.dark)]:
        assert max(contrast(color, "#ffffff"), contrast(color, "#04060a")) >= 4.5
