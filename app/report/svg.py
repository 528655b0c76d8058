"""Small pieces of SVG: every name escaped, every number with fixed decimals, so that equal runs give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from ..figures.palette import Hue

INK = "#0f172a"
MUTED = "#64748b"
LINE = "#e2e8f0"
PAPER = "#ffffff"
PEAK = "#dc2626"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHAR = 0.62
"""Width of a character in sizes of the font: an estimate on the wide side, for cutting and wrapping."""


def num(value: float) -> str:
    """A coordinate, at most two decimals.

    >>> num(3.0), num(1.005), num(-0.001)
    ('3', '1', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def title(words: str) -> str:
    """What a browser shows on hover."""
    return f"<title>{escape(words)}</title>"


def dark(hues: Iterable[Hue], scope: str) -> str:
    """Rules that take each hue's other colour where the reader prefers dark; without media queries it stays light.

    Args:
        hues: no light colour with two dark ones.
        scope: a selector of the picture.
    """
    pairs = {hue.light: hue.dark for hue in hues}
    rules = (
        f'{scope} [{what}="{light}"]{{{what}:{other}}}' for light, other in pairs.items() for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


def rect(x: float, y: float, w: float, h: float, fill: str, extra: str = "", title: str = "") -> str:
    """A rectangle; with a title the browser shows it on hover."""
    head = f'<rect x="{num(x)}" y="{num(y)}" width="{num(w)}" height="{num(h)}" fill="{fill}"{extra and " " + extra}'
    return f"{head}><title>{escape(title)}</title></rect>" if title else head + "/>"


def line(x0: float, y0: float, x1: float, y1: float, stroke: str, extra: str = "") -> str:
    """A straight line."""
    place = f'x1="{num(x0)}" y1="{num(y0)}" x2="{num(x1)}" y2="{num(y1)}"'
    return f'<line {place} stroke="{stroke}"{extra and " " + extra}/>'


def text(
    x: float,
    y: float,
    words: str,
    size: float = 12,
    fill: str = INK,
    anchor: str = "start",
    weight: int = 400,
    mono: bool = False,
) -> str:
    """Words on a baseline."""
    parts = [f'x="{num(x)}" y="{num(y)}" font-size="{num(size)}" fill="{fill}"']
    if anchor != "start":
        parts.append(f'text-anchor="{anchor}"')
    if weight != 400:
        parts.append(f'font-weight="{weight}"')
    if mono:
        parts.append('class="m"')
    return f"<text {' '.join(parts)}>{escape(words)}</text>"


def runs(x: float, y: float, pieces: list[tuple[str, str]], size: float = 13) -> str:
    """One line of styled pieces: "", "strong" or "name"."""
    spans = []
    for words, style in pieces:
        mark = {"strong": ' font-weight="600"', "name": ' class="m"'}.get(style, "")
        spans.append(f"<tspan{mark}>{escape(words)}</tspan>" if mark else escape(words))
    head = f'<text x="{num(x)}" y="{num(y)}" font-size="{num(size)}" fill="{INK}" xml:space="preserve">'
    return f"{head}{''.join(spans)}</text>"


def wrap(pieces: list[tuple[str, str]], width: float, size: float = 13) -> list[list[tuple[str, str]]]:
    """Break styled pieces into lines of at most `width`, at spaces; a longer word stands alone."""
    most = max(8, int(width / (size * (0.64 if size > 16 else 0.54))))
    lines: list[list[tuple[str, str]]] = [[]]
    used = 0
    for words, style in pieces:
        for k, word in enumerate(words.split(" ") if style != "name" else [words]):
            lead = " " if k else ""
            if used and used + len(lead) + len(word) > most:
                lines.append([])
                used, lead = 0, ""
            lines[-1].append((lead + word, style))
            used += len(lead) + len(word)
    return [_joined(one) for one in lines]


def _joined(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    joined: list[tuple[str, str]] = []
    for words, style in pieces:
        if joined and joined[-1][1] == style:
            joined[-1] = (joined[-1][0] + words, style)
        else:
            joined.append((words, style))
    return joined


def table(
    x: float, y: float, columns: list[tuple[str, float, str]], rows: list[list[str]], marks: list[str]
) -> tuple[str, float]:
    """A ruled table: columns are (head, width, "l", "r" or "m" for left, right, mono); `marks` colours the rows.

    Returns:
        The markup and its height.
    """
    parts = []
    width = sum(one[1] for one in columns)
    left = x
    for head, wide, kind in columns:
        at = left + wide - 8 if kind == "r" else left
        parts.append(text(at, y + 12, head, 11, MUTED, "end" if kind == "r" else "start"))
        left += wide
    parts.append(line(x, y + 18.5, x + width, y + 18.5, LINE))
    for k, row in enumerate(rows):
        base = y + 34 + 18 * k
        if marks[k]:
            parts.append(rect(x - 12, base - 9, 4, 12, marks[k]))
        left = x
        for cell, (_, wide, kind) in zip(row, columns, strict=True):
            most = int((wide - 10) / (12 * CHAR)) if kind != "r" else 99
            cut = cell if len(cell) <= most else cell[: most // 3] + "…" + cell[-(most - most // 3 - 1) :]
            at = left + wide - 8 if kind == "r" else left
            parts.append(text(at, base, cut, 12, INK, "end" if kind == "r" else "start", mono=kind == "m"))
            left += wide
    return "".join(parts), 26 + 18 * len(rows)
