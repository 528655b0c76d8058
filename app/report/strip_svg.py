"""The strip chart as SVG: the whole graph, one lane per chunk, split ribbon above, boundaries through all lanes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from ...core.explain.usage import current_lifetimes
from ...core.state import Lifetime, State
from ...core.text import bytes_text, hex_text, shape_text, tail_text
from ..figures.palette import device_hues
from ..figures.scene import split_steps
from ..figures.strip import Lane, lanes
from .svg import CHAR, LINE, MUTED, PEAK, num, rect, text
from .svg import line as straight

GUTTER = 86.0
THIN = 0.6
"""Rectangles narrower than this (pixels) are drawn as one outline of their lane."""

Scale = Callable[[float], float]


def strip_svg(state: State, x: float, y: float, width: float) -> tuple[str, float]:
    """The chart at (x, y), `width` wide.

    Returns:
        The markup and its height.
    """
    chart = _Chart(state, x, y, width)
    return chart.draw(), chart.height


class _Chart:
    """Places lanes and draws them."""

    def __init__(self, state: State, x: float, y: float, width: float) -> None:
        self.state = state
        self.lanes = lanes(state)
        self.left, self.width, self.top = x + GUTTER, width - GUTTER, y
        self.steps = max(1, state.n_steps)
        self.hues = [hue.light for hue, _ in device_hues([backend.type for backend in state.backends])]
        self.lives: dict[tuple[int, int], list[Lifetime]] = {}
        for life in sorted(
            [*current_lifetimes(state).values(), *state.earlier], key=lambda one: (one.born, one.tensor)
        ):
            self.lives.setdefault((life.buffer, life.chunk), []).append(life)
        total = sum(lane.size ** (1 / 3) for lane in self.lanes) or 1
        room = 84.0 * max(1, min(len(self.lanes), 6)) + 60
        self.heights = [max(40.0, room * lane.size ** (1 / 3) / total) for lane in self.lanes]
        self.has_ribbon = bool(state.splits)
        self.height = (26 if self.has_ribbon else 0) + sum(h + 30 for h in self.heights) + 24

    def at(self, step: float) -> float:
        return self.left + step / self.steps * self.width

    def draw(self) -> str:
        y = self.top + (26 if self.has_ribbon else 0)
        parts = []
        for lane, height in zip(self.lanes, self.heights, strict=True):
            parts.append(self._lane(lane, y + 22, height))
            y += height + 30
        bottom = y - 8
        parts.append(self._splits(bottom))
        parts.append(self._axis(bottom))
        return "".join(parts)

    def _splits(self, bottom: float) -> str:
        state = self.state
        parts = []
        for k, (split, (first, last)) in enumerate(zip(state.splits, pairwise(split_steps(state)), strict=True)):
            a, b = self.at(first), self.at(last)
            hue = self.hues[split.backend]
            copied = sum(state.tensors[t].nbytes for t in split.inputs)
            name = state.backends[split.backend].name
            full = f"split {k} · {name}" + (f" · {bytes_text(copied)} in" if split.inputs else "")
            parts.append(rect(a, self.top, max(0.7, b - a - (1 if b - a > 4 else 0)), 18, hue, title=full))
            for words in (full, f"{k} · {name}", str(k)):
                if len(words) * 11 * CHAR + 8 < b - a:
                    parts.append(text(a + 5, self.top + 13, words, 11, "#ffffff"))
                    break
            if k and (b - a > 3 or len(state.splits) < 40):
                parts.append(straight(a, self.top, a, bottom, hue, 'stroke-width="0.8" stroke-opacity="0.7"'))
        return "".join(parts)

    def _lane(self, lane: Lane, y: float, height: float) -> str:
        lives = self.lives[lane.buffer, lane.chunk]
        scale, even = scale_of([(life.offset, life.size) for life in lives], lane.size)
        hue = self.hues[lane.backend] if lane.backend < len(self.hues) else MUTED
        chunk = f" chunk {lane.chunk}" if lane.n_chunks > 1 else ""
        own = f" ({lane.buft})" if lane.buft != lane.device else ""
        head = f"{lane.device}{own}{chunk} · {bytes_text(lane.size)}" + (" · heights not to scale" if even else "")
        peak = f"most alive: {bytes_text(lane.most)} at step {lane.step:,}"
        parts = [
            rect(self.left, y - 16, 9, 9, hue),
            text(self.left + 15, y - 8, head, 12, weight=600),
            text(self.left + self.width, y - 8, peak, 12, PEAK, "end"),
            rect(self.left, y, self.width, height, "#ffffff", f'stroke="{LINE}"'),
        ]

        def up(address: float) -> float:
            return y + height - scale(address) * height

        for address in ticks(lane.size, up):
            parts.append(straight(self.left, up(address), self.left + self.width, up(address), LINE))
            parts.append(
                text(self.left - 6, up(address) + 4, bytes_text(address) if address else "0", 10, MUTED, "end")
            )
        parts.append(self._rects(lives, hue, up))
        parts.append(straight(self.left, up(lane.peak), self.left + self.width, up(lane.peak), PEAK,
                              'stroke-dasharray="5 4" stroke-width="0.8"'))  # fmt: skip
        mark = self.at(lane.step + 0.5)
        parts.append(f'<path d="M{num(mark - 4)} {num(y - 5)}h8l-4 5z" fill="{PEAK}"/>')
        return "".join(parts)

    def _rects(self, lives: Sequence[Lifetime], hue: str, up: Scale) -> str:
        state = self.state
        made = {one.tensor for one in state.copies if one.tensor != one.src}
        parts, thin = [], []
        for life in lives:
            if not life.size:
                continue
            a, b = self.at(life.born), self.at(life.dies)
            top, bottom = up(life.offset + life.size), up(life.offset)
            if b - a < THIN or bottom - top < 0.3:
                w, h = num(max(b - a, 0.5)), num(max(bottom - top, 0.5))
                thin.append(f"M{num(a)} {num(top)}h{w}v{h}h-{w}z")
                continue
            tensor = state.tensors[life.tensor]
            name = state.names[life.tensor]
            words = (
                f"{name}\n{tensor.op.value} {tensor.dtype.name} {shape_text(tensor.ne)}\n{life.size:,} bytes at "
                f"{hex_text(life.offset)}, steps {life.born} to {life.dies}"
            )
            parts.append(rect(a, top, b - a, bottom - top, hue, 'stroke="#fff" stroke-width="0.4"', words))
            if life.tensor in made:
                parts.append(rect(a, top, b - a, bottom - top, "url(#hatch)", 'pointer-events="none"'))
            room = int((b - a - 8) / (10 * CHAR))
            if bottom - top > 12 and room >= min(9, len(name)):
                label = tail_text(name, room)
                if life.tensor in made:
                    parts.append(rect(a + 2, (top + bottom) / 2 - 6, len(label) * 10 * CHAR + 4, 12, hue))
                named = text(a + 4, (top + bottom) / 2 + 3.5, label, 10, "#ffffff", mono=True)
                parts.append(f'<g pointer-events="none">{named}</g>')
        outline = f'<path d="{"".join(thin)}" fill="{hue}"/>' if thin else ""
        return outline + "".join(parts)

    def _axis(self, bottom: float) -> str:
        step = max(1, 10 ** (len(str(self.steps)) - 1))
        step = next(s for s in (step // 5 or 1, step // 2 or 1, step, 2 * step) if self.steps / s <= 12)
        parts = [text(self.left - 6, bottom + 14, "step", 10, MUTED, "end")]
        for at in range(0, self.steps, step):
            parts.append(straight(self.at(at), bottom, self.at(at), bottom + 4, MUTED))
            parts.append(text(self.at(at) if at else self.at(0) + 3, bottom + 14, f"{at:,}", 10, MUTED, "middle"))
        return "".join(parts)


def ticks(size: int, up: Scale) -> list[int]:
    """Round addresses whose marks stand at least 16 apart."""
    step = 1
    while size / step > 8:
        step *= 2
    found: list[int] = []
    for address in (k * step for k in range(int(size / step) + 1)):
        if not found or up(found[-1]) - up(address) >= 16:
            found.append(address)
    return found


def scale_of(spans: Sequence[tuple[int, int]], size: int) -> tuple[Scale, bool]:
    """Share of the lane's height below an address; not linear where one tensor would hide all others.

    The same rule as the page's: `assets/strip_scale.js`. `spans` are the (offset, size) of what lies in the lane.
    """
    sizes = sorted(length for _, length in spans if length)
    if not sizes or not (sizes[-1] > 0.4 * size and sizes[len(sizes) // 2] < size / 100):
        return (lambda address: address / max(1, size)), False
    edges = sorted({0, size} | {offset for offset, _ in spans} | {offset + length for offset, length in spans})
    heights = [0.0]
    for low, high in pairwise(edges):
        heights.append(heights[-1] + (high - low) ** 0.35)
    total = heights[-1]

    def place(address: float) -> float:
        i = min(max(bisect_right(edges, address) - 1, 0), len(edges) - 2)
        share = (address - edges[i]) / (edges[i + 1] - edges[i])
        return (heights[i] + share * (heights[i + 1] - heights[i])) / total

    return place, True
