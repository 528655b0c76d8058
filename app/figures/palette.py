"""Every colour a picture may use, for both themes, with the few rules that choose between them.

A device keeps its hue everywhere. Patterns say what hue cannot: hatching is not a tensor of the model, dots mark the
devices beyond the eighth hue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Pattern = Literal["none", "hatch", "dots"]


@dataclass(frozen=True, slots=True)
class Hue:
    """One colour in the light and in the dark theme, as #rrggbb."""

    light: str
    dark: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a legend: what a fill means."""

    hue: Hue
    label: str
    pattern: Pattern = "none"


NEUTRAL = Hue("#cbd5e1", "#334155")
"""Where the question has no answer: no device, no layer, no cause."""

WRONG = Hue("#dc2626", "#f87171")
"""What is wrong, and nothing else: the page's --gs-peak."""

CPU_HUE = Hue("#64748b", "#94a3b8")
DEVICE_HUES = (
    Hue("#2563eb", "#60a5fa"),  # blue
    Hue("#d97706", "#fbbf24"),  # amber
    Hue("#059669", "#34d399"),  # green
    Hue("#9333ea", "#c084fc"),  # violet
    Hue("#0891b2", "#22d3ee"),  # cyan
    Hue("#be185d", "#f472b6"),  # pink
    Hue("#65a30d", "#a3e635"),  # lime
    Hue("#92400e", "#d6a370"),  # brown
)

FAMILY_ENTRIES = (
    Entry(DEVICE_HUES[0], "matmul"),
    Entry(DEVICE_HUES[3], "attention"),
    Entry(DEVICE_HUES[2], "norm"),
    Entry(DEVICE_HUES[1], "element-wise"),
    Entry(CPU_HUE, "move"),
    Entry(DEVICE_HUES[4], "other"),
    Entry(NEUTRAL, "input or copy"),
)
_MATMUL, _ATTENTION, _NORM, _ELEMENTWISE, _MOVE, _OTHER, _DATA = range(len(FAMILY_ENTRIES))

FAMILY_OF = (
    dict.fromkeys(("MUL_MAT", "MUL_MAT_ID", "OUT_PROD"), _MATMUL)
    | dict.fromkeys(("FLASH_ATTN_EXT", "SOFT_MAX", "ROPE", "DIAG_MASK_INF", "DIAG_MASK_ZERO"), _ATTENTION)
    | dict.fromkeys(("GATED_LINEAR_ATTN", "SSM_SCAN", "SSM_CONV", "RWKV_WKV6", "RWKV_WKV7"), _ATTENTION)
    | dict.fromkeys(("NORM", "RMS_NORM", "GROUP_NORM", "L2_NORM"), _NORM)
    | dict.fromkeys(
        ("ADD", "ADD1", "ADD_ID", "ACC", "SUB", "MUL", "DIV", "SQR", "SQRT", "LOG", "SIN", "COS"), _ELEMENTWISE
    )
    | dict.fromkeys(("SCALE", "UNARY", "GLU", "CLAMP", "FILL", "LEAKY_RELU", "SILU_BACK"), _ELEMENTWISE)
    | dict.fromkeys(("CPY", "CONT", "DUP", "GET_ROWS", "SET_ROWS", "SET", "CONCAT", "REPEAT", "PAD", "ROLL"), _MOVE)
    | dict.fromkeys(("VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"), _MOVE)
    | {"NONE": _DATA}
)

