"""report.svg: one picture to attach to an issue, readable at 800 px, with its own background."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ... import __version__
from ...core.check.checker import check
from ...core.explain.answers import answers
from ...core.explain.stats import stats
from ...core.explain.usage import kind_of
from ...core.state import State
from ...core.text import bytes_text, shape_text
from ..figures.devices import DeviceTotals, device_totals
from ..figures.palette import CAUSE_ENTRIES, cause_index, device_hues
from . import svg
from .about import About, facts_line, free_text
from .strip_svg import strip_svg

WIDTH = 1200.0
MARGIN = 40.0
INNER = WIDTH - 2 * MARGIN
MOST_ROWS = 14


def report_svg(
    state: State,
    title: str,
    meta: dict[str, Any],
    source: str,
    about: About | None = None,
    more: Callable[[float], tuple[str, float]] | None = None,
) -> str:
    """The whole report as one SVG text; the same state gives the same bytes.

    Args:
        state: the run.
        title: what the graph says about itself.
        meta: parameters of the graph, shown as given.
        source: the file's name.
        about: the model that the graph was made of.
        more: a further part, given its top; it answers with markup and height.
    """
    page = _Page(state)
    page.head(title, meta, source)
    if about is not None:
        page.about(about)
    page.sentences()
    page.devices(device_totals(state) if about is None else about.devices)
    page.section("Memory over the steps of the plan")
    chart, height = strip_svg(state, MARGIN, page.y, INNER)
    page.add(chart, height + 12)
    if more is not None:
        page.section("Planners: how far from the best")
        page.add(*more(page.y))
    page.splits()
    page.live_set()
    page.causes()
    page.foot()
    return page.text()


class _Page:
    """Grows downward, one section at a time."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.numbers = stats(state)
        self.y = MARGIN
        self.parts: list[str] = []
        self.hues = {
            backend.name: hue.light
            for backend, (hue, _) in zip(state.backends, device_hues([b.type for b in state.backends]), strict=True)
        }

    def add(self, markup: str, height: float) -> None:
        self.parts.append(markup)
        self.y += height

    def section(self, title: str) -> None:
        self.y += 10
        self.add(svg.text(MARGIN, self.y + 12, title, 14, weight=600), 26)

    def head(self, title: str, meta: dict[str, Any], source: str) -> None:
        for words in svg.wrap([(title or source, "strong")], INNER, 20)[:2]:
            self.add(svg.runs(MARGIN, self.y + 18, words, 20), 28)
        facts = " · ".join(facts_line(source, meta, self.numbers))
        for words in svg.wrap([(facts, "")], INNER, 12)[:3]:
            self.add(svg.text(MARGIN, self.y + 12, "".join(piece for piece, _ in words), 12, svg.MUTED), 18)
        self.y += 8

    def about(self, about: About) -> None:
        """The command in mono, then a line or two for each thing to know."""
        for words in svg.wrap([(about.command, "name")], INNER, 12)[:4]:
            self.add(svg.text(MARGIN, self.y + 12, "".join(piece for piece, _ in words), 12, mono=True), 18)
        for told in about.told:
            for words in svg.wrap([(told, "")], INNER, 12)[:3]:
                self.add(svg.text(MARGIN, self.y + 12, "".join(piece for piece, _ in words), 12, svg.MUTED), 18)
        self.y += 8

    def sentences(self) -> None:
        for sentence in answers(self.state, check(self.state)):
            colour = svg.PEAK if sentence.alarm else svg.MUTED
            first = True
            for words in svg.wrap(sentence.parts, INNER - 20):
                if first:
                    self.parts.append(svg.rect(MARGIN, self.y + 3, 4, 12, colour))
                first = False
                self.add(svg.runs(MARGIN + 14, self.y + 14, words), 21)
        self.y += 6

    def devices(self, rows: Sequence[DeviceTotals]) -> None:
        """One bar a device: compute buffer, other data, weights, to one scale."""
        self.section("Bytes per device")
        most = max((row.total for row in rows), default=0) or 1
        for row in rows:
            x = MARGIN + 150
            self.parts.append(svg.text(MARGIN, self.y + 13, row.name, 12, weight=600))
            room = INNER - 150 - (470 if row.memory is None else 640)
            for size, opacity in ((row.compute, 1.0), (row.kept + row.recurrent, 0.55), (row.weights, 0.25)):
                wide = size / most * room
                if size:
                    self.parts.append(
                        svg.rect(x, self.y + 3, max(wide, 1), 13, row.hue.light, f'fill-opacity="{opacity}"')
                    )
                x += wide
            words = (
                f"compute {bytes_text(row.compute)} · KV and other data {bytes_text(row.kept + row.recurrent)} · "
                f"weights {bytes_text(row.weights)}{free_text(row)}"
            )
            self.add(svg.text(WIDTH - MARGIN, self.y + 13, words, 12, svg.INK, "end"), 22)

    def splits(self) -> None:
        rows = self.numbers["splits"]
        if not rows:
            return
        shown = sorted(
            sorted(rows, key=lambda one: (-one["copied_bytes"], one["split"]))[:MOST_ROWS], key=lambda one: one["split"]
        )
        more = len(rows) - len(shown)
        note = f" ({len(shown)} of {len(rows)}, those that copy most)" if more else ""
        self.section(f"Splits: {len(rows)}, {bytes_text(self.numbers['copied_bytes'])} copied per batch{note}")
        columns = [
            ("split", 60.0, "r"),
            ("  device", 110.0, "l"),
            ("nodes", 130.0, "l"),
            ("inputs", 70.0, "r"),
            ("copied", 110.0, "r"),
            ("  cut by", 300.0, "m"),
            ("largest input", 328.0, "m"),
        ]
        cells = []
        for one in shown:
            largest = max(
                self.state.splits[one["split"]].inputs, key=lambda t: self.state.tensors[t].nbytes, default=-1
            )
            cells.append([
                str(one["split"]), "  " + one["backend"], f"{one['start']}-{one['end'] - 1}" if one["nodes"] else "-",
                str(len(one["inputs"])), bytes_text(one["copied_bytes"]),
                "  " + (f"{one['reason']}: {one['by']}" if one["by"] else one["reason"]),
                self.state.names[largest] if largest >= 0 else "",
            ])  # fmt: skip
        self.add(*svg.table(MARGIN + 12, self.y, columns, cells, [self.hues[one["backend"]] for one in shown]))

    def live_set(self) -> None:
        devices = [one for one in self.numbers["devices"] if one["at_peak"]]
        if not devices:
            return
        top = max(devices, key=lambda one: one["compute_bytes"])
        rows = top["at_peak"][:MOST_ROWS]
        more = len(top["at_peak"]) - len(rows)
        rest = sum(one["bytes"] for one in top["at_peak"][MOST_ROWS:])
        note = f"; {more:,} more hold {bytes_text(rest)}" if more else ""
        self.section(
            f"Alive at the peak of {top['name']}: {bytes_text(top['peak_live_bytes'])} at step {top['peak_step']:,} "
            f"({top['peak_node']}){note}"
        )
        index = {name: t for t, name in enumerate(self.state.names)}
        cells = []
        for one in rows:
            tensor = self.state.tensors[index[one["tensor"]]]
            share = 100 * one["bytes"] / top["peak_live_bytes"]
            cells.append([
                bytes_text(one["bytes"]), f"{share:.1f} %", one["tensor"], kind_of(self.state, index[one["tensor"]]),
                f"{tensor.dtype.name} {shape_text(tensor.ne)}",
            ])  # fmt: skip
        columns = [
            ("bytes", 100.0, "r"),
            ("share", 80.0, "r"),
            ("  tensor", 420, "m"),
            ("op", 180, "l"),
            ("shape", 328, "m"),
        ]
        cells = [[row[0], row[1], "  " + row[2], *row[3:]] for row in cells]
        self.add(*svg.table(MARGIN + 12, self.y, columns, cells, [""] * len(cells)))

    def causes(self) -> None:
        if not self.numbers["causes"]:
            return
        self.section("What placed the tensors")
        groups: Counter[int] = Counter()
        for cause, number in self.numbers["causes"].items():
            groups[cause_index(cause)] += number
        total = sum(groups.values())
        x = MARGIN
        for index, number in sorted(groups.items()):
            wide = number / total * INNER
            entry = CAUSE_ENTRIES[index]
            self.parts.append(
                svg.rect(x, self.y, max(wide - 1, 0.5), 14, entry.hue.light, title=f"{entry.label}: {number}")
            )
            x += wide
        self.y += 22
        x = MARGIN
        for index, number in sorted(groups.items()):
            words = f"{CAUSE_ENTRIES[index].label}: {number:,}"
            wide = len(words) * 6.3 + 34
            if x + wide > WIDTH - MARGIN:
                x, self.y = MARGIN, self.y + 18
            self.parts.append(svg.rect(x, self.y + 2, 9, 9, CAUSE_ENTRIES[index].hue.light))
            self.parts.append(svg.text(x + 14, self.y + 11, words, 12))
            x += wide
        self.y += 24
        in_place = self.numbers["in_place"]
        refused = ", ".join(f"{reason} {number}" for reason, number in in_place["refused"].items()) or "none"
        self.add(svg.text(MARGIN, self.y + 12, f"In place: {in_place['hits']} hits; refused: {refused}.", 12), 20)

    def foot(self) -> None:
        self.y += 10
        self.parts.append(svg.line(MARGIN, self.y, WIDTH - MARGIN, self.y, svg.LINE))
        words = (
            f"galloscope {__version__} · decisions of ggml 0.26 · hatched: copies made by the scheduler · "
            "sizes in binary units, rounded up to the buffer's alignment"
        )
        self.add(svg.text(MARGIN, self.y + 20, words, 11, svg.MUTED), 36)

    def text(self) -> str:
        height = svg.num(self.y)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {svg.num(WIDTH)} {height}" width="{svg.num(WIDTH)}" '
            f'height="{height}" font-family="{svg.SANS}"><style>.m{{font-family:{svg.MONO}}}</style>'
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)">'
            '<rect width="1.6" height="6" fill="#fff" fill-opacity="0.45"/></pattern></defs>'
        )
        return head + svg.rect(0, 0, WIDTH, self.y, svg.PAPER) + "\n".join(self.parts) + "</svg>\n"
