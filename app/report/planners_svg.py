"""Planners as SVG: the answer, the table, live bytes over time, and two plans above each other on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.planners.planner import Plan
from ...core.text import bytes_text, hex_text, tail_text
from ..figures.columns import values
from ..figures.planners import REFERENCE, headline, pair_of, peaks_of, proved_of, ratio_text, seconds_text, verdict_of
from ..figures.planners_axis import curve, live_bytes
from ..figures.planners_colors import by_pool, questions
from ..figures.planners_scene import Subject
from . import svg
from .strip_svg import Scale, scale_of, ticks

if TYPE_CHECKING:
    from ...core.planners.solve import Outcome

GUTTER = 86.0
STRIP = 190.0
CURVE = 90.0
GOOD = "#047857"
BLUE = "#2563eb"
THIN = 0.6


@dataclass(frozen=True, eq=False)
class Planned:
    """A buffer set and what the planners made of it."""

    subject: Subject
    outcomes: Mapping[str, Outcome]

    @property
    def gain(self) -> int:
        """Bytes between ggml's plan and the smallest one."""
        peaks = peaks_of(self.outcomes)
        return peaks.get(REFERENCE, 0) - min(peaks.values()) if REFERENCE in peaks else 0


def planners_svg(planned: Planned, x: float, y: float, width: float, *, pictures: bool = True) -> tuple[str, float]:
    """All of one buffer set at (x, y); without pictures only the answer and the table.

    Returns:
        The markup and its height.
    """
    subject, outcomes = planned.subject, planned.outcomes
    live = live_bytes(subject.segments, subject.axis)
    bound, peaks = int(live.max(initial=0)), peaks_of(outcomes)
    parts: list[str] = []
    at = y
    answer = headline(subject.instance.name, bound, peaks, None, proved_of(outcomes), subject.freed_in_time)
    for words in svg.wrap(answer.parts, width):
        parts.append(svg.runs(x, at + 14, words))
        at += 21
    rows, marks = _rows(outcomes, peaks)
    markup, height = svg.table(x + 12, at, _COLUMNS, rows, marks)
    parts.append(markup)
    at += height + 12
    first, second = pair_of(list(outcomes), peaks)
    if pictures and first and bound:
        shown = [first] if first == second else [first, second]
        charts = _Charts(subject, [(name, _plan(outcomes[name])) for name in shown], x, width)
        for k in range(len(shown)):
            parts.append(charts.strip(k, at))
            at += STRIP + 30
        parts.append(charts.curve(at, live, bound))
        at += CURVE + 30
    return "".join(parts), at - y


_COLUMNS = [
    ("planner", 170.0, "m"),
    ("peak", 100.0, "r"),
    ("ratio", 80.0, "r"),
    ("waste", 100.0, "r"),
    ("saves", 100.0, "r"),
    ("time", 90.0, "r"),
    ("  verdict", 450.0, "l"),
]


def _rows(outcomes: Mapping[str, Outcome], peaks: Mapping[str, int]) -> tuple[list[list[str]], list[str]]:
    cells, marks = [], []
    for name, one in outcomes.items():
        key, words = verdict_of(one, proved_of(outcomes))
        if name in peaks and one.ratio is not None:
            waste, saving = peaks[name] - one.bound, peaks.get(REFERENCE, peaks[name]) - peaks[name]
            known = REFERENCE in peaks and name != REFERENCE
            cells.append([
                name, bytes_text(peaks[name]), ratio_text(one.ratio), bytes_text(waste) if waste else "0",
                bytes_text(saving) if known and saving else "0" if known else "–", seconds_text(one.seconds),
                f"  {words}",
            ])  # fmt: skip
        else:
            cells.append([name, "", "", "", "", "", f"  {words}"])
        marks.append(GOOD if key == "optimal" else "")
    return cells, marks


def _plan(outcome: Outcome) -> Plan:
    assert outcome.plan is not None, "only plans are shown"
    return outcome.plan