# Each pass of the scheduler has one hue. The keys are the starts of ggml's cause labels, the longest match wins.
CAUSE_ENTRIES = (
    Entry(DEVICE_HUES[0], "1 facts: where its data or weights lie"),
    Entry(DEVICE_HUES[4], "1 op offload: a CPU weight goes to the GPU"),
    Entry(DEVICE_HUES[2], "2 neighbour: the device beside it"),
    Entry(DEVICE_HUES[3], "3 best: reads most of its sources, or moved up"),
    Entry(CPU_HUE, "4 follow: its base or its first user"),
    Entry(DEVICE_HUES[1], "0 pins: set by the application"),
    Entry(DEVICE_HUES[5], "5, 6 copy: made by the scheduler", "hatch"),
    Entry(NEUTRAL, "none"),
)
_CAUSE_STARTS = {"1.": 0, "1.off": 1, "2.": 2, "3.": 3, "4.": 4, "usr": 5, "4.cpy": 6, "6.cpy": 6}
NO_CAUSE = len(CAUSE_ENTRIES) - 1

_LAYER_STOPS = (Hue("#a5d8ff", "#1e40af"), Hue("#2f7bea", "#3b82f6"), Hue("#3b2a9c", "#a5f3fc"))
_SIZE_STOPS = (Hue("#f5d76e", "#27407a"), Hue("#2a9d8f", "#2dd4bf"), Hue("#312e81", "#fef3c7"))
SIZE_LIMITS = tuple(1 << bits for bits in range(12, 31, 2))
"""Upper ends, exclusive, of the size classes in bytes; the last class is open."""


def device_hues(types: Sequence[str]) -> list[tuple[Hue, Pattern]]:
    """The fill of each backend, given the backend types in priority order.

    >>> [hue.light for hue, _ in device_hues(["gpu", "gpu", "cpu"])]
    ['#2563eb', '#d97706', '#64748b']
    """
    fills: list[tuple[Hue, Pattern]] = []
    others = 0
    for i, kind in enumerate(types):
        # Allocator graphs may list several CPU buffers: only the last one, the CPU of the scheduler, is neutral.
        if kind == "cpu" and i == len(types) - 1:
            fills.append((CPU_HUE, "none"))
        else:
            fills.append((DEVICE_HUES[others % len(DEVICE_HUES)], "dots" if others >= len(DEVICE_HUES) else "none"))
            others += 1
    return fills


def family(op: str) -> int:
    """The index in `FAMILY_ENTRIES` of an op by its ggml name.

    >>> FAMILY_ENTRIES[family("MUL_MAT")].label, FAMILY_ENTRIES[family("POOL_1D")].label
    ('matmul', 'other')
    """
    return FAMILY_OF.get(op, _OTHER)


def cause_index(label: str) -> int:
    """The index in `CAUSE_ENTRIES` of one of ggml's cause labels.

    >>> CAUSE_ENTRIES[cause_index("1.wgt0")].label[:7], CAUSE_ENTRIES[cause_index("1.off")].label[:12]
    ('1 facts', '1 op offload')
    """
    starts = [start for start in _CAUSE_STARTS if label.startswith(start)]
    return _CAUSE_STARTS[max(starts, key=len)] if starts else NO_CAUSE


def size_index(n: int) -> int:
    """The size class of a number of bytes: the index of the first limit above it."""
    return next((i for i, limit in enumerate(SIZE_LIMITS) if n < limit), len(SIZE_LIMITS))


def layer_scale(n: int) -> list[Hue]:
    """`n` hues of the sequential scale for layers, first to last layer, always away from the background."""
    return [_between(_LAYER_STOPS, i / max(1, n - 1)) for i in range(n)]


def size_scale() -> list[Hue]:
    """One hue per size class, small to large."""
    return ordered_scale(len(SIZE_LIMITS) + 1)


def ordered_scale(n: int) -> list[Hue]:
    """`n` hues of the sequential scale for amounts, small to large."""
    return [_between(_SIZE_STOPS, i / max(1, n - 1)) for i in range(n)]


def _between(stops: Sequence[Hue], position: float) -> Hue:
    at = position * (len(stops) - 1)
    low = min(int(at), len(stops) - 2)
    a, b = stops[low], stops[low + 1]
    return Hue(_mix(a.light, b.light, at - low), _mix(a.dark, b.dark, at - low))


def _mix(a: str, b: str, share: float) -> str:
    channels = ((int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in channels)
