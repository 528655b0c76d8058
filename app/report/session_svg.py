"""The life of a decode as one picture: ubatches in order, what became of each, and why, in light and dark."""

from __future__ import annotations

from ... import __version__
from ...core.decode.life import Life
from ...core.decode.log import LifeLog
from ...core.decode.suggest import suggestions
from ...core.decode.summary import summary, summary_sentences
from ...core.decode.words import pipeline_sentences, reservation_sentences, ubatch_sentences
from ...core.errors import printable
from ...core.explain.sentence import Sentence, count
from ...core.text import bytes_text
from ..figures.palette import NEUTRAL, Hue
from . import svg
from .session_bars import bars_of, put_together
from .session_chart import KIND_HUES, MARK_HUES, SERIES, chart, legend

WIDTH = 1200.0
MARGIN = 40.0
INNER = WIDTH - 2 * MARGIN
MOST_RESERVATIONS = 3
MOST_REASONS = 8
MOST_ADVICE = 5
PAGE = (
    Hue(svg.INK, "#e2e8f0"),
    Hue(svg.MUTED, "#94a3b8"),
    Hue(svg.LINE, "#1f2a44"),
    Hue(svg.PAPER, "#0b1220"),
    Hue(svg.PEAK, "#f87171"),
)
"""What everything but the bars is drawn with."""


def session_svg(log: LifeLog, life: Life) -> str:
    """The whole picture as one SVG text; the same session gives the same bytes."""
    return _Picture(log, life).draw()


class _Picture:
    """Grows downward."""

    def __init__(self, log: LifeLog, life: Life) -> None:
        self.log, self.life = log, life
        self.y = MARGIN
        self.parts: list[str] = []

    def draw(self) -> str:
        self._head()
        for sentence in summary_sentences(summary(self.life)):
            self._say(sentence)
        self.y += 6
        self._chart()
        self._buffers()
        self._reasons()
        if len(self.log.script.devices) > 1:
            self._list("Pipeline parallelism", pipeline_sentences(self.life))
        self._list("What would help", [one.sentence for one in suggestions(self.log, self.life)[:MOST_ADVICE]])
        self._foot()
        size = f'viewBox="0 0 {svg.num(WIDTH)} {svg.num(self.y)}" width="{svg.num(WIDTH)}" height="{svg.num(self.y)}"'
        hues = (*PAGE, *KIND_HUES, *MARK_HUES, *SERIES, NEUTRAL)
        head = (
            f'<svg class="gs-life" xmlns="http://www.w3.org/2000/svg" {size} font-family="{svg.SANS}">'
            f"<style>.gs-life .m{{font-family:{svg.MONO}}}{svg.dark(hues, '.gs-life')}</style>"
        )
        return head + svg.rect(0, 0, WIDTH, self.y, svg.PAPER) + "\n".join(self.parts) + "</svg>\n"

    def add(self, markup: str, height: float) -> None:
        self.parts.append(markup)
        self.y += height

    def _head(self) -> None:
        script, setup = self.log.script, self.log.setup
        title = printable(script.name or script.model)
        for words in svg.wrap([(title, "strong")], INNER, 20)[:2]:
            self.add(svg.runs(MARGIN, self.y + 18, words, 20), 28)
        self._small(script.about)
        options = setup.options
        facts = (
            script.model,
            f"{options.n_ctx:,} cells",
            count(options.n_seq_max, "sequence"),
            f"batches of {options.n_batch:,}, ubatches of {options.n_ubatch:,}",
            f"flash attention {'on' if setup.flash else 'off'}",
            ", ".join(setup.backends),
        )
        self._small(" · ".join(facts))
        self.y += 8

    def _small(self, words: str) -> None:
        for pieces in svg.wrap([(printable(words), "")], INNER, 12)[:3] if words else []:
            self.add(svg.text(MARGIN, self.y + 12, "".join(piece for piece, _ in pieces), 12, svg.MUTED), 18)

    def _say(self, sentence: Sentence, most: int = 4) -> None:
        parts = [(printable(words), style) for words, style in sentence.parts]
        self.parts.append(svg.rect(MARGIN, self.y + 3, 4, 12, svg.PEAK if sentence.alarm else svg.MUTED))
        for words in svg.wrap(parts, INNER - 20)[:most]:
            self.add(svg.runs(MARGIN + 14, self.y + 14, words), 21)

    def _section(self, title: str) -> None:
        self.y += 10
        self.add(svg.text(MARGIN, self.y + 12, title, 14, weight=600), 26)

    def _chart(self) -> None:
        bars = bars_of(self.life)
        if not bars:
            return
        self.add(*chart(self.log, self.life, bars, MARGIN, self.y, INNER))
        self.add(*legend(self.log, self.life, MARGIN, self.y))
        most = put_together(bars)
        if most > 1:
            self._small(f"Up to {most:,} ubatches share a bar, which has the colour of the worst of them.")

    def _buffers(self) -> None:
        """What was reserved, and the size of each compute buffer then and in the end."""
        plans = [plan for one in self.life.reservations for plan in one.plans if plan.facts.reserved]
        if not plans:
            return
        self._section("Reservations and compute buffers")
        for one in self.life.reservations[:MOST_RESERVATIONS]:
            for sentence in reservation_sentences(one):
                self._say(sentence)
        if len(self.life.reservations) > MOST_RESERVATIONS:
            self._small(f"and {count(len(self.life.reservations) - MOST_RESERVATIONS, 'more reservation')}")
        first = plans[0].facts
        last = self.life.ubatches[-1].facts if self.life.ubatches else None
        rows = []
        for number, (name, made) in enumerate(zip(self.log.setup.bufts, first.compute_sizes, strict=True)):
            end, need = (last.compute_sizes[number], last.peaks[number]) if last else (made, made)
            if made or end:
                rows.append([name, bytes_text(made), bytes_text(end), bytes_text(need)])
        heads = ("reserved", "in the end", "plan in force")
        columns = [("buffer type", 200.0, "l"), *((head, 130.0, "r") for head in heads)]
        self.add(*svg.table(MARGIN + 12, self.y, columns, rows, [""] * len(rows)))

    def _reasons(self) -> None:
        """How often each reason stood in the way, with the sentence of its first ubatch."""
        reasons = summary(self.life).reasons
        if not reasons:
            return
        self._section("Why graphs were rebuilt")
        for one in reasons[:MOST_REASONS]:
            found = ubatch_sentences(self.log, self.life, one.first)[0].markup
            lead = f"**{one.count:,} ×** {one.because}. Ubatch {one.first:,}: "
            self._say(Sentence("reason", lead + found), most=3)
        if len(reasons) > MOST_REASONS:
            self._small(f"and {len(reasons) - MOST_REASONS} more kinds of reasons")

    def _list(self, title: str, sentences: list[Sentence]) -> None:
        if sentences:
            self._section(title)
            for sentence in sentences:
                self._say(sentence)

    def _foot(self) -> None:
        if self.life.abort:
            self._say(Sentence("abort", f"The process ends here: {self.life.abort}", alarm=True))
        self.y += 10
        self.parts.append(svg.line(MARGIN, self.y, WIDTH - MARGIN, self.y, svg.LINE))
        words = f"galloscope {__version__} · decisions of llama.cpp b11549, ggml 0.26 · nothing was run"
        self.add(svg.text(MARGIN, self.y + 20, words, 11, svg.MUTED), 36)
