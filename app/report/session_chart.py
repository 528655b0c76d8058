"""The chart of a session's picture: calls, bars, cells and addresses over one axis of ubatches."""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby
from typing import NamedTuple

from ...core.decode.life import Life
from ...core.decode.log import LifeLog
from ...core.explain.sentence import count
from ..figures.palette import CPU_HUE, DEVICE_HUES, NEUTRAL, Hue
from ..figures.session import REFUSED, RESERVE, REUSED, UPDATE, WAIT, Mark, kind_of, marks_of, step_places
from ..figures.session_words import cause_text, step_text
from . import svg
from .session_bars import Bar

KIND_HUES = (
    Hue("#b6c2d2", "#3c4c66"),
    Hue("#3b82f6", "#60a5fa"),
    Hue("#d97706", "#fbbf24"),
    Hue("#9d174d", "#f472b6"),
    Hue("#dc2626", "#f87171"),
)
"""By `kind_of`; the page's --gs-life-* in assets/tokens.css."""
KIND_WORDS = ("re-used", "rebuilt", "planned anew", "buffers made anew", "aborted or not allocated")
MARK_HUES = (Hue("#047857", "#34d399"), Hue("#be185d", "#f472b6"), Hue("#7c3aed", "#c084fc"), CPU_HUE)
"""By kind of a mark."""
MARK_WORDS = ("reserved", "refused", "memory updated", "waited")
_TELLING = (REFUSED, UPDATE, RESERVE, WAIT)
"""Of several marks at one place the first of these gives the colour."""
SERIES = (DEVICE_HUES[4], DEVICE_HUES[3])
"""n_kv, and n_kv of window layers."""
GUTTER = 84.0
MARKS, STEPS, BARS, CELLS, ADDRESSES = 16.0, 20.0, 110.0, 56.0, 12.0
"""Heights of the lanes."""
GAP = 8.0
MOST_UNIT = 34.0
CHAR = 6.2


class _Axis(NamedTuple):
    """Where each ubatch stands."""

    left: list[float]
    right: list[float]
    bars: list[Bar]
    at: list[int]

    @classmethod
    def of(cls, bars: list[Bar], x: float, width: float) -> _Axis:
        """Bars side by side over `width` at most."""
        unit = min(MOST_UNIT, width / sum(bar.width for bar in bars))
        left, right, at, now = [], [], [], x
        for number, bar in enumerate(bars):
            left.append(now)
            now += bar.width * unit
            right.append(now)
            at += [number] * bar.ubatches
        return cls(left, right, bars, at)

    def start(self, ubatch: int) -> float:
        """Left edge of a ubatch; behind the last one, the right end."""
        if ubatch >= len(self.at):
            return self.right[-1]
        number = self.at[ubatch]
        bar = self.bars[number]
        return self.left[number] + (self.right[number] - self.left[number]) * (ubatch - bar.first) / bar.ubatches


def chart(log: LifeLog, life: Life, bars: list[Bar], x: float, y: float, width: float) -> tuple[str, float]:
    """All lanes; markup and height."""
    axis = _Axis.of(bars, x + GUTTER, width - GUTTER)
    parts, top = [], y
    parts.append(_marks(axis, marks_of(log, life), y))
    y += MARKS
    parts.append(_steps(axis, log, life, y) + _name(x, y + 12, "calls"))
    y += STEPS
    parts.append(_bars(axis, life, y) + _name(x, y + 10, "tokens"))
    parts.append(_numbers(axis, y + BARS))
    y += BARS + 18 + GAP
    if any(bar.n_kv for bar in bars):
        parts.append(_cells(axis, y) + _name(x, y + 10, "n_kv"))
        y += CELLS + GAP
    parts.append(_addresses(axis, y) + _name(x, y + 10, "addresses"))
    y += ADDRESSES
    return "\n".join(part for part in parts if part), y - top + 12


