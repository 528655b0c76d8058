"""The timeline as one picture: the answer, lanes over time, devices, copies, and the numbers that were assumed."""

from __future__ import annotations

from ... import __version__
from ...core.state import State
from ...core.text import bytes_text
from ...core.timeline.answers import idle_text, percent, time_text, timeline_answers
from ...core.timeline.cost import HOST, Cost
from ...core.timeline.lanes import Kind, Span, Timeline
from ...core.timeline.totals import Totals, totals_of
from ...core.timeline.words import span_title
from ..figures.palette import CPU_HUE, device_hues
from . import svg

WIDTH = 1200.0
MARGIN = 40.0
INNER = WIDTH - 2 * MARGIN
GUTTER = 110.0
HEIGHTS = {"compute": 40.0, "copy": 16.0, "host": 24.0}
THIN = 0.4
"""Narrower spans of one kind that follow each other within this many pixels are drawn as one."""
MOST_TICKS = 8


def timeline_svg(timeline: Timeline, state: State, cost: Cost, title: str, alone: int = 0) -> str:
    """The whole picture as one SVG text; the same timeline gives the same bytes.

    Args:
        timeline: simulated lanes.
        state: the run they belong to.
        cost: the rates they were made with.
        title: what is shown.
        alone: nanoseconds of one micro-batch by itself, 0 when nothing is compared.
    """
    return _Picture(timeline, state, cost).draw(title, alone)