class _Charts:
    """Two plans and a curve that share the axis of steps; the plans also share the scale of bytes."""

    def __init__(self, subject: Subject, plans: Sequence[tuple[str, Plan]], x: float, width: float) -> None:
        self.subject, self.plans = subject, plans
        self.left, self.width = x + GUTTER, width - GUTTER
        self.places = [self._place(plan) for _, plan in plans]
        segments = subject.segments
        size = segments.high - segments.low
        self.tops = [int((place + size).max(initial=0)) for place in self.places]
        spans = [
            span
            for place in self.places
            for span in zip(place.tolist(), size.tolist(), strict=True)
        ]  # fmt: skip
        self.top = max(self.tops)
        self.scale, self.even = scale_of(spans, self.top)

    def _place(self, plan: Plan) -> np.ndarray:
        """Addresses of the segments, the chunks one above the other."""
        segments = self.subject.segments
        y0: np.ndarray = plan.offsets[segments.buffer] + segments.low
        if plan.chunks is None:
            return y0
        size = segments.high - segments.low
        lane = plan.chunks[segments.buffer]
        sizes = [int((y0 + size)[lane == c].max(initial=0)) for c in range(int(lane.max(initial=0)) + 1)]
        starts: np.ndarray = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        stacked: np.ndarray = y0 + starts[lane]
        return stacked

    def at(self, position: float) -> float:
        return self.left + position / max(1, self.subject.axis.n) * self.width

    def strip(self, k: int, y: float) -> str:
        name, plan = self.plans[k]
        top = y + 20

        def up(address: float) -> float:
            return top + STRIP - self.scale(address) * STRIP * 0.97

        note = " · heights not to scale" if self.even else ""
        parts = [
            svg.text(self.left, y + 13, f"{'AB'[k]} · {name}{note}", 12, weight=600),
            svg.text(self.left + self.width, y + 13, f"peak {bytes_text(self.tops[k])}", 12, svg.PEAK, "end"),
            svg.rect(self.left, top, self.width, STRIP, "#ffffff", f'stroke="{svg.LINE}"'),
        ]
        for address in ticks(self.top, up):
            parts.append(svg.line(self.left, up(address), self.left + self.width, up(address), svg.LINE))
            words = bytes_text(address) if address else "0"
            parts.append(svg.text(self.left - 6, up(address) + 4, words, 10, svg.MUTED, "end"))
        parts += self._rects(k, plan, up)
        bound = int(live_bytes(self.subject.segments, self.subject.axis).max(initial=0))
        parts.append(svg.line(self.left, up(bound), self.left + self.width, up(bound), GOOD))
        if self.tops[k] != bound:
            dash = 'stroke-dasharray="5 4" stroke-width="0.8"'
            parts.append(
                svg.line(self.left, up(self.tops[k]), self.left + self.width, up(self.tops[k]), svg.PEAK, dash)
            )
        return "".join(parts)

    def _rects(self, k: int, plan: Plan, up: Scale) -> list[str]:
        subject, segments = self.subject, self.subject.segments
        state = subject.state
        asked = questions(subject.instance, subject.axis, state, [one[0] for one in subject.members])
        question = by_pool(plan.pools) if plan.pools is not None else asked["op" if state else "time"]
        of = values(question["of"], "uint8")
        fills = [entry["light"] for entry in question["palette"]]
        thin: dict[str, list[str]] = {}
        parts = []
        size = segments.high - segments.low
        columns = (segments.buffer, segments.x0, segments.x1, self.places[k], size)
        for buffer, x0, x1, offset, length in zip(*(one.tolist() for one in columns), strict=True):
            a, b, high, low = self.at(x0), self.at(x1), up(offset + length), up(offset)
            fill = fills[of[buffer]]
            if b - a < THIN or low - high < 0.3:
                w, h = svg.num(max(b - a, 0.5)), svg.num(max(low - high, 0.5))
                thin.setdefault(fill, []).append(f"M{svg.num(a)} {svg.num(high)}h{w}v{h}h-{w}z")
                continue
            name = subject.instance.ids[buffer]
            words = f"{name}\n{length:,} bytes at {hex_text(offset)}, steps {x0} to {x1}"
            parts.append(svg.rect(a, high, b - a, low - high, fill, 'stroke="#fff" stroke-width="0.4"', words))
            room = int((b - a - 8) / (10 * svg.CHAR))
            if low - high > 12 and room >= min(9, len(name)):
                label = svg.text(a + 4, (high + low) / 2 + 3.5, tail_text(name, room), 10, _ink(fill), mono=True)
                parts.append(f'<g pointer-events="none">{label}</g>')
        return [f'<path d="{"".join(lines)}" fill="{fill}"/>' for fill, lines in thin.items()] + parts

    def curve(self, y: float, live: np.ndarray, bound: int) -> str:
        """Live bytes, with the bound and the peaks."""
        top, most = y + 8, max(bound, *self.tops)
        steps, found = curve(live)

        def up(size: float) -> float:
            return top + CURVE - size / most * CURVE * 0.94

        points = [f"M{svg.num(self.at(0))} {svg.num(up(0))}"]
        for step, size in zip(steps, found, strict=True):
            points.append(f"H{svg.num(self.at(step))}V{svg.num(up(size))}")
        path = "".join(points)
        end = f"V{svg.num(up(0))}z"
        parts = [
            svg.rect(self.left, top, self.width, CURVE, "#ffffff", f'stroke="{svg.LINE}"'),
            f'<path d="{path}{end}" fill="{BLUE}" fill-opacity="0.12"/><path d="{path}" fill="none" stroke="{BLUE}"/>',
            svg.line(self.left, up(bound), self.left + self.width, up(bound), GOOD),
            svg.text(self.left - 6, up(bound) + 4, bytes_text(bound), 10, GOOD, "end"),
            svg.text(self.left + self.width - 4, up(bound) + 11, "bound", 10, GOOD, "end"),
            svg.text(self.left - 6, top + CURVE + 4, "0", 10, svg.MUTED, "end"),
        ]
        dash = 'stroke-dasharray="5 4" stroke-width="0.8"'
        for size in {one for one in self.tops if one != bound}:
            parts.append(svg.line(self.left, up(size), self.left + self.width, up(size), svg.PEAK, dash))
        return "".join(parts) + self._axis(top + CURVE)

    def _axis(self, bottom: float) -> str:
        n = max(1, self.subject.axis.n)
        step = max(1, 10 ** (len(str(n)) - 1))
        step = next(s for s in (step // 5 or 1, step // 2 or 1, step, 2 * step) if n / s <= 12)
        parts = [svg.text(self.left - 6, bottom + 16, "step", 10, svg.MUTED, "end")]
        for at in range(0, n, step):
            parts.append(svg.line(self.at(at), bottom, self.at(at), bottom + 4, svg.MUTED))
            parts.append(svg.text(self.at(at), bottom + 16, f"{self.subject.axis.step(at):,}", 10, svg.MUTED, "middle"))
        return "".join(parts)


def _ink(fill: str) -> str:
    """Dark or light text on a fill, whichever reads better."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return "#04060a" if 0.3 * red + 0.59 * green + 0.11 * blue > 120 else "#ffffff"