def _name(x: float, y: float, words: str) -> str:
    return svg.text(x, y, words, 11, svg.MUTED)


def _marks(axis: _Axis, marks: list[Mark], y: float) -> str:
    """A triangle for each place where something happened between ubatches; the most telling one colours it."""
    made = []
    for at, group in groupby(marks, key=lambda mark: mark.at):
        found = list(group)
        hue = MARK_HUES[min((mark.kind for mark in found), key=_TELLING.index)].light
        x, words = axis.start(at), "\n".join(mark.text for mark in found)
        made.append(
            f'<path d="M{svg.num(x - 5)} {svg.num(y + 2)}h10l-5 9z" fill="{hue}">{svg.title(words)}</path>'
            + svg.line(x, y + 11, x, y + MARKS + STEPS + BARS, hue, 'stroke-opacity="0.45" stroke-dasharray="2 3"')
        )
    return "".join(made)


def _steps(axis: _Axis, log: LifeLog, life: Life, y: float) -> str:
    """A bracket for each call of the script, its repeats together, with its words where there is room."""
    made = []
    places = zip(life.steps, step_places(life), strict=True)
    for number, group in groupby(places, key=lambda pair: pair[0].step):
        found = [place for _, place in group]
        first, end = found[0][0], found[-1][1]
        if end <= first:
            continue
        x0, x1 = axis.start(first), axis.start(end)
        words = step_text(log.script.steps[number])
        if len(found) > 1:
            words += f" × {len(found):,}"
        room = int((x1 - x0 - 6) / CHAR)
        made.append(svg.rect(x0 + 0.5, y + 15, max(x1 - x0 - 1.5, 0.5), 2, svg.MUTED, title=words))
        if room >= 6:
            made.append(svg.text(x0 + 2, y + 11, words if len(words) <= room else words[: room - 1] + "…", 11))
    return "".join(made)


def _bars(axis: _Axis, life: Life, y: float) -> str:
    """Height by tokens, on a logarithmic scale: one token a third, the most tokens all of it."""
    most = max(bar.tokens for bar in axis.bars)
    made = []
    for bar, x0, x1 in zip(axis.bars, axis.left, axis.right, strict=True):
        share = 1.0 if most == 1 else 0.34 + 0.66 * math.log(bar.tokens) / math.log(most)
        high, wide = BARS * share, x1 - x0
        gap = 1.0 if wide > 3 else 0.0
        hue = KIND_HUES[bar.kind]
        made.append(svg.rect(x0, y + BARS - high, wide - gap, high, hue.light, title=_title(bar, life)))
        times = f"× {bar.ubatches:,}"
        if bar.ubatches > 1 and wide > CHAR * len(times) + 4:
            made.append(svg.text((x0 + x1) / 2, y + BARS - 6, times, 11, anchor="middle"))
    scale = sorted({1, most})
    for tokens in scale:
        at = y + BARS * (0.0 if tokens == most else 0.66)
        made.append(svg.text(axis.left[0] - 6, at + 9, f"{tokens:,}", 11, svg.MUTED, "end"))
    return "".join(made)


def _title(bar: Bar, life: Life) -> str:
    """What is said on hover."""
    which = f"ubatch {bar.first:,}" if bar.ubatches == 1 else f"ubatches {bar.first:,} to {bar.last:,}"
    cells = f", n_kv {bar.n_kv:,}" if bar.n_kv else ""
    said = f"{which}: {KIND_WORDS[bar.kind]}, {count(bar.tokens, 'token')}{cells}"
    cause = "" if bar.ubatches > 1 else cause_text(life.ubatches[bar.first])
    return f"{said}; {cause}" if cause else said


def _numbers(axis: _Axis, y: float) -> str:
    """Numbers of ubatches under the bars, as many as do not touch."""
    made, free = [svg.line(axis.left[0], y + 0.5, axis.right[-1], y + 0.5, svg.MUTED)], -1.0
    for bar, x in zip(axis.bars, axis.left, strict=True):
        words = f"{bar.first:,}"
        if x >= free and (bar.kind != REUSED or bar.ubatches > 1 or not bar.first):
            made.append(svg.text(x + 1, y + 13, words, 10, svg.MUTED))
            free = x + CHAR * len(words) + 8
    return "".join(made)