class _Picture:
    """Grows downward."""

    def __init__(self, timeline: Timeline, state: State, cost: Cost) -> None:
        self.timeline, self.state, self.cost = timeline, state, cost
        self.totals: Totals = totals_of(timeline)
        hues = [hue.light for hue, _ in device_hues([backend.type for backend in state.backends])]
        self.hues = [*hues, CPU_HUE.light]  # -1, the host, is the last
        self.y = MARGIN
        self.parts: list[str] = []
        self.scale = (INNER - GUTTER) / max(timeline.total, 1)

    def add(self, markup: str, height: float) -> None:
        self.parts.append(markup)
        self.y += height

    def draw(self, title: str, alone: int) -> str:
        for words in svg.wrap([(title, "strong")], INNER, 20)[:2]:
            self.add(svg.runs(MARGIN, self.y + 18, words, 20), 28)
        self.add(svg.text(MARGIN, self.y + 12, self._about(), 12, svg.MUTED), 26)
        for sentence in timeline_answers(self.timeline, self.totals, alone):
            self.parts.append(svg.rect(MARGIN, self.y + 3, 4, 12, svg.MUTED))
            for words in svg.wrap(sentence.parts, INNER - 20):
                self.add(svg.runs(MARGIN + 14, self.y + 14, words), 21)
        self.y += 12
        self._lanes()
        self._devices()
        self._links()
        self._rates()
        self._foot()
        height = svg.num(self.y)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {svg.num(WIDTH)} {height}" width="{svg.num(WIDTH)}" '
            f'height="{height}" font-family="{svg.SANS}"><style>.m{{font-family:{svg.MONO}}}</style>'
        )
        return head + svg.rect(0, 0, WIDTH, self.y, svg.PAPER) + "\n".join(self.parts) + "</svg>\n"

    def _about(self) -> str:
        timeline = self.timeline
        copies = f"{timeline.n_copies} pipeline copies" if timeline.n_copies > 1 else "no pipeline copies"
        as_if = " · the run only reserved: as if it were computed" if timeline.as_if else ""
        return f"Simulated: device clocks with assumed rates · {copies}{as_if}"

    # lanes

    def _lanes(self) -> None:
        top, before = self.y, HOST - 1
        by_lane: list[list[Span]] = [[] for _ in self.timeline.lanes]
        for span in self.timeline.spans:
            by_lane[span.lane].append(span)
        for number, lane in enumerate(self.timeline.lanes):
            spans = sorted(by_lane[number], key=lambda span: (span.start, span.end))
            if not spans:
                continue
            self.y += 2 if lane.backend == before else 10
            before = lane.backend
            height = HEIGHTS[lane.what]
            name = self.timeline.name(lane.backend) if lane.what != "copy" else "copy"
            middle = self.y + height / 2 + 4
            self.parts.append(svg.rect(MARGIN, self.y, 3, height, self.hues[lane.backend]))
            weight = 400 if lane.what == "copy" else 600
            self.parts.append(svg.text(MARGIN + 10, middle, name[:14], 12, svg.INK, weight=weight))
            self.parts.append(svg.rect(MARGIN + GUTTER, self.y, INNER - GUTTER, height, svg.LINE, 'fill-opacity="0.4"'))
            self._spans(spans, lane.backend, height)
            self.y += height
        self._axis(top)

    def _spans(self, spans: list[Span], backend: int, height: float) -> None:
        at, end, kind = 0.0, -1.0, None
        for span in [one for one in spans if one.end > one.start]:
            x0, x1 = self._x(span.start), self._x(span.end)
            if span.kind is kind and x1 <= end + THIN and x1 - at < 1:
                continue  # inside the pixel that is drawn already
            at, end, kind = x0, max(x1, x0 + 0.5), span.kind
            self.parts.append(self._span(span, backend, x0, end - x0, height))

    def _span(self, span: Span, backend: int, x: float, width: float, height: float) -> str:
        took = time_text(span.end - span.start)
        title = f"{span_title(self.timeline, self.state, span)}, micro-batch {span.batch}: {took}"
        if span.kind is Kind.COMPUTE:
            opacity = f'fill-opacity="{0.7 if span.batch % 2 else 1}"'
            made = svg.rect(x, self.y, width, height, self.hues[backend], opacity, title)
            if width > 74:
                words = f"split {span.split}" + (f" · #{span.batch}" if self.timeline.batches > 1 else "")
                made += svg.text(
                    x + 6,
                    self.y + height / 2 + 4,
                    words,
                    11,
                    _ink(self.hues[backend], faded=bool(span.batch % 2)),
                    mono=True,
                )
            return made
        if span.kind is Kind.COPY:
            edge = f'stroke="{self.hues[backend]}" stroke-width="0.6" fill-opacity="0.45"'
            return svg.rect(x, self.y + 2, width, height - 4, self.hues[backend], edge, title)
        hue = self.hues[span.backend]
        made = svg.rect(x, self.y, width, height, hue, 'fill-opacity="0.14"', title)
        middle = self.y + height / 2
        return made + (svg.line(x, middle, x + width, middle, hue) if span.kind is Kind.WAIT else "")

    def _x(self, ns: int) -> float:
        return MARGIN + GUTTER + ns * self.scale

    def _axis(self, top: float) -> None:
        total = max(self.timeline.total, 1)
        power = 10 ** (len(str(max(total // MOST_TICKS, 1))) - 1)
        step = next(k * power for k in (1, 2, 5, 10, 20) if total <= k * power * MOST_TICKS)
        for tick in range(0, total + 1, step):
            x = self._x(tick)
            self.parts.append(svg.line(x, top + 6, x, self.y + 4, svg.MUTED, 'stroke-opacity="0.25"'))
            self.parts.append(svg.text(x, self.y + 18, time_text(tick) if tick else "0", 11, svg.MUTED, "middle"))
        self.y += 30

    # tables

    def _section(self, title: str) -> None:
        self.y += 10
        self.add(svg.text(MARGIN, self.y + 12, title, 14, weight=600), 26)

    def _devices(self) -> None:
        self._section("Devices")
        timeline = self.timeline
        cells = [
            [
                timeline.name(number),
                time_text(use.compute),
                percent(use.compute, timeline.total),
                "  " + idle_text(timeline, use.idle),
            ]
            for number, use in enumerate(self.totals.devices)
        ]
        columns = [("device", 130.0, "l"), ("computes", 110.0, "r"), ("busy", 80.0, "r"), ("  idle", 700.0, "l")]
        self.add(*svg.table(MARGIN + 12, self.y, columns, cells, self.hues[:-1]))

    def _links(self) -> None:
        if not self.totals.links:
            return
        self._section("Copies")
        timeline = self.timeline
        cells = [
            [
                f"{timeline.name(start)} to {timeline.name(end)}",
                f"{one.copies:,}",
                bytes_text(one.nbytes),
                time_text(one.ns),
            ]
            for (start, end), one in self.totals.links.items()
        ]
        columns = [("link", 240.0, "l"), ("copies", 80.0, "r"), ("bytes", 120.0, "r"), ("time", 120.0, "r")]
        self.add(*svg.table(MARGIN + 12, self.y, columns, cells, [""] * len(cells)))

    def _rates(self) -> None:
        cost = self.cost
        self._section("Numbers" + (f": assumed, {len(cost.changed)} changed" if cost.changed else ": all assumed"))
        rows = [
            f"{name}: {one.matrix:g} FLOP/s in matrix products, {one.other:g} elsewhere, memory {one.memory:g} B/s, "
            f"{one.launch:g} s per node ({why})"
            for name, one, why in zip(cost.names, cost.devices, cost.stands_for, strict=True)
        ]
        pairs = sorted({(min(pair), max(pair)) for pair in self.totals.links})
        rows += [
            f"{cost.link_name(pair)}: {cost.links[pair].speed:g} B/s, {cost.links[pair].latency:g} s "
            f"per copy ({cost.link_for[pair]})"
            for pair in pairs
        ]
        for row in rows:
            for words in svg.wrap([(row, "")], INNER, 12):
                self.add(svg.text(MARGIN, self.y + 12, "".join(piece for piece, _ in words), 12), 18)

    def _foot(self) -> None:
        self.y += 10
        self.parts.append(svg.line(MARGIN, self.y, WIDTH - MARGIN, self.y, svg.LINE))
        words = f"galloscope {__version__} · decisions of ggml 0.26 · times are clocks, not measurements"
        self.add(svg.text(MARGIN, self.y + 20, words, 11, svg.MUTED), 36)


def _ink(hue: str, *, faded: bool) -> str:
    """White where it reads better on a fill than the dark ink (WCAG relative luminance)."""
    channels = [int(hue[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return svg.INK if faded or light > 0.2 else svg.PAPER