def _cells(axis: _Axis, y: float) -> str:
    """Steps of n_kv from 0 to the most, a number where it changes and there is room."""
    most = max(max(bar.n_kv, bar.n_kv_swa) for bar in axis.bars)
    made = [svg.line(axis.left[0], y + CELLS, axis.right[-1], y + CELLS, svg.LINE)]
    series = [
        ([bar.n_kv for bar in axis.bars], SERIES[0].light),
        ([bar.n_kv_swa for bar in axis.bars], SERIES[1].light),
    ]
    for values, hue in series:
        if not any(values):
            continue
        path: list[str] = []
        before, free = -1, -1.0
        for value, x0, x1 in zip(values, axis.left, axis.right, strict=True):
            at = y + CELLS - (CELLS - 12) * value / most
            path.append(f"{'L' if path else 'M'}{svg.num(x0)} {svg.num(at)}H{svg.num(x1)}")
            if value != before and x0 >= free:
                made.append(svg.text(x0 + 2, at - 3, f"{value:,}", 10, svg.MUTED))
                free = x0 + CHAR * len(f"{value:,}") + 8
            before = value
        made.append(f'<path d="{"".join(path)}" fill="none" stroke="{hue}" stroke-width="2"/>')
    return "".join(made)


def _addresses(axis: _Axis, y: float) -> str:
    """Blocks of ubatches between which no tensor moves, in turn dark and pale."""
    made, places = [], zip(axis.bars, axis.left, axis.right, strict=True)
    for number, (since, group) in enumerate(groupby(places, key=lambda place: place[0].since)):
        found = list(group)
        first, last = found[0][0].first, found[-1][0].last
        words = f"ubatches {first:,} to {last:,}: no tensor moves" if since >= 0 else "no addresses"
        x0, x1 = found[0][1], found[-1][2]
        hue = (svg.MUTED, NEUTRAL.light)[number % 2]
        made.append(svg.rect(x0, y, max(x1 - x0 - 1, 0.5), ADDRESSES, hue, title=words))
    return "".join(made)


def legend(log: LifeLog, life: Life, x: float, y: float) -> tuple[str, float]:
    """What colours mean, with how often each comes; only those that come."""
    kinds = Counter(kind_of(one) for one in life.ubatches)
    marks = Counter(mark.kind for mark in marks_of(log, life))
    made, left = [], x + GUTTER
    for kind, words in enumerate(KIND_WORDS):
        if kinds[kind]:
            made.append(svg.rect(left, y + 2, 11, 11, KIND_HUES[kind].light))
            left = _said(made, left, y, f"{words}: {kinds[kind]:,}")
    for kind, words in enumerate(MARK_WORDS):
        if marks[kind]:
            made.append(f'<path d="M{svg.num(left)} {svg.num(y + 3)}h11l-5.5 9z" fill="{MARK_HUES[kind].light}"/>')
            left = _said(made, left, y, f"{words}" + (f": {marks[kind]:,}" if kind != RESERVE else ""))
    swa = any(one.seen.n_kv_swa for one in life.ubatches)
    for hue, words, shown in zip(SERIES, ("n_kv", "n_kv of window layers"), (swa, swa), strict=True):
        if shown:
            made.append(svg.rect(left, y + 6, 14, 2.5, hue.light))
            left = _said(made, left + 3, y, words)
    return "".join(made), 26.0


def _said(made: list[str], left: float, y: float, words: str) -> float:
    """Words beside a sample; where the next one begins."""
    made.append(svg.text(left + 16, y + 12, words, 11.5))
    return left + 16 + CHAR * 1.05 * len(words) + 18
